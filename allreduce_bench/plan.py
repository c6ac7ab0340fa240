"""What a run shall measure: decided once, written to run.json, never changed."""

import random
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

DTYPES = {"float32": 4, "float64": 8, "int32": 4, "int64": 8}  # name -> bytes of an element
DEFAULT_SEGMENT_NBYTES = 128 * 1024  # of pipelined algorithms: hides a step's latency, fits a cache
OPS = ("sum", "avg", "prod", "max", "min")


class PlanError(ValueError):
    """A plan that makes no sense, in words."""


@dataclass(frozen=True)
class Cell:
    """What is measured within a launch; the launch adds the ranks and the nodes."""

    algorithm: str
    executor: str
    count: int
    segment: int | None  # elements; None: the algorithm has none

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What tells the cell from the others of its launch, as it stands in files."""
        return self.algorithm, self.executor, str(self.count), "" if self.segment is None else str(self.segment)


class Launch(NamedTuple):
    """One planned mpirun."""

    ranks: int
    number: int

    @property
    def name(self) -> str:
        """The name in files and columns: `4r-2`."""
        return f"{self.ranks}r-{self.number}"


@dataclass(frozen=True)
class Plan:
    """Every choice that decides what is measured; times in seconds, sizes in bytes."""

    algorithms: tuple[str, ...]
    sizes: tuple[int, ...]
    ranks: tuple[int, ...]
    launches: int
    seed: int
    files: tuple[str, ...] = ()  # users' own algorithm files, absolute paths
    segmented: tuple[str, ...] = ()  # those of the algorithms that cut their vectors into segments
    segment_nbytes: int = DEFAULT_SEGMENT_NBYTES
    dtype: str = "float32"
    op: str = "sum"
    iters: int | None = None
    warmups: int = 3
    cell_time_s: float = 0.5
    pretend_ranks_per_node: int | None = None
    thread_level: str = "auto"
    launcher_args: str = ""

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise PlanError(f"unknown dtype '{self.dtype}'; known: {', '.join(DTYPES)}")
        if self.op not in OPS:
            raise PlanError(f"unknown op '{self.op}'; known: {', '.join(OPS)}")
        if self.op == "avg" and self.dtype.startswith("int"):
            raise PlanError(f"op avg has no exact result for {self.dtype}; use float32 or float64, or --op sum")
        itemsize = self.itemsize
        for nbytes in (*self.sizes, self.segment_nbytes):
            if nbytes % itemsize:
                raise PlanError(f"{nbytes} bytes are no whole number of {self.dtype} elements of {itemsize} bytes")

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return DTYPES[self.dtype]

    def planned_launches(self) -> list[Launch]:
        """All launches; the rank counts take turns, so that a drift of the machine touches all of them."""
        return [Launch(ranks, number) for number in range(1, self.launches + 1) for ranks in self.ranks]

    def cells(self, launch: Launch) -> list[Cell]:
        """The cells in the order in which `launch` measures them: random, but the same for the same seed."""
        cells = []
        for name in self.algorithms:
            executor = "native" if name == "native" else "sendrecv"
            segment = self.segment_nbytes // self.itemsize if name in self.segmented else None
            cells += [Cell(name, executor, nbytes // self.itemsize, segment) for nbytes in self.sizes]
        random.Random(f"{self.seed} {launch.name}").shuffle(cells)
        return cells

    def to_json(self) -> dict:
        """The plan as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict) -> "Plan":
        """The plan that `to_json` gave. Raises PlanError for missing or unknown fields."""
        known = {field.name for field in fields(cls)}
        if set(values) != known:
            wrong = ", ".join(sorted(set(values) ^ known))
            raise PlanError(f"the plan has other fields than this version knows: {wrong}")
        fields_of: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return cls(**fields_of)


def geometric_sizes(first: int, last: int, factor: float) -> tuple[int, ...]:
    """Sizes in bytes from `first` up to `last`, each `factor` times the one before. Raises PlanError."""
    if first > last:
        raise PlanError(f"the smallest size, {first} bytes, is above the largest, {last} bytes")
    if factor <= 1:
        raise PlanError(f"the step factor must be above 1, found {factor:g}")
    if first < 1:
        raise PlanError("a geometric sweep starts at 1 byte or more; --sizes takes 0 too")
    sizes = []
    size = float(first)
    while size <= last * (1 + 1e-9):
        sizes.append(round(size))
        size *= factor
    return tuple(dict.fromkeys(sizes))
