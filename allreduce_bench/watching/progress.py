"""The progress of a run as lines on stderr: for logs, and without a terminal for the live line; of other commands."""

import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from ..units import counted, format_duration


class LaunchPosition(NamedTuple):
    """The position of a launch in its run."""

    number: int
    planned: int
    started: float  # of the run, seconds since the epoch
    ranks: int
    deadline: float | None = None  # of the launch, seconds since the epoch
    later_share: float | None = None  # cells of later launches over its own; None: as many in each

    @property
    def later(self) -> float:
        """How much of the run is left after it, in launches like it."""
        return self.planned - self.number if self.later_share is None else self.later_share


BETWEEN_S = 10.0  # of two lines of a log


class ProgressLines:
    """Prints the progress of the run at most once in BETWEEN_S; a failed check and the end are printed at once."""

    printed = 0.0  # the last line of any launch, seconds since the epoch

    def __init__(self, position: LaunchPosition):
        self.position = position
        self.began: float | None = None  # the first cell, seconds since the epoch

    def begin(self, cell: str) -> None:
        """Note that a cell begins; the first one starts the clock of the estimated remaining time."""
        self.began = self.began or time.time()

    def cell(self, done: int, cells: int, result: str, failed: bool) -> None:
        """Print that cell `done` of `cells` has ended with `result`."""
        is_end = done == cells and not self.position.later
        if time.time() - ProgressLines.printed >= BETWEEN_S or is_end or failed:
            ProgressLines.printed = time.time()
            self.say(f"{self.where()}  cell {done}/{cells}  {self.times(done, cells)}  {result}")

    def say(self, line: str) -> None:
        """Print a sentence at once."""
        print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Do nothing at the end of the launch."""

    def where(self) -> str:
        """Return `launch 2/3 (4 ranks)`."""
        ranks = counted(self.position.ranks, "rank")
        return f"launch {self.position.number}/{self.position.planned} ({ranks})"

    def times(self, done: int, cells: int) -> str:
        """Return `1:12 elapsed, about 0:46 remaining`, estimated from the cells of this launch.

        With a deadline at most the time until then, and for each later launch as long as this one was given.
        """
        now, deadline = time.time(), self.position.deadline
        began = self.began or now
        cell_s, later = (now - began) / done, self.position.later
        this_s, later_s = cell_s * (cells - done), cell_s * cells * later
        if deadline is not None:
            this_s, later_s = min(this_s, max(0.0, deadline - now)), min(later_s, max(0.0, deadline - began) * later)
        elapsed, remaining = format_duration(now - self.position.started), format_duration(this_s + later_s)
        return f"{elapsed} elapsed, about {remaining} remaining"


QUIET_S = 2.0  # a command says nothing of its progress before, nor between two lines
Progress = Callable[[str], None]  # is told what a command does next


def unsaid(doing: str) -> None:
    """Take no notice of what a command does next."""


class LateLines:
    """Says what a command does next, if it has been silent for QUIET_S."""

    def __init__(self, talk: Callable[[str], None]):
        self.talk = talk
        self.last = time.monotonic()  # when it was started, or a line was printed

    def __call__(self, doing: str) -> None:
        if time.monotonic() - self.last >= QUIET_S:
            self.last = time.monotonic()
            self.talk(f"... {doing}")
