"""What a run shall measure: decided once, written to run.json, never changed."""

import re
from dataclasses import asdict, dataclass, field
from math import log
from typing import Annotated, NamedTuple
from zlib import crc32

import numpy as np

from ..units import unknown_word
from .dtypes import DTYPES, MOST_RANKS, is_float
from .schema import ALONE, CACHES, FLOOR, FLOORS, FORMER_SYNCS, NO_GROUPS, SYNCS, TOGETHER
from .shuffle import splitmix64
from .start import Start
from .typed_json import JsonError, Natural, NotNegative, Positive, at_least, not_empty, one_of, read_as

MAX_SIZES = 1000
DEFAULT_SEGMENT_NBYTES = 128 * 1024  # of pipelined algorithms
LARGEST_SEED = 2**31
MOST_PLANNED_RANKS, MOST_LAUNCHES = 10_000_000, 1_000_000
BOUNDED_RANKS = 64  # beyond, algorithms whose cost grows with p times n run only when they are named
OPS = ("sum", "avg", "prod", "max", "min")
LAUNCH_NAME = re.compile(r"([1-9]\d{0,8})r-([1-9]\d{0,8})")
TIME_USED_UP = "the time of --within was used up"  # the reason of a cell that had no time left


class PlanError(ValueError):
    """A plan that makes no sense, in words."""


@dataclass(frozen=True)
class Cell:
    """What is measured within a launch; the launch adds the ranks and the nodes."""

    algorithm: str
    executor: str
    count: int
    segment: int | None  # elements; None: the algorithm has none
    cache: str = "warm"  # or cold
    groups: str = ""  # or together, alone

    @property
    def key(self) -> tuple[str, ...]:
        """What tells the cell from the others of its launch, as it stands in files; see `folder.key_of`."""
        segment = "" if self.segment is None else str(self.segment)
        return self.algorithm, self.executor, str(self.count), segment, self.cache, self.groups

    @classmethod
    def from_key(cls, key: tuple[str, ...]) -> "Cell":
        """The cell whose `key` this is."""
        algorithm, executor, count, segment, cache, groups = key
        return cls(algorithm, executor, int(count), int(segment) if segment else None, cache, groups)


class Launch(NamedTuple):
    """One planned mpirun."""

    ranks: int
    number: int

    @property
    def name(self) -> str:
        """The name in files and columns: `4r-2`."""
        return f"{self.ranks}r-{self.number}"

    @classmethod
    def named(cls, text: str) -> "Launch":
        """The launch whose `name` this is. Raises ValueError for any other text."""
        match = LAUNCH_NAME.fullmatch(text)
        if match is None:
            raise ValueError(f"'{text}' is not the name of a launch; expected for example 4r-2")
        return cls(*map(int, match.groups()))


def random_seed() -> int:
    """A seed for a plan that is given none."""
    from random import randrange  # late: ranks read theirs

    return randrange(LARGEST_SEED)


