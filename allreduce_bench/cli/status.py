"""`status`: show the state of the jobs of a sweep."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..message import say
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
    """Show the state and the progress of the jobs of SWEEP, why jobs failed, and the next step.

    SWEEP is the newest one in results/ by default. If Slurm does not answer, the states are those that the jobs
    wrote down themselves.
    """
    from ..slurm.sweep import next_step, read_sweep, status_lines, status_text

    overview = read_sweep(sweep or _newest_sweep())
    tell_damages((run.folder for run in overview.runs), missing=False)
    if not overview.tasks:
        raise OneLineError("cli.not_sweep_no_job", sweep=overview.sweep)
    if overview.told.silence:
        talk(say("cli.job_states_taken_files", silence=overview.told.silence))
    click.echo(status_text(status_lines(overview), screen()), nl=False)
    echo_wrapped([next_step(overview, _is_collected(overview))])


def _is_collected(overview: "Overview") -> bool:
    """Return whether there is a report newer than all measurements."""
    report = overview.sweep / "report.html"
    marks = [path.stat().st_mtime for run in overview.runs for path in run.folder.launches.glob("*.cells.csv")]
    return report.is_file() and report.stat().st_mtime >= max(marks, default=0.0)


def _newest_sweep() -> Path:
    """Return the sweep in RESULTS whose jobs were submitted, or began, last."""
    jobs_folders = [path for path in RESULTS.glob("*/jobs") if path.is_dir()]
    if not jobs_folders:
        raise OneLineError("cli.no_sweep_name_folder", results=RESULTS)
    return max(jobs_folders, key=lambda path: path.stat().st_mtime).parent
