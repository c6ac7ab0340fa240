"""What trials may cost: a share of the time that all-reduces took so far, and a little to begin with. Pure.

Times come in that all ranks agree on, so that all ranks get the same answers. A trial has to pay where it takes place,
too: what it costs is held against the time of the all-reduces of its own octave of lengths (`Octave`).
"""

from collections.abc import Hashable
from dataclasses import dataclass
from math import inf

from .candidates import Candidate

# Of a communicator, of an octave, and of one candidate
SHARE, BEGIN_S = 0.02, 0.01  # of the time of all-reduces; and seconds without any
SHARE_OF_OCTAVE = 0.1  # of the time that its octave took so far
PREPARED_S = 20e-3  # to prepare one candidate, with what is loaded for the first of them, until it is known
STALE_CALLS = 64  # calls of the octave without one of the length that is on trial: another one may try


class Budget:
    """The account of one communicator; `share` of the time of its all-reduces may be spent, inf: without end."""

    def __init__(self, share: float = SHARE):
        self.share = share
        self.spent_s = 0.0
        self.untimed_s = 0.0  # of this rank's calls that are not agreed on yet, since the first one
        self._agreed_s = self._counted_s = 0.0
        self._prepared, self._preparing_s = 1, PREPARED_S

    @property
    def time_s(self) -> float:
        """The time of all all-reduces so far that all ranks know of."""
        return self._agreed_s + self._counted_s

    @property
    def preparing_s(self) -> float:
        """What it takes to prepare one candidate."""
        return self._preparing_s / self._prepared

    @property
    def is_endless(self) -> bool:
        """Whether trials may cost what they will."""
        return self.share == inf

    def agree(self, untimed_s: float) -> None:
        """Note that all ranks took at least so long for the calls whose times each noted for itself."""
        self._agreed_s = untimed_s

    def earn(self, time_s: float) -> None:
        """Calls were made that took so long, as all ranks know."""
        self._counted_s += time_s

    def spend(self, time_s: float, prepared: int = 0, preparing_s: float = 0.0) -> None:
        """A trial cost so much more than the calls would have taken; so many candidates were prepared in it."""
        self.spent_s += max(0.0, time_s)
        self._prepared, self._preparing_s = self._prepared + prepared, self._preparing_s + preparing_s

    def allows(self, cost_s: float) -> bool:
        """Return whether so much may be spent now."""
        return self.is_endless or self.spent_s + cost_s <= BEGIN_S + self.share * self.time_s


@dataclass
class Octave:
    """All-reduces of one type and operation whose lengths have the same highest bit.

    They share the choice, and the one trial that finds it.
    """

    choice: Candidate | None = None  # None: nobody has settled yet
    executors: tuple[str, ...] = ()  # among which it was found
    untimed_s: float = 0.0  # of this rank's calls that are not agreed on yet, since the first one
    agreed_s: float = 0.0  # the same, as all ranks know
    counted_s: float = 0.0  # of calls whose time all ranks know
    calls: int = 0
    _trying: Hashable = None
    _tried_at: int = 0

    def can_pay(self, cost_s: float) -> bool:
        """Return whether what a trial costs is little beside the time that these lengths took so far."""
        return cost_s <= SHARE_OF_OCTAVE * (self.agreed_s + self.counted_s)

    def may_try(self, who: Hashable) -> bool:
        """Return whether this length may be on trial: one at a time."""
        return self._trying in (None, who) or self.calls > self._tried_at + STALE_CALLS

    def tries(self, who: Hashable) -> None:
        """A call of the length that is on trial."""
        self._trying, self._tried_at = who, self.calls

    def settle(self, choice: Candidate, executors: tuple[str, ...]) -> None:
        """The trial is over."""
        self.choice, self.executors, self._trying = choice, executors, None
