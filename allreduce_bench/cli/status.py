"""`status`: where the jobs of a sweep are."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .sections import examples
from .terminal import echo_wrapped, screen
from .types import OneLineError, errors_in_one_line, talk, tell_damages

if TYPE_CHECKING:
    from ..slurm.sweep import Overview

RESULTS = Path("results")


@click.command(epilog=examples("status", "status results/sweep"))
@click.argument("sweep", required=False, type=click.Path(path_type=Path))
@errors_in_one_line
def status(sweep: Path | None) -> None:
    """Show where the jobs of SWEEP are, how far, or why they failed; and what to do next.

    SWEEP is the newest one in results/ by default. Where Slurm cannot be asked, the states are those that the jobs
    wrote of themselves.
    """
    from ..slurm.status import next_step, status_lines, status_text
    from ..slurm.sweep import read_sweep

    overview = read_sweep(sweep or _newest_sweep())
    tell_damages(run.folder for run in overview.runs)
    if not overview.tasks:
        raise OneLineError(f"{overview.sweep}: no job was ever submitted for it, nor wrote into it; expected a sweep")
    if overview.told.silence:
        talk(f"{overview.told.silence}; states are those that the jobs wrote of themselves")
    click.echo(status_text(status_lines(overview), screen()), nl=False)
    echo_wrapped([next_step(overview, _is_collected(overview))])


def _is_collected(overview: "Overview") -> bool:
    """Whether there is a report that is newer than all measurements."""
    report = overview.sweep / "report.html"
    marks = [path.stat().st_mtime for run in overview.runs for path in run.folder.launches.glob("*.cells.csv")]
    return report.is_file() and report.stat().st_mtime >= max(marks, default=0.0)


def _newest_sweep() -> Path:
    """The sweep in RESULTS whose jobs were submitted, or began, last."""
    jobs_folders = [path for path in RESULTS.glob("*/jobs") if path.is_dir()]
    if not jobs_folders:
        raise OneLineError(f"no sweep in {RESULTS}/; name its folder")
    return max(jobs_folders, key=lambda path: path.stat().st_mtime).parent
