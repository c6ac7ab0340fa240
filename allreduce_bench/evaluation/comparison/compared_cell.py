"""A cell of a comparison: its verdict, its numbers, and both as text."""

from typing import NamedTuple

from ...units import format_time
from .matching import MatchKey
from .ratio import Estimate

VERDICTS = ("slower", "faster", "same", "undecided")
READABLE = 10.0  # a factor: the interval of a ratio known no better is not printed as numbers


class ComparedCell(NamedTuple):
    """A cell that both sides have, or that failed on the new side."""

    key: MatchKey
    name: str  # `ring 64 KiB, 4 ranks`
    verdict: str  # one of VERDICTS, or failed
    reason: str = ""  # why it failed or is undecided
    baseline_s: float | None = None  # geometric means over launches, and over runs if there are several
    new_s: float | None = None
    launches: tuple[int, int] = (0, 0)
    estimate: Estimate | None = None
    p_holm: float | None = None  # see Decision
    more: int | None = None  # further units per side needed for a verdict; None: unknown, or more than MOST

    @property
    def ratio(self) -> float | None:
        """new / baseline."""
        return self.new_s / self.baseline_s if self.new_s and self.baseline_s else None

    @property
    def interval(self) -> str:
        """`1.220 to 1.410`; text if it is too wide for numbers, empty if there is none."""
        if not self.estimate:
            return ""
        if self.estimate.high > READABLE**2 * self.estimate.low:
            return f"wider than a factor of {READABLE:g}"
        return f"{self.estimate.low:.3f} to {self.estimate.high:.3f}"

    @property
    def outcome(self) -> str:
        """The numbers and the reason: `1.310 times the baseline [1.220 to 1.410], 0.952 us -> 1.25 us`."""
        if not (self.ratio and self.baseline_s and self.new_s):
            return self.reason
        interval = f" [{self.interval}]" if self.interval else ""
        numbers = f"{self.ratio:.3f} times the baseline{interval}"
        times = f"{format_time(self.baseline_s)} -> {format_time(self.new_s)}"
        return "; ".join(filter(None, (f"{numbers}, {times}", self.reason)))
