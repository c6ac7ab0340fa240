"""The importers: one file of this folder for each kind of log, and what each declares of itself (`Importer`)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path

from ..lines import Log
from ..row import Asked, Imported


@dataclass(frozen=True, kw_only=True, slots=True)
class Importer:
    """An importer: how to recognise and read the logs of one tool."""

    name: str  # in messages: nccl-tests
    title: str  # in the list of expected logs: Intel MPI Benchmarks; empty: not listed
    turn: int  # those with a low turn are tried first: a text of two kinds goes to the more specific one
    recognises: Callable[[str], bool]  # recognises the text of such a log
    read: Callable[[Log, Asked], list[Imported]]  # its all-reduces in the order of the log; raises LogError
    # time_definition of its rows -> what such a time is; a name that ends in _ is the beginning of several
    definitions: Mapping[str, str] = field(default_factory=dict)
    allreduce: str = ""  # a pattern of the line with which an all-reduce begins; empty: any log has one
    has_halves: bool = False  # out of place and in place, chosen by --in-place
    has_columns: bool = False  # named by --column
    has_communicators: bool = False  # chosen by --communicator
    files_of: Callable[[Path], list[Path]] | None = None  # those in a folder, read as one Log without text
    read_together: Callable[[Sequence[Log], Asked], list[Imported]] | None = None  # files that are parts of one log


# Every file of this folder whose name has no leading underscore is an importer, found by scanning.
#
# Each holds one `Importer` as IMPORTER. To add one, copy `ds_bench.py`.


__all__ = ["importers"]


@cache
def importers() -> tuple[Importer, ...]:
    """Return the importers of this folder, in the order in which they are tried."""
    files = sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))
    return tuple(
        sorted((import_module(f"{__name__}.{name}").IMPORTER for name in files), key=lambda importer: importer.turn)
    )
