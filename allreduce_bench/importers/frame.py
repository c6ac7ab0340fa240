"""The points of a log: the frame that fits read."""

import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ..models.points import TYPES
from ..units import counted
from .reading import read
from .row import NOTHING, Asked, Imported, LogWarning, named_by_cache

KINDS: dict[str, Any] = {**TYPES, "ranks": "Int64", "size_bytes": "Int64"}  # a log may lack its ranks
OF_ROWS = ("competitor", "dtype", "op", "ranks", "nodes", "size_bytes", "time_s")


def points_of_log(path: Path, asked: Asked = NOTHING) -> pd.DataFrame:
    """Return the rows of one log as `points_of_logs` does; without a system its run is the name of the file."""
    (frame,) = points_of_logs({path: path.name}, asked)
    return frame


def points_of_logs(names: Mapping[Path, str], asked: Asked = NOTHING) -> list[pd.DataFrame]:
    """Return for each log one row for each row with a time, in order: the columns of KINDS; what it lacks is NA.

    `run` is the name of the log in `names`; of one that names systems, or a CSV with several numbers of ranks per node,
    system and ranks per node: `lumi, 1 rank per node`. Where these have several libraries, in one log or in several,
    each is a run: `…, OMPI 4.1.6`.
    `launch` distinguishes launches: an allocation, a file, a table in it; those of CSV files are their own.
    Raises LogError; warns of rows without a time.
    """
    timed = {path: _timed_rows(path, asked) for path in names}
    runs = {path: _runs_of_systems(names[path], rows) for path, rows in timed.items()}
    libraries: dict[str, set[str | None]] = defaultdict(set)
    for path, rows in timed.items():
        for run, row in zip(runs[path], rows):
            libraries[run].add(row.library)
    several = {run for run, found in libraries.items() if len(found) > 1}
    frames = []
    for path, rows in timed.items():
        of_libraries = [
            f"{run}, {row.library or 'library unknown'}" if run in several else run
            for run, row in zip(runs[path], rows)
        ]
        frames.append(_frame(rows, of_libraries))
    return frames


def _timed_rows(path: Path, asked: Asked) -> list[Imported]:
    """Return the rows with a time. Raises LogError; warns of the others."""
    every = named_by_cache(read(path, asked))
    rows = [row for row in every if row.time_s is not None]
    if len(rows) < len(every):
        first = next(row for row in every if row.time_s is None)
        warnings.warn(
            f"{path}: {len(every) - len(rows)} of {len(every)} rows have no time (first: line {first.line}); left out",
            LogWarning,
            stacklevel=4,
        )
    return rows


def _frame(rows: Sequence[Imported], runs: Sequence[str]) -> pd.DataFrame:
    of_rows = {name: [getattr(row, name) for row in rows] for name in OF_ROWS}
    of_logs = {
        "run": list(runs),
        "launch": [f"{row.file}: {row.launch}" if row.fields else row.launch for row in rows],
        "imported": [True] * len(rows),
        "conditions": ["" if row.cache == "warm" else f"cache {row.cache}" for row in rows],
    }
    frame = pd.DataFrame({**of_rows, **of_logs}, dtype=object)
    return frame.reindex(columns=list(KINDS)).astype(KINDS)


def _runs_of_systems(name: str, rows: Sequence[Imported]) -> list[str]:
    """Return the run of each row of a log of this name, whatever its library."""
    several = len({each for row in rows if (each := row.ranks_per_node)}) > 1
    return [f"{row.system or name}, {_layout(row)}" if row.system or row.fields and several else name for row in rows]


def _layout(row: Imported) -> str:
    each = row.ranks_per_node
    return f"{counted(each, 'rank')} per node" if each else "ranks per node unknown"
