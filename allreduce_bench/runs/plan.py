"""What a run shall measure: decided once, written to run.json, never changed."""

import re
from dataclasses import asdict, dataclass, field, fields
from math import log
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from .dtypes import DTYPES, MOST_RANKS, is_float
from .schema import ALONE, CACHES, FLOOR, FLOORS, NO_GROUPS, SYNCS, TOGETHER
from .shuffle import splitmix64
from .start import Start, StartError

MAX_SIZES = 1000
DEFAULT_SEGMENT_NBYTES = 128 * 1024  # of pipelined algorithms
BOUNDED_RANKS = 64  # beyond, algorithms whose cost grows with p times n run only when they are named
OPS = ("sum", "avg", "prod", "max", "min")
LAUNCH_NAME = re.compile(r"([1-9]\d{0,8})r-([1-9]\d{0,8})")


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
        """What tells the cell from the others of its launch, as it stands in files; see `runfolder.key_of`."""
        segment = "" if self.segment is None else str(self.segment)
        return self.algorithm, self.executor, str(self.count), segment, self.cache, self.groups


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
            raise ValueError(f"'{text}' is no name of a launch; expected such as 4r-2")
        return cls(*map(int, match.groups()))


@dataclass(frozen=True)
class Plan:
    """Every choice that decides what is measured; times in seconds, sizes in bytes."""

    algorithms: tuple[str, ...]
    sizes: tuple[int, ...]
    ranks: tuple[int, ...]
    launches: int
    seed: int
    files: tuple[str, ...] = ()  # users' own algorithm files, absolute paths
    file_digests: tuple[str, ...] = ()  # what they were
    segmented: tuple[str, ...] = ()  # those of the algorithms that cut their vectors into segments
    bounded: tuple[str, ...] = ()  # those of the algorithms that nobody named: they stop at BOUNDED_RANKS
    segment_nbytes: int = DEFAULT_SEGMENT_NBYTES
    dtype: str = "float32"
    op: str = "sum"
    iters: int | None = None
    warmups: int = 3
    precision: float = 0.03  # of a median, at which a cell stops; a share
    cell_time_s: float = 0.5
    min_time_s: float = 0.0
    pretend_ranks_per_node: int | None = None
    thread_level: str = "auto"
    sync: str = "auto"
    record: str = "summary"
    back_to_back: int = 0  # calls of a loop without a common start; 0: none
    cache: str = "warm"
    floors: bool = True
    check: str = "exact"
    groups: str = ""  # as parsed by `groups`; empty: none
    link_rate_bytes_per_s: float | None = None  # of a node's link, where the user knows better than the system
    start: Start = field(default_factory=Start)

    def __post_init__(self) -> None:
        self._refuse_layout()
        self._refuse_arithmetic()
        self._refuse_repeating()

    def _refuse_arithmetic(self) -> None:
        if self.dtype not in DTYPES:
            raise PlanError(f"unknown dtype '{self.dtype}'; known: {', '.join(DTYPES)}")
        if self.op not in OPS:
            raise PlanError(f"unknown op '{self.op}'; known: {', '.join(OPS)}")
        if self.op == "avg" and not is_float(self.dtype):
            raise PlanError(f"op avg has no exact result for {self.dtype}; use float32 or float64, or --op sum")
        ranks, most = max(map(self.group_size, self.ranks), default=0), MOST_RANKS.get((self.dtype, self.op))
        if most is not None and ranks > most:
            what = f"{self.op} of {self.dtype} over {ranks} ranks"
            raise PlanError(
                f"{what}: the result can be checked exactly up to {most} ranks; use float64, or fewer ranks"
            )
        itemsize = self.itemsize
        for nbytes in (*self.sizes, self.segment_nbytes):
            if nbytes % itemsize:
                raise PlanError(f"{nbytes} bytes are no whole number of {self.dtype} elements of {itemsize} bytes")

    def _refuse_repeating(self) -> None:
        if not 0 < self.precision < 1:
            raise PlanError(f"a precision of {self.precision:g} cannot be reached; use more than 0 and less than 1")
        if self.cell_time_s <= 0:
            raise PlanError("--cell-time needs some time, such as 100ms or 2s")
        if self.segment_nbytes < 1:
            raise PlanError("a segment holds at least one element, found 0 bytes")

    def _refuse_layout(self) -> None:
        if self.groups:
            self._refuse_groups()
        if self.pretend_ranks_per_node and self.pretend_ranks_per_node >= max(self.ranks):
            raise PlanError(f"{self.pretend_ranks_per_node} ranks a node make one node of {max(self.ranks)} ranks")

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
    def kinds(self) -> tuple[str, ...]:
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
                cells += [Cell(name, executor, count, segment, cache, kind) for count in counts for kind in self.kinds]
            for name in FLOORS if self.floors else ():
                of = counts if name != "null" else [min(counts)]
                cells += [Cell(name, FLOOR, count, None, cache, self.kinds[0]) for count in of]
        drawn = splitmix64(crc32(f"{self.seed} {launch.name}".encode()), np.arange(len(cells)))
        return [cells[place] for place in drawn.argsort()]

    def to_json(self) -> dict:
        """The plan as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict) -> "Plan":
        """The plan that `to_json` gave. Raises PlanError for missing or unknown fields."""
        try:
            start = Start(**_checked(values["start"], Start))
        except (KeyError, StartError) as error:
            raise PlanError(f"the plan's start: {error}") from error
        return cls(**_checked({**values, "start": None}, cls) | {"start": start})


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


def _checked(values: dict, kind: type) -> dict[str, Any]:
    """The fields of the dataclass `kind` from a file. Raises PlanError for missing, unknown or odd ones."""
    known = {field.name for field in fields(kind)}
    if set(values) != known:
        wrong = ", ".join(sorted(set(values) ^ known))
        raise PlanError(f"the plan has other fields than this version knows: {wrong}")
    for name, value in values.items():
        if not _fits(name, value):
            raise PlanError(f"the plan's {name} is {value!r}")
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


LISTS = {"algorithms": str, "files": str, "file_digests": str, "segmented": str, "sizes": int, "ranks": int}
LISTS |= {"bounded": str, "hosts": str}
CHOICES = {  # what a field of the plan may say
    "sync": ("auto", *SYNCS),
    "record": ("summary", "all"),
    "cache": (*CACHES, "both"),
    "check": ("exact", "bits"),
}
TEXTS = (
    "dtype",
    "op",
    "thread_level",
    "groups",
    "launcher",
    "launcher_args",
    "remote_shell",
    "map_by",
    "bind_to",
    "interface",
)
NUMBERS = {
    "launches": 1,
    "seed": 0,
    "warmups": 0,
    "precision": 0,
    "back_to_back": 0,
    "cell_time_s": 0,
    "min_time_s": 0,
    "segment_nbytes": 1,
}
OPTIONAL = {"iters": 1, "pretend_ranks_per_node": 1, "ranks_per_node": 1, "link_rate_bytes_per_s": 1, "start": 0}
LEFT_OUT = "the time of --within was used up"  # the reason of a cell that had no time left
MANY = 1_000_000  # no plan has as many of anything


def _fits(name: str, value: Any) -> bool:
    """Whether a value from a file is what the field of this name holds."""
    if name in LISTS:
        fits = isinstance(value, list | tuple) and all(type(item) is LISTS[name] for item in value)
        return fits and len(value) < MANY and (LISTS[name] is str or all(item >= (name == "ranks") for item in value))
    if name in CHOICES:
        return value in CHOICES[name]
    if name == "floors":
        return isinstance(value, bool)
    if name in TEXTS:
        return isinstance(value, str)
    if name in OPTIONAL and value is None:
        return True
    least = {**NUMBERS, **OPTIONAL}[name]
    return type(value) in (int, float) and value >= least and (name != "launches" or value < MANY)


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
