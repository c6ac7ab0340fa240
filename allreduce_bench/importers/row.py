"""Rows of logs: one cell as another tool's log reports it, the user's additions, and the errors of logs.

A row (`Imported`) is a cell in one launch; `Asked` is what the user states beside the logs.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..runs.competitor import NATIVE
from ..stats import median

if TYPE_CHECKING:
    import numpy as np


OF_OPTION = "-n"  # where ranks come from that a log does not state


class LogError(ValueError):
    """A log that cannot be read, or that lacks something, in one line with file and line."""


class LogWarning(UserWarning):
    """Something in a log that was left out, with file and line."""


class LogUnread(LogWarning):
    """A file of a folder of logs that could not be read, and why."""

    def __init__(self, path: str, reason: str):
        super().__init__(f"{reason}; left out")
        self.path, self.reason = path, reason  # the reason begins with the path


@contextmanager
def collect_refusal(path: Path, unread: list[LogUnread]) -> Iterator[None]:
    """Add the LogError that ends the block to `unread`, with its file."""
    try:
        yield
    except LogError as error:
        unread.append(LogUnread(str(path), str(error)))


class LogNote(LogWarning):
    """Something that a log tells beside times; nothing was left out."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The user's statements beside the logs; None: nothing. A log that states another value is refused."""

    ranks: int | None = None
    nodes: int | None = None
    dtype: str | None = None
    op: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)  # of a CSV: name here, such as time_us -> the column's
    # only rows in which the column has this value; * and ? are wildcards
    where: Mapping[str, str] = field(default_factory=dict)
    in_place: bool = False  # of nccl-tests, which times both
    algorithm: str | None = None  # name of a library's own all-reduce, such as native:ring
    fills: bool = False  # fill gaps only: another value in a log is no contradiction
    communicator: str | None = None  # of NCCL Inspector: its id or name


NOTHING = Asked()


@dataclass(frozen=True, slots=True)
class Imported:
    """One row of a log: a cell in one launch, with one mean or the times of its calls. None: not in the log."""

    file: str
    line: int
    tool: str  # as its authors write it: OSU Micro-Benchmarks
    launch: str  # distinguishes its launch: an allocation, a file, a table in it
    size_bytes: int
    time_definition: str
    version: str | None = None
    competitor: str = NATIVE
    ranks: int | None = None
    nodes: int | None = None
    dtype: str | None = None
    op: str | None = None
    count: int | None = None  # elements; None: derived from size_bytes and dtype
    cache: str = "warm"
    system: str | None = None
    in_place: bool | None = None
    times_s: tuple[float, ...] = ()  # of calls in order, warm-ups first; or one mean or median of `iterations` calls
    warmups: int = 0
    iterations: int | None = None  # calls that each of times_s stands for; 1: a single call
    state: str = "done"
    reason: str | None = None
    wrong: int | None = None  # elements; None: unchecked
    ran: tuple[str, ...] = ()  # what the library's own lines say that it ran; one: that; several: open
    osu_avg_s: float | None = None
    imb_t_max_s: float | None = None
    nccl_tests_s: float | None = None
    quantiles_s: Mapping[int, float] = field(default_factory=dict)  # percentiles of the calls, seconds
    # float64 [4, call, rank]: begin, ready, entry and exit of each of times_s, seconds on a common clock
    stamps: "np.ndarray | None" = field(default=None, repr=False, compare=False)
    clock_error_s: float | None = None  # of that clock
    files: tuple[str, ...] = ()  # all that it was read from; empty: `file`
    facts: Mapping[str, Any] = field(default_factory=dict)  # of its launch, as in launches/*.json: hosts, mpi, ...
    fields: Mapping[str, str] = field(default_factory=dict, repr=False)  # of a CSV: the row as it is

    @property
    def place(self) -> str:
        """Format `FILE, line 12`."""
        return f"{self.file}, line {self.line}"

    @property
    def library(self) -> str | None:
        """Return the library of its launch, with its version; None: unknown."""
        return self.facts.get("mpi", {}).get("library")

    @property
    def ranks_per_node(self) -> int | None:
        """Return ranks per node, if all nodes have equally many."""
        return self.ranks // self.nodes if self.ranks and self.nodes and self.ranks % self.nodes == 0 else None

    @property
    def time_s(self) -> float | None:
        """Return the median of its timed calls, or its mean; None if it has none."""
        timed = self.times_s[self.warmups :]
        return median(timed) if timed and self.state == "done" else None


def named_by_cache(rows: Sequence[Imported]) -> list[Imported]:
    """Return rows of one cache; where both were measured, `(cold)` joins the names of algorithms."""
    if len({row.cache for row in rows}) < 2:
        return list(rows)
    warm, cold = ([row for row in rows if (row.cache == "cold") == is_cold] for is_cold in (False, True))
    return warm + [replace(row, competitor=f"{row.competitor} (cold)", cache="warm") for row in cold]