@dataclass(frozen=True)
class Plan:
    """Every choice that decides what is measured; times in seconds, sizes in bytes."""

    algorithms: tuple[str, ...]
    sizes: Annotated[tuple[Natural, ...], not_empty]
    ranks: Annotated[tuple[Annotated[int, at_least(1, MOST_PLANNED_RANKS)], ...], not_empty]
    launches: Annotated[int, at_least(1, MOST_LAUNCHES)] = 5
    seed: Natural = field(default_factory=random_seed)
    files: tuple[str, ...] = ()  # users' own algorithm files, absolute paths
    file_digests: tuple[str, ...] = ()  # what they were
    segmented: tuple[str, ...] = ()  # those of the algorithms that cut their vectors into segments
    bounded: tuple[str, ...] = ()  # those of the algorithms that nobody named: they stop at BOUNDED_RANKS
    segment_nbytes: Positive = DEFAULT_SEGMENT_NBYTES
    dtype: str = "float32"
    op: str = "sum"
    iters: Positive | None = None
    warmups: Natural = 3
    precision: NotNegative = 0.03  # of a median, at which a cell stops; a share
    cell_time_s: NotNegative = 0.5
    min_time_s: NotNegative = 0.0
    pretend_ranks_per_node: Positive | None = None
    thread_level: str = "auto"
    sync: Annotated[str, one_of("auto", *SYNCS, *FORMER_SYNCS)] = "auto"
    record: Annotated[str, one_of("summary", "all")] = "summary"
    back_to_back: Natural = 0  # calls of a loop without a common start; 0: none
    cache: Annotated[str, one_of(*CACHES, "both")] = "warm"
    floors: bool = True
    check: Annotated[str, one_of("exact", "bits")] = "exact"
    groups: str = ""  # as parsed by `groups`; empty: none
    link_rate_bytes_per_s: Annotated[float, at_least(1)] | None = None  # of a node's link, as the user says; else None
    start: Start = field(default_factory=Start)

    def __post_init__(self) -> None:
        self._refuse_layout()
        self._refuse_arithmetic()
        self._refuse_repeating()

    def _refuse_arithmetic(self) -> None:
        for kind, word, known in (("dtype", self.dtype, DTYPES), ("op", self.op, OPS)):
            if word not in known:
                raise PlanError(unknown_word(kind, word, known))
        if self.op == "avg" and not is_float(self.dtype):
            raise PlanError(f"op avg has no exact result for {self.dtype}; use float32 or float64, or --op sum")
        ranks, most = max(map(self.group_size, self.ranks), default=0), MOST_RANKS.get((self.dtype, self.op))
        if most is not None and ranks > most:
            reduction = f"{self.op} of {self.dtype} over {ranks} ranks"
            raise PlanError(
                f"{reduction}: the result can be checked exactly up to {most} ranks; use float64, or fewer ranks"
            )
        itemsize = self.itemsize
        for nbytes in (*self.sizes, self.segment_nbytes):
            if nbytes % itemsize:
                raise PlanError(f"{nbytes} bytes are not a whole number of {self.dtype} elements of {itemsize} bytes")

    def _refuse_repeating(self) -> None:
        if not 0 < self.precision < 1:
            raise PlanError(f"a precision of {self.precision:g} cannot be reached; use more than 0 and less than 1")
        if self.cell_time_s <= 0:
            raise PlanError("--cell-time: expected a time above 0, such as 100ms or 2s")
        if self.segment_nbytes < 1:
            raise PlanError("a segment holds at least one element, found 0 bytes")

    def _refuse_layout(self) -> None:
        if self.groups:
            self._refuse_groups()
        if self.pretend_ranks_per_node and self.pretend_ranks_per_node >= max(self.ranks):
            raise PlanError(f"{self.pretend_ranks_per_node} ranks per node: one node holds all {max(self.ranks)} ranks")

    def _refuse_groups(self) -> None:
        for size in self.ranks:
            try:
                self.group_size(size)
            except ValueError as error:
                raise PlanError(str(error)) from error

    def group_size(self, ranks: int) -> int:
        """How many of `ranks` ranks all-reduce together."""
        if not self.groups:
            return ranks
        from .groups import groups_of  # late: few runs have groups

        return len(groups_of(self.groups, ranks)[0])

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return DTYPES[self.dtype]

    @property
    def caches(self) -> tuple[str, ...]:
        """The states of the cache in which each cell is measured."""
        return CACHES if self.cache == "both" else (self.cache,)

    @property
    def group_kinds(self) -> tuple[str, ...]:
        """What a cell may say of groups; the first is what competes."""
        return (TOGETHER, ALONE) if self.groups else (NO_GROUPS,)

    def planned_launches(self) -> list[Launch]:
        """All launches; the rank counts take turns, so that a drift of the machine touches all of them."""
        return [Launch(ranks, number) for number in range(1, self.launches + 1) for ranks in self.ranks]

    def cells(self, launch: Launch) -> list[Cell]:
        """The cells in the order in which `launch` measures them: random, but the same for the same seed.

        Among them the floors; the one of no call does not depend on the size: it has one, the smallest.
        """
        cells, counts = [], [nbytes // self.itemsize for nbytes in self.sizes]
        for cache in self.caches:
            for name in self.algorithms:
                executor = "native" if name == "native" else "sendrecv"
                segment = self.segment_nbytes // self.itemsize if name in self.segmented else None
                cells += [
                    Cell(name, executor, count, segment, cache, kind) for count in counts for kind in self.group_kinds
                ]
            for name in FLOORS if self.floors else ():
                floor_counts = counts if name != "null" else [min(counts)]
                cells += [Cell(name, FLOOR, count, None, cache, self.group_kinds[0]) for count in floor_counts]
        random_numbers = splitmix64(crc32(f"{self.seed} {launch.name}".encode()), np.arange(len(cells)))
        return [cells[index] for index in random_numbers.argsort()]

    def to_json(self) -> dict:
        """The plan as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: object) -> "Plan":
        """The plan that `to_json` gave. Raises PlanError for missing, unknown or odd fields."""
        try:
            return read_as(cls, values, exact=True)
        except JsonError as error:
            raise PlanError(f"the plan: {error}") from error


class ImportedPlan(Plan):
    """What the logs of another tool hold. Logs are ragged: its cells are those of the marks, and none is planned."""

    def _refuse_arithmetic(self) -> None:
        """Type and operation are what the logs say; empty where they do not."""

    @property
    def itemsize(self) -> int:
        """Bytes of an element; 1 where that is not known."""
        return DTYPES.get(self.dtype, 1)

    def cells(self, launch: Launch) -> list[Cell]:
        """None: nothing is left to be measured."""
        return []


def geometric_sizes(first: int, last: int, factor: float, itemsize: int = 1) -> tuple[int, ...]:
    """Sizes in bytes from `first` up to `last`, each `factor` times the one before, in whole elements.

    Raises PlanError.
    """
    if first > last:
        raise PlanError(f"the smallest size, {first} bytes, is above the largest, {last} bytes")
    if not 1 < factor < float("inf"):
        raise PlanError(f"the step factor must be above 1, found {factor:g}")
    if first < 1:
        raise PlanError("a geometric sweep starts at 1 byte or more; --sizes takes 0 too")
    if log(last / first) / log(factor) > MAX_SIZES:
        raise PlanError(f"a step factor of {factor:g} makes more than {MAX_SIZES} sizes; use a larger one")
    exact = [first * factor**i for i in range(int(log(last / first) / log(factor) + 1e-9) + 1)]
    sizes = [first, *(round(size / itemsize) * itemsize for size in exact[1:])]
    return tuple(dict.fromkeys(sizes))
