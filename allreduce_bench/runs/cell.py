"""What a launch measures, the launch, and how both are called in plans, files and tables.

Also the generator of numbers that orders cells and draws random floats, and the placements of vectors as `--placement`
says them: at pages, where numpy puts them, or a number of bytes apart.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..machine import PAGE_NBYTES
from .schema import NUMPY, PAGE
from .typed_json import Natural, NotNegative, Positive

# executors and algorithms
EXECUTORS = ("sendrecv", "pipelined", "compiled", "compiled-pipelined")  # of the same steps; the first is the default
PIPELINED = ("pipelined", "compiled-pipelined")  # those that cut steps, and post messages ahead
COMPILED = ("compiled", "compiled-pipelined")  # those that call MPI without the interpreter
NATIVE = "native"  # the library's own all-reduce, and the executor that calls it from Python
IMPORTED = "imported"  # the executor of an algorithm of another program, whose times are means of many calls
NATIVES = (NATIVE, f"{NATIVE} {COMPILED[0]}")  # as competitors: called from Python, and compiled
MOCKUP = "mockup"  # the executor of what a library's other operations make of an all-reduce; it calls from Python:
MOCKUPS = {  # algorithm -> the MPI functions, in order
    "native:reduce+bcast": ("MPI_Reduce", "MPI_Bcast"),
    "native:reduce_scatter_block+allgather": ("MPI_Reduce_scatter_block", "MPI_Allgather"),
    "native:reduce_scatter+allgatherv": ("MPI_Reduce_scatter", "MPI_Allgatherv"),
}
GUIDELINES = "guidelines"  # the word for native and all of these


# texts
LAUNCH_NAME = re.compile(r"([1-9]\d{0,8})r-([1-9]\d{0,8})")
EXPECTED_PLACEMENT = f"expected page, numpy, or a difference in bytes below {PAGE_NBYTES}, such as 16"


@dataclass(frozen=True)
class Cell:
    """What is measured within a launch; the launch adds the ranks and the nodes."""

    algorithm: str
    executor: str
    count: int
    segment: int | None  # elements: of a pipelined algorithm, or at which steps are cut; None: whole messages
    cache: str = "warm"  # or cold
    groups: str = ""  # or together, alone
    window: int | None = None  # messages posted ahead; None: the executor has no window
    arrival: str = ""  # the pattern by which ranks enter late; empty: nobody is delayed
    placement: str = PAGE  # where its vectors lie

    @property
    def key(self) -> tuple[str, ...]:
        """What tells the cell from the others of its launch, as it stands in files; see `folder.key_of`."""
        segment, window = ("" if value is None else str(value) for value in (self.segment, self.window))
        way = self.cache, self.groups, self.arrival, self.placement
        return self.algorithm, self.executor, str(self.count), segment, window, *way

    @classmethod
    def from_key(cls, key: tuple[str, ...]) -> "Cell":
        """The cell whose `key` this is."""
        algorithm, executor, count, *numbers, cache, groups, arrival, placement = key
        segment, window = (int(text) if text else None for text in numbers)
        return cls(algorithm, executor, int(count), segment, cache, groups, window, arrival, placement)


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


@dataclass(frozen=True)
class Cut:
    """Where pipelined executors cut the steps of one size at one number of ranks."""

    ranks: Positive
    nbytes: Natural  # of the vector
    segment_nbytes: Positive


@dataclass(frozen=True)
class CutPrices:
    """The prices by which cuts were chosen, and where they came from."""

    alpha_s: NotNegative
    beta_s_per_byte: NotNegative
    gamma_s_per_byte: NotNegative
    source: str  # nominal, or the path of a machine file


def competitor_name(algorithm: str, executor: str | None) -> str:
    """What readers call an algorithm run one way: `ring`, `ring pipelined`, `native`, `native compiled`."""
    return f"{algorithm} {executor}" if executor in EXECUTORS[1:] else algorithm


def parts_of(competitor: str) -> tuple[str, str]:
    """The algorithm of a `competitor_name`, and its executor where the name says it."""
    algorithm, _, executor = competitor.rpartition(" ")
    return (algorithm, executor) if algorithm and executor in EXECUTORS[1:] else (competitor, "")


def native_beside(executor: str | None) -> str:
    """The native that is called like `executor`, from Python or compiled: what a speed-up of it is held against."""
    return NATIVES[executor in COMPILED]


def parse_placements(text: str) -> tuple[str, ...]:
    """The placements of `page,numpy,16`, each once. Raises ValueError for what is none."""
    words = [word.strip() for word in text.split(",")]
    if unknown := [word for word in words if word not in (PAGE, NUMPY) and not (word.isascii() and word.isdigit())]:
        raise ValueError(f"'{unknown[0]}' is no placement; {EXPECTED_PLACEMENT}")
    names = [word if word in (PAGE, NUMPY) else word.lstrip("0") or "0" for word in words]
    if too_far := [name for name in names if name.isdigit() and (len(name) > 4 or int(name) >= PAGE_NBYTES)]:
        raise ValueError(f"a difference of {too_far[0]} bytes is a page or more; {EXPECTED_PLACEMENT}")
    return tuple(dict.fromkeys(names))


def is_placement(word: str) -> bool:
    """Whether it is one, written as `parse_placements` gives it."""
    try:
        return parse_placements(word) == (word,)
    except ValueError:
        return False


def refuse_odd_differences(placements: Sequence[str], itemsize: int) -> None:
    """Raises ValueError for a difference at which elements of `itemsize` bytes would not be aligned."""
    if odd := [name for name in placements if name.isdigit() and int(name) % itemsize]:
        raise ValueError(
            f"--placement {odd[0]}: elements of {itemsize} bytes would not be aligned; use a multiple of {itemsize}"
        )


def splitmix64(start: int, places: np.ndarray) -> np.ndarray:
    """The numbers at `places`, int64, of the generator that begins at `start`: uint64 [place]."""
    bits = np.uint64(start) + (places + 1).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ bits >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ bits >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return bits ^ bits >> np.uint64(31)
