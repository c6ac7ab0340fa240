"""Cells and launches: what a launch measures, and the names of both in plans, files and tables.

Also the random number generator that orders cells and draws random floats, and the placements of vectors as
`--placement` gives them: at pages, as numpy allocates, or a number of bytes apart.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ..machine import PAGE_NBYTES
from .competitor import Competitor
from .schema import NUMPY, PAGE

if TYPE_CHECKING:
    import numpy as np

# texts
LAUNCH_NAME = re.compile(r"([1-9]\d{0,8})r-([1-9]\d{0,8})(?:-([a-z]\w{0,63}))?", re.ASCII)
ALL_FORCED = "forced"  # in the names of launches: all forced algorithms take turns in it
EXPECTED_PLACEMENT = f"expected page, numpy, or a difference in bytes below {PAGE_NBYTES}, such as 16"


@dataclass(frozen=True)
class Cell:
    """The unit of measurement within a launch; the launch adds the ranks and the nodes."""

    competitor: Competitor
    size_bytes: int  # of the vector
    segment: int | None = None  # elements: of a pipelined algorithm, or at which steps are cut; None: whole messages
    window: int | None = None  # messages posted ahead; None: the executor has no window

    def __post_init__(self) -> None:
        object.__setattr__(self, "competitor", Competitor(self.competitor))

    @property
    def algorithm(self) -> str:
        """The name of its competitor without the way."""
        return self.competitor.algorithm

    @property
    def key(self) -> tuple[str, ...]:
        """The identity of the cell within its launch, as in files; see `folder.key_of`."""
        return self.competitor, str(self.size_bytes)

    @classmethod
    def from_key(cls, key: tuple[str, ...]) -> "Cell":
        """Return the cell with this `key`."""
        competitor, size_bytes = key
        return cls(Competitor(competitor), int(size_bytes))


class Launch(NamedTuple):
    """One planned mpirun."""

    ranks: int
    number: int
    forced: str = ""  # ALL_FORCED, or the only forced algorithm of it; empty: the library is left untouched

    @property
    def name(self) -> str:
        """Name in files and columns: `4r-2`, `4r-2-forced`."""
        return f"{self.ranks}r-{self.number}{self.forced and '-'}{self.forced}"

    @classmethod
    def named(cls, text: str) -> "Launch":
        """Return the launch with this `name`. Raises ValueError for any other text."""
        match = LAUNCH_NAME.fullmatch(text)
        if match is None:
            raise ValueError(f"'{text}' is not the name of a launch; expected for example 4r-2 or 4r-2-forced")
        ranks, number, forced = match.groups()
        return cls(int(ranks), int(number), forced or "")


@cache
def beside(launch: str) -> str:
    """Return the name of the untouched launch that one of this name is compared with: `4r-2` of `4r-2-forced`."""
    return "-".join(launch.split("-")[:2])


def parse_placement(text: str) -> str:
    """Return the placement of `page`, `numpy` or `16`. Raises ValueError for another one."""
    word = text.strip()
    if word in (PAGE, NUMPY):
        return word
    if not (word.isascii() and word.isdigit()):
        raise ValueError(f"'{word}' is no placement; {EXPECTED_PLACEMENT}")
    name = word.lstrip("0") or "0"
    if len(name) > 4 or int(name) >= PAGE_NBYTES:
        raise ValueError(f"a difference of {name} bytes is a page or more; {EXPECTED_PLACEMENT}")
    return name


def is_placement(word: str) -> bool:
    """Return whether it is a placement, written as `parse_placement` returns it."""
    try:
        return parse_placement(word) == word
    except ValueError:
        return False


def refuse_odd_difference(placement: str, itemsize: int) -> None:
    """Raise ValueError for a difference that misaligns elements of `itemsize` bytes."""
    if placement.isdigit() and int(placement) % itemsize:
        raise ValueError(
            f"--placement {placement}: elements of {itemsize} bytes would not be aligned; use a multiple of {itemsize}"
        )


def splitmix64(start: int, places: "np.ndarray") -> "np.ndarray":
    """Return the numbers at `places`, int64, of the generator (SplitMix64) that begins at `start`: uint64 [place]."""
    import numpy as np  # late: the helps of commands need none

    bits = np.uint64(start) + (places + 1).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ bits >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ bits >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return bits ^ bits >> np.uint64(31)
