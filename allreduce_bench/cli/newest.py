"""The default runs of a command: the newest in results/. Their names go to stderr."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .types import OneLineError, talk

if TYPE_CHECKING:
    from ..runs.inventory import KeptRun

RESULTS = Path("results")


def newest_run() -> Path:
    """The newest run of RESULTS. Raises OneLineError where there is none."""
    path = _readable_runs(1, "a run")[0].folder.path
    talk(f"newest run: {path}")
    return path


def newest_two() -> tuple[Path, Path]:
    """The newest run of RESULTS as the new one, and as its baseline the newest of those before it that is like it.

    Raises OneLineError where there are none.
    """
    new, *older = _readable_runs(2, "two runs")
    baseline = next((run.folder.path for run in older if run.is_like(new)), None)
    if baseline is None:
        raise OneLineError(
            f"no run before {new.folder.path} has cells in common with it (algorithm, size, ...); name BASELINE and NEW"
        )
    talk(f"baseline: {baseline}, new: {new.folder.path} (the newest two runs with common cells)")
    return baseline, new.folder.path


def _readable_runs(least: int, wanted: str) -> "list[KeptRun]":
    from ..runs.inventory import newest_first

    runs = newest_first(RESULTS) if RESULTS.is_dir() else []
    if len(runs) < least:
        found = f"{RESULTS}/: expected {wanted}, found {len(runs)}"
        raise OneLineError(f"{found}; name it, or measure one: allreduce-bench run")
    return runs


def or_newest(ctx: click.Context, param: click.Parameter, paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """The callback of an argument: the paths that were named, else the newest run."""
    return paths or (newest_run(),)
