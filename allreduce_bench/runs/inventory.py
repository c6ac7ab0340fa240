"""The runs in a folder, newest first, with their progress, without reading their rows of times."""

import csv
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from .competitor import Competitor
from .files import read_kept
from .folder import RunFolder, key_of
from .plan import ImportedPlan, Plan
from .rows import RunError
from .typed_json import read_json

COPIED_S = 60.0  # within which a copy or a checkout has written all files of a run, in any order


class KeptRun(NamedTuple):
    """A folder with a run.json, or one that lost it."""

    folder: RunFolder
    created_s: float  # since 1970; of a damaged one when the folder was last changed
    plan: Plan | None  # None: damaged


class Progress(NamedTuple):
    """Progress of a run in cells of all its launches, without floors."""

    done: int
    planned: int
    grades: tuple[str, ...] = ()  # of its numbers of ranks, without duplicates; empty: no summary of all its times


def kept_runs(folder: Path) -> list[KeptRun]:
    """Return the runs in `folder` and its subfolders, newest first; for a run itself, only that one.

    Raises OSError.
    """
    runs: list[KeptRun] = []
    if is_run(folder):
        return [_kept_run(folder)]
    for path in _folders(folder):
        paths = [path] if is_run(path) else [inner for inner in _readable(path) if is_run(inner)]
        runs += map(_kept_run, paths)
    return sorted(runs, key=lambda run: (-run.created_s, run.folder.path))


def newest_first(folder: Path) -> list[KeptRun]:
    """Return the readable runs, in the order of `kept_runs`. Raises OSError."""
    return [run for run in kept_runs(folder) if run.plan] if folder.is_dir() else []


def progress(run: KeptRun) -> Progress | None:
    """Return the progress of the run; None if its files are damaged."""
    with suppress(OSError, ValueError, csv.Error):  # RunError is a ValueError
        return _of_summary(run) or _of_marks(run)
    return None


def launch_facts(run: KeptRun) -> dict:
    """Return the facts of one of its launches; empty if none was begun, or its file is damaged."""
    with suppress(OSError, RunError):
        if path := min(run.folder.launches.glob("*.json"), default=None):
            return read_json(path) if path.is_file() else {}
    return {}


def _folders(folder: Path) -> list[Path]:
    """Return the subfolders; hidden ones are unfinished. Raises OSError."""
    return [path for path in sorted(folder.iterdir()) if path.is_dir() and not path.name.startswith(".")]


def _readable(folder: Path) -> Iterator[Path]:
    with suppress(OSError):
        yield from _folders(folder)


def is_run(path: Path) -> bool:
    """Return whether a folder holds a run.json of any kind, or lost it."""
    try:
        return (path / "run.json").exists() or any((path / "launches").glob("*.json"))
    except OSError:
        return False


def _kept_run(path: Path) -> KeptRun:
    folder = RunFolder(path)
    with suppress(OSError, ValueError, KeyError, TypeError):
        return KeptRun(folder, datetime.fromisoformat(folder.open()["created"]).timestamp(), folder.plan())
    changed_s = 0.0
    with suppress(OSError):
        changed_s = path.stat().st_mtime
    return KeptRun(folder, changed_s, None)


def _of_summary(run: KeptRun) -> Progress | None:
    """Return the progress by the summary; None if there is none, or it is out of date."""
    path = run.folder.summary_csv
    if run.plan is None or not path.is_file():
        return None
    written_s = path.stat().st_mtime
    marks_of = list(run.folder.launches.glob("*.cells.csv"))
    if any(marks.stat().st_mtime > written_s + COPIED_S for marks in marks_of):
        return None
    rows = list(csv.DictReader(StringIO(read_kept(path).decode())))
    if not rows or not {"launches", "state", "grade"} <= {*rows[0]}:
        return None  # of an earlier version
    launches = 1 if isinstance(run.plan, ImportedPlan) else run.plan.launches
    there = Counter(name.partition("r-")[0] for name in {marks.name.partition(".")[0] for marks in marks_of})
    if any(int(row["launches"] or 0) > there[row["ranks"]] for row in rows):
        return None  # launches were deleted since
    done = sum(min(int(row["launches"] or 0), launches) for row in rows if row["state"] == "done")
    return Progress(done, len(rows) * launches, tuple(dict.fromkeys(row["grade"] for row in rows if row["grade"])))


def _of_marks(run: KeptRun) -> Progress:
    """Return the progress by the completion marks. Raises RunError."""
    if run.plan is None:
        raise RunError(f"{run.folder.path}: damaged")
    planned = sum(
        not cell.competitor.is_reference for launch in run.plan.planned_launches() for cell in run.plan.cells(launch)
    )
    attempts = run.folder.kept(with_calls=False)
    if any(attempt.damages for attempt in attempts):
        raise RunError(f"{run.folder.path}: damaged")
    marks = [mark for attempt in attempts for mark in attempt.cells]
    done = {
        (mark["launch"], key_of(mark))
        for mark in marks
        if mark["state"] == "done" and not Competitor(mark["competitor"]).is_reference
    }
    return Progress(len(done), planned or len(done))
