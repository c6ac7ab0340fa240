"""Which algorithms the library ran in a run, by evidence: identified/<ranks>r.json, a file for each number of ranks.

Written by whoever looks first; a file that is absent or damaged says nothing, and can be made again. A run that others
were merged into has what they say together.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

from .files import write_atomically
from .folder import RunFolder
from .rows import RunError
from .typed_json import JsonError, Natural, Positive, checked_json, one_of, read_as, read_json

YES, OPEN, NO = "yes", "open", "no"  # whether it is the algorithm that was asked for


@dataclass(frozen=True)
class Ran:
    """What the library ran at one size."""

    algorithm: str  # native, or the algorithm that it was told to use, such as native:ring
    size_bytes: Natural
    names: tuple[str, ...]  # those that fit what was seen; one: it ran; several: open; none: unknown
    order: str  # the order of additions, in words; of merged runs that differ, what each of them says
    by_order: bool  # whether an order was seen
    by_messages: bool  # whether messages were counted
    asked: Annotated[str, one_of(YES, OPEN, NO)] | None  # whether it is the one that was asked for; None: none was


@dataclass(frozen=True)
class Identified:
    """What the library ran over one number of ranks."""

    ranks: Positive
    nodes: Positive
    library: str  # name and version of the MPI library
    dtype: str
    op: str
    not_counted: str  # why no messages were counted; empty: they were, or cannot be
    ran: tuple[Ran, ...]

    def at(self, algorithm: str, size_bytes: int) -> Ran | None:
        """Return what ran for an algorithm at a size; None: that was not looked at."""
        return next((one for one in self.ran if (one.algorithm, one.size_bytes) == (algorithm, size_bytes)), None)


def file_of(folder: RunFolder, ranks: int) -> Path:
    """Return the path of the file of these ranks."""
    return folder.path / "identified" / f"{ranks}r.json"


def keep_identified(folder: RunFolder, found: Identified) -> None:
    """Write the file of these ranks atomically. Raises OSError."""
    path = file_of(folder, found.ranks)
    path.parent.mkdir(exist_ok=True)
    write_atomically(path, checked_json(asdict(found)))


def identified_of(folder: RunFolder, ranks: Iterable[int]) -> dict[int, Identified]:
    """Return what is known of these numbers of ranks."""
    known = {}
    there = set((folder.path / "identified").glob("*.json"))  # most runs have none: nothing to wait for
    for number in ranks:
        if (path := file_of(folder, number)) in there:
            with suppress(RunError, JsonError):
                known[number] = read_as(Identified, read_json(path))
    return known


def joined(found: Sequence[Identified]) -> Identified | None:
    """Return what several runs say together of one number of ranks; None: they are of unlike conditions, or none.

    Where they say different things of one size, neither is claimed.
    """
    if len({(one.nodes, one.library, one.dtype, one.op) for one in found}) != 1:
        return None
    places = sorted({(ran.algorithm, ran.size_bytes) for one in found for ran in one.ran})
    ran = [_together([ran for one in found if (ran := one.at(*place))]) for place in places]
    return replace(found[0], not_counted=next((one.not_counted for one in found if one.not_counted), ""), ran=(*ran,))


def _together(of_runs: Sequence[Ran]) -> Ran:
    """Return what runs say of one algorithm and size: what is true of all of them, else no name and what each says."""
    said = [ran for ran in of_runs if ran.by_order] or of_runs
    asked = next((answer for answer in (NO, OPEN) if any(ran.asked == answer for ran in said)), said[0].asked)
    widest = max(said, key=lambda ran: (len(ran.names), ran.by_messages))  # an order without messages leaves more open
    if not widest.names or all(ran.names and {*ran.names} <= {*widest.names} for ran in said):
        return replace(widest, asked=asked)
    each = dict.fromkeys(" or ".join(ran.names) or ran.order for ran in said)
    return replace(widest, names=(), order=f"the merged runs differ: {'; '.join(each)}", asked=asked)
