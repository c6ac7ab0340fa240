"""The importers: every file of this folder whose name has no leading underscore, found by scanning.

Each holds one `Importer` as IMPORTER. To add one, copy `osu.py`.
"""

from functools import cache
from importlib import import_module
from pathlib import Path

from ..importer import Importer

__all__ = ["importers"]


@cache
def importers() -> tuple[Importer, ...]:
    """The importers of this folder, in the order in which a log is shown to them."""
    files = sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))
    return tuple(
        sorted((import_module(f"{__name__}.{name}").IMPORTER for name in files), key=lambda importer: importer.turn)
    )
