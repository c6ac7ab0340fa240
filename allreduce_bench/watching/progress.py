"""How far a run is, in lines on stderr: for a log, and where no terminal shows a live line."""

import sys
import time
from typing import NamedTuple

from ..units import format_duration


class LaunchPosition(NamedTuple):
    """Where a launch stands in its run."""

    number: int
    planned: int
    started: float  # of the run, seconds since the epoch
    ranks: int
    deadline: float | None = None  # of the launch, seconds since the epoch


class ProgressLines:
    """Says at most once a second how far the run is; a failed check is said at once."""

    def __init__(self, place: LaunchPosition):
        self.place = place
        self.began: float | None = None  # the first cell, seconds since the epoch
        self.said = 0.0

    def begin(self, words: str) -> None:
        """A cell begins; with the first of them the clock starts by which the time left is estimated."""
        self.began = self.began or time.time()

    def cell(self, done: int, cells: int, words: str, failed: bool) -> None:
        """Cell `done` of `cells` has ended with the result `words`."""
        if time.time() - self.said >= 1 or done == cells or failed:
            self.said = time.time()
            self.say(f"{self.where()}  cell {done}/{cells}  {self.times(done, cells)}  {words}")

    def say(self, words: str) -> None:
        """Say something at once."""
        print(words, file=sys.stderr, flush=True)

    def close(self) -> None:
        """The launch has ended."""

    def where(self) -> str:
        """`launch 2/3 (4 ranks)`."""
        ranks = "1 rank" if self.place.ranks == 1 else f"{self.place.ranks} ranks"
        return f"launch {self.place.number}/{self.place.planned} ({ranks})"

    def times(self, done: int, cells: int) -> str:
        """`1:12 gone, 0:46 left`; what is left is estimated from the cells of this launch."""
        now = time.time()
        each = (now - (self.began or now)) / done
        this, others = each * (cells - done), each * cells * (self.place.planned - self.place.number)
        if self.place.deadline is not None:
            this = min(this, max(0.0, self.place.deadline - now))
        return f"{format_duration(now - self.place.started)} gone, {format_duration(this + others)} left"
