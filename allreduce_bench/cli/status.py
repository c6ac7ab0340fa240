"""`status`: where the jobs of a sweep are."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .sections import examples
from .types import OneLineError, errors_in_one_line, talk, tell_damages

if TYPE_CHECKING:
    from ..slurm.status import StatusLine
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
    table = status_lines(overview)
    if sys.stdout.isatty():
        _print_wrapped(table)
    else:
        click.echo(status_text(table), nl=False)
    click.echo(next_step(overview, _is_collected(overview)))


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


def _print_wrapped(table: "Sequence[StatusLine]") -> None:
    """Print the table on a terminal, with long reasons wrapped."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ..slurm.status import HEADER

    columns = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in HEADER:
        columns.add_column(name, no_wrap=name != HEADER[-1])
    for line in table:
        columns.add_row(*map(Text, line))
    Console().print(columns)
