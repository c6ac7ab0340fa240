"""Folders to runs: what a comparison needs of each, checked."""

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from ..plan import Plan
from ..runfolder import RunError, RunFolder
from ..summary import Summary, summarise


class Run(NamedTuple):
    """One run folder."""

    name: str  # the path as it was given
    plan: Plan
    rows: Sequence[Summary]  # of `summarise`
    attempts: Sequence[dict[str, Any]]  # the facts of its launches
    definitions: dict[int, set[str]]  # ranks -> what a time is, see time_definition
    unfinished: Sequence[str]  # names of launches that have cells left


def read_sides(baseline: Sequence[Path], new: Sequence[Path]) -> tuple[list[Run], list[Run]]:
    """The runs of both sides. Raises RunError: unreadable, named twice, or with times that are none."""
    named: dict[Path, Path] = {}
    for path in (*baseline, *new):
        if (place := path.resolve()) in named:
            raise RunError(f"{path}: named twice; a run compared with itself says nothing: name another run")
        named[place] = path
    return [_read(path) for path in baseline], [_read(path) for path in new]


def _read(path: Path) -> Run:
    folder = RunFolder(path)
    plan = folder.plan()
    definitions = _definitions(folder)
    unfinished = [launch.name for launch in folder.pending(plan)]
    return Run(str(path), plan, summarise(folder), folder.attempts(), definitions, unfinished)


def _definitions(folder: RunFolder) -> dict[int, set[str]]:
    """What a time is at each rank count. Raises RunError where a time that counts is not above 0."""
    definitions: dict[int, set[str]] = {}
    for row in folder.repetitions():
        counts = row["warmup"] == "0" and row["valid"] != "0"
        if counts and row["executor"] != "floor":  # which may take less than the clock can tell
            if not _is_time(row["time_s"]):
                cell = f"{row['algorithm']} {row['nbytes']} B, launch {row['launch']}, repetition {row['repetition']}"
                found_s = f"time_s is '{row['time_s']}', expected seconds above 0"
                raise RunError(f"{folder.path}: damaged: {cell}: {found_s}; measure anew")
            definitions.setdefault(int(row["ranks"]), set()).add(row["time_definition"])
    return definitions


def _is_time(text: str) -> bool:
    try:
        return isfinite(float(text)) and float(text) > 0
    except ValueError:
        return False
