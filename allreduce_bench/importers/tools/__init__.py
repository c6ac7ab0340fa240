"""What an importer declares of itself: one for each kind of log, in a file of `tools`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

from ..lines import Log
from ..row import Asked, Imported


@dataclass(frozen=True, kw_only=True, slots=True)
class Importer:
    """How the logs of one tool are told from others, and read."""

    name: str  # in messages: nccl-tests
    title: str  # among the logs that are expected: Intel MPI Benchmarks; empty: not listed
    turn: int  # those with a low turn are asked first: a text of two kinds goes to the more specific one
    recognises: Callable[[str], bool]  # whether a text is such a log
    read: Callable[[Log, Asked], list[Imported]]  # its all-reduces in the order of the log; raises LogError
    allreduce: str = ""  # a pattern of the line with which an all-reduce begins; empty: any log has one
    has_halves: bool = False  # out of place and in place, chosen by --in-place
    has_columns: bool = False  # named by --column
    has_communicators: bool = False  # chosen by --communicator
    files_of: Callable[[Path], list[Path]] | None = None  # those below a folder, which is read as one: a Log of no text
    read_together: Callable[[Sequence[Log], Asked], list[Imported]] | None = None  # files that are parts of one log


# The importers: every file of this folder whose name has no leading underscore, found by scanning.
#
# Each holds one `Importer` as IMPORTER. To add one, copy `osu.py`.


__all__ = ["importers"]


@cache
def importers() -> tuple[Importer, ...]:
    """The importers of this folder, in the order in which a log is shown to them."""
    files = sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))
    return tuple(
        sorted((import_module(f"{__name__}.{name}").IMPORTER for name in files), key=lambda importer: importer.turn)
    )
