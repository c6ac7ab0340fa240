"""The points of a log: the frame that fits read."""

import warnings
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ..message import say
from ..models.points import TYPES
from .reading import read
from .row import NOTHING, Asked, Imported, LogWarning

KINDS: dict[str, Any] = {**TYPES, "ranks": "Int64", "nbytes": "Int64"}  # a log may lack its ranks
UNKNOWN = ("oversubscribed", "placement", "grade")  # columns that no log has


def points_of_log(path: Path, asked: Asked = NOTHING) -> pd.DataFrame:
    """Return one row for each row of a log with a time, in order: the columns of KINDS; what the log lacks is NA.

    `run` is the name of the log; of one that names systems, or a CSV with several numbers of ranks per node, system and
    ranks per node: `lumi, 1 rank per node`. Where these have several libraries, each is a run: `…, OMPI 4.1.6`.
    `launch` distinguishes launches: an allocation, a file, a table in it.
    `calls`: how many calls `time_s` is the mean or median of. Raises LogError; warns of rows without a time.
    """
    every = read(path, asked)
    rows = [row for row in every if row.time_s is not None]
    if len(rows) < len(every):
        first = next(row for row in every if row.time_s is None)
        words = say(
            "importers.rows_no_time_first",
            every_count=len(every) - len(rows),
            every_count_2=len(every),
            line=first.line,
        )
        warnings.warn(f"{path}: {words}", LogWarning, stacklevel=3)
    several = len({each for row in rows if (each := row.ranks_per_node)}) > 1
    data = {name: [getattr(row, name) for row in rows] for name in KINDS if name not in ("run", *UNKNOWN)}
    data["run"] = _runs(path, rows, several)
    data |= {name: [None] * len(rows) for name in UNKNOWN}
    return pd.DataFrame({name: pd.Series(data[name], dtype=object).astype(kind) for name, kind in KINDS.items()})


def _runs(path: Path, rows: Sequence[Imported], several: bool) -> list[str]:
    """Return the run of each row: of one library each."""
    runs = [_run(path, row, several) for row in rows]
    libraries: dict[str, set[str | None]] = defaultdict(set)
    for run, row in zip(runs, rows):
        libraries[run].add(row.library)
    unknown = say("importers.library_unknown")
    return [f"{run}, {row.library or unknown}" if len(libraries[run]) > 1 else run for run, row in zip(runs, rows)]


def _run(path: Path, row: Imported, several: bool) -> str:
    each = row.ranks_per_node
    layout = f"{each} rank{'s' if each != 1 else ''} per node" if each else say("importers.ranks_per_node_unknown")
    if row.system or row.fields and several:
        return f"{row.system or path.name}, {layout}"
    return path.name
