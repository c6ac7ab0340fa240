"""The runs that a command reads: those that are named, else the newest ones of RESULTS."""

from collections.abc import Sequence
from pathlib import Path

import click

from ..runs.folder import RunFolder
from ..runs.inventory import KeptRun, newest_first
from .types import OneLineError, talk

RESULTS = Path("results")


def open_runs(paths: Sequence[Path]) -> list[RunFolder]:
    """Return the runs, each with a run.json that can be read. Raises RunError, which names the run."""
    folders = [RunFolder(path).remember() for path in paths]
    for folder in folders:
        folder.open()
    return folders


def newest_run() -> Path:
    """Return the newest run of RESULTS. Raises OneLineError if there is none."""
    path = _readable_runs(1, "a run")[0].folder.path
    talk(f"newest run: {path}")
    return path


def newest_two() -> tuple[Path, Path]:
    """Return baseline and new run: the newest run of RESULTS, and the newest one before it that is like it.

    Raises OneLineError if there are none.
    """
    new, *older = _readable_runs(2, "two runs")
    baseline = next((run.folder.path for run in older if run.is_like(new)), None)
    if baseline is None:
        raise OneLineError(
            f"no run before {new.folder.path} has cells in common with it (algorithm, size, ...); name BASELINE and NEW"
        )
    talk(f"baseline: {baseline}, new: {new.folder.path} (the newest two runs with common cells)")
    return baseline, new.folder.path


def _readable_runs(least: int, wanted: str) -> list[KeptRun]:
    """Return the runs of RESULTS, the newest first. Raises OneLineError if there are fewer than `least`."""
    runs = newest_first(RESULTS) if RESULTS.is_dir() else []
    if len(runs) < least:
        raise OneLineError(
            f"{RESULTS}/: expected {wanted}, found {len(runs)}; name {wanted}, or measure one: allreduce-bench run"
        )
    return runs


def take_newest(ctx: click.Context, param: click.Parameter, paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the paths that were named, else the newest run: the callback of an argument."""
    return paths or (newest_run(),)
