"""What trials may cost: a share of the time that all-reduces took so far, and a little to begin with. Pure.

Times come in that all ranks agree on, so that all ranks get the same answers. A trial has to pay where it takes place,
too: what it costs is held against the time of the all-reduces of its own octave of lengths.
"""

from math import inf

SHARE, BEGIN_S = 0.02, 0.01  # of the time of all-reduces; and seconds without any
SHARE_OF_OCTAVE = 0.1  # of the time that its octave took so far
PREPARED_S = 20e-3  # to prepare one candidate, with what is loaded for the first of them, until it is known


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
        """All ranks took at least so long for the calls whose times each noted for itself."""
        self._agreed_s = untimed_s

    def earn(self, time_s: float) -> None:
        """Calls were made that took so long, as all ranks know."""
        self._counted_s += time_s

    def spend(self, time_s: float, prepared: int = 0, preparing_s: float = 0.0) -> None:
        """A trial cost so much more than the calls would have taken; so many candidates were prepared in it."""
        self.spent_s += max(0.0, time_s)
        self._prepared, self._preparing_s = self._prepared + prepared, self._preparing_s + preparing_s

    def allows(self, cost_s: float) -> bool:
        """Whether so much may be spent now."""
        return self.is_endless or self.spent_s + cost_s <= BEGIN_S + self.share * self.time_s
