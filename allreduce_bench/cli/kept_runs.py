"""The runs that a command reads: those that are named, else the newest of RESULTS."""

from collections.abc import Sequence
from pathlib import Path

import click

from ..runs.folder import RunFolder
from ..runs.inventory import newest_first
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
    runs = newest_first(RESULTS) if RESULTS.is_dir() else []
    if not runs:
        raise OneLineError(f"{RESULTS}/: expected a run, found 0; name a run, or measure one: allreduce-bench run")
    talk(f"newest run: {runs[0].folder.path}")
    return runs[0].folder.path


def take_newest(ctx: click.Context, param: click.Parameter, paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the paths that were named, else the newest run: the callback of an argument."""
    return paths or (newest_run(),)
