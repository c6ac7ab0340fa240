"""What `collect` says of a sweep: every missing cell with the reason, and how to measure those again. Pure."""

import shlex
from collections.abc import Sequence

from ..runfolder import key_of
from .overview import Overview, Run
from .reasons import FAILED, Missing, grouped


def account(overview: Overview, missing: Sequence[Sequence[Missing]]) -> list[str]:
    """The lines; `missing`: what of each run of the overview has no time although it should."""
    said = []
    for run, found in zip(overview.runs, missing):
        where = "" if len(overview.runs) == 1 else f"{run.name}: "
        said += [where + group.sentence for group in grouped(run.plan, found)]
    return [*said, _count(overview, sum(map(len, missing))), *_to_do(overview, missing)]


def _count(overview: Overview, missing: int) -> str:
    """`286 of 300 cells are there, 4 of them skipped on purpose`."""
    cells = overview.progress[1]
    skipped = sum(map(_skipped, overview.runs))
    there = f"{cells - missing} of {cells} cells are there" if missing else f"all {cells} cells are there"
    return there + (f", {skipped} of them skipped on purpose" if skipped else "")


def _skipped(run: Run) -> int:
    return len({(mark["launch"], key_of(mark)) for mark in run.marks if mark["state"] == "skipped"})


def _to_do(overview: Overview, missing: Sequence[Sequence[Missing]]) -> list[str]:
    """The one command that measures what is missing; none where no attempt would change anything."""
    runs = [run for run, found in zip(overview.runs, missing) if any(one.state not in FAILED for one in found)]
    if active := overview.active():
        jobs = ", ".join(task.id for task in active)
        return [f"still queued or running: job {jobs}; collect again when it has ended"]
    if runs and overview.tasks:
        return [f"submit those again: allreduce-bench submit --resume -o {shlex.quote(str(overview.sweep))}"]
    return [f"measure those: allreduce-bench run --resume -o {shlex.quote(str(run.folder.path))}" for run in runs]
