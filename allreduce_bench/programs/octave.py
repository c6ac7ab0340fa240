"""What lengths of one octave share: the choice, and the one trial that finds it. Pure."""

from collections.abc import Hashable
from dataclasses import dataclass

from .budget import SHARE_OF_OCTAVE
from .candidates import Candidate

STALE = 64  # calls of the octave without one of the length that is on trial: another one may try


@dataclass
class Octave:
    """All-reduces of one type and operation whose lengths have the same highest bit."""

    choice: Candidate | None = None  # None: nobody has settled yet
    executors: tuple[str, ...] = ()  # among which it was found
    untimed_s: float = 0.0  # of this rank's calls that are not agreed on yet, since the first one
    agreed_s: float = 0.0  # the same, as all ranks know
    counted_s: float = 0.0  # of calls whose time all ranks know
    calls: int = 0
    _trying: Hashable = None
    _tried_at: int = 0

    def can_pay(self, cost_s: float) -> bool:
        """Whether what a trial costs is little beside the time that these lengths took so far."""
        return cost_s <= SHARE_OF_OCTAVE * (self.agreed_s + self.counted_s)

    def may_try(self, who: Hashable) -> bool:
        """Whether this length may be on trial: one at a time."""
        return self._trying in (None, who) or self.calls > self._tried_at + STALE

    def tries(self, who: Hashable) -> None:
        """A call of the length that is on trial."""
        self._trying, self._tried_at = who, self.calls

    def settle(self, choice: Candidate, executors: tuple[str, ...]) -> None:
        """The trial is over."""
        self.choice, self.executors, self._trying = choice, executors, None
