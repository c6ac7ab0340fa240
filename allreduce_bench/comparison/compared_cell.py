"""A cell of a comparison: its verdict, its numbers, and both as text."""

from typing import NamedTuple

from ..evaluation.directions import DIRECTIONS
from ..units import as_printed, significant
from .matching import MatchKey
from .ratio import Estimate

VERDICTS = (*DIRECTIONS, "undecided")
DIGITS = 4  # of a time: with three a ratio would be known to 1 % only
READABLE = 10.0  # a factor: the interval of a ratio known no better is not printed as numbers


class ComparedCell(NamedTuple):
    """A cell that both sides have, or that failed on the new side."""

    key: MatchKey
    name: str  # `ring 64 KiB, 4 ranks`
    verdict: str  # one of VERDICTS, or failed
    reason: str = ""  # why it failed or is undecided
    baseline_s: float | None = None  # median over launches, as `show` has it; of several runs their geometric mean
    new_s: float | None = None
    launches: tuple[int, int] = (0, 0)
    estimate: Estimate | None = None
    p_holm: float | None = None  # see Decision
    more: int | None = None  # further units per side needed for a verdict; None: unknown, or more than MOST
    observed: str = ""  # of too few launches for an interval: one of DIRECTIONS by the ratio alone

    @property
    def ratio(self) -> float | None:
        """new / baseline."""
        return self.new_s / self.baseline_s if self.new_s and self.baseline_s else None

    @property
    def times(self) -> tuple[str, str]:
        """Both times in microseconds as they are printed; `-` where there is none."""
        known = (self.baseline_s, self.new_s)
        before, after = ("-" if time_s is None else significant(time_s * 1e6, DIGITS) for time_s in known)
        return before, after

    @property
    def printed_ratio(self) -> float | None:
        """The ratio of the times as they are printed, so that whoever divides them gets it."""
        if not (self.new_s and self.baseline_s):
            return None
        return as_printed(self.new_s, DIGITS) / as_printed(self.baseline_s, DIGITS)

    @property
    def interval(self) -> str:
        """`1.220 to 1.410`; text if it is too wide for numbers, empty if there is none."""
        if not (self.estimate and self.printed_ratio):
            return ""
        if self.estimate.high > READABLE**2 * self.estimate.low:
            return f"wider than a factor of {READABLE:g}"
        low, high = min(self.estimate.low, self.printed_ratio), max(self.estimate.high, self.printed_ratio)
        return f"{low:.3f} to {high:.3f}"

    @property
    def shown_verdict(self) -> str:
        """The verdict, or `(slower)`: by the ratio alone."""
        return f"({self.observed})" if self.observed else self.verdict

    @property
    def outcome(self) -> str:
        """The numbers and the reason: `1.310 times the baseline [1.220 to 1.410], 0.9521 -> 1.247 us`."""
        if not self.printed_ratio:
            return self.reason
        interval = f" [{self.interval}]" if self.interval else ""
        numbers = f"{self.printed_ratio:.3f} times the baseline{interval}"
        times = f"{' -> '.join(self.times)} us"
        return "; ".join(filter(None, (f"{numbers}, {times}", self.reason)))
