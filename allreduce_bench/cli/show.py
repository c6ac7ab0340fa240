"""`show`: the list of runs, or the table of one."""

from collections.abc import Sequence
from pathlib import Path

import click

from ..runs.control import FORMATS
from ..runs.inventory import KeptRun, is_run, kept_runs
from ..units import shell_word
from .kept_runs import RESULTS, open_runs
from .sections import examples
from .terminal import echo_result, screen
from .types import OneLineError, errors_in_one_line, talk, tell_damages

OF_OUR_TIMES = ("nccl", "osu")  # formats with one definition of time


@click.command(epilog=examples("show", "show results/today", "show results/today --format csv"))
@click.argument("run", required=False, default=RESULTS, metavar="[RUN]", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    help="Format of the table of RUN, as in run [default: table]; long and csv have every column.",
)
@click.option("-v", "--verbose", is_flag=True, help="Print every note on the times below the table.")
@errors_in_one_line
def show(run: Path, format_: str | None, verbose: bool) -> None:
    """List the runs in results/ and in its sweeps, the newest first, or print the table of RUN, finished or not.

    RUN may be another folder of runs. The list says how much of each run is measured; a grade is the worst over the
    rank counts.

    A table that is too wide is cut into parts below each other, and columns are left out; its last line names them. The
    width is COLUMNS, else the width of the terminal, else 80. eff. is the efficiency of the lowest time: lower bound /
    time.
    """
    found = kept_runs(run) if run.is_dir() and not is_run(run) else []
    if found or run == RESULTS and not is_run(run):
        _list_runs(run, found, format_)
        return
    (folder,) = open_runs([run])
    if format_ in OF_OUR_TIMES and (imported := folder.imported()):
        raise OneLineError(f"--format {format_}: the times of {folder.path} come from {imported['tool']}; see its logs")
    tell_damages([folder])
    from ..evaluation.summary import summarise  # late: it loads pandas

    echo_result(folder, summarise(folder), format_ or FORMATS[0], every_note=verbose)


def _list_runs(folder: Path, found: Sequence[KeptRun], format_: str | None) -> None:
    """Print the runs of a folder, and the command that shows the newest. Raises OneLineError."""
    if not found:
        raise OneLineError(f"{folder}/: found 0 runs; name one, or measure one: allreduce-bench run")
    newest = f"allreduce-bench show {shell_word(found[0].folder.path)}"
    if format_:
        raise OneLineError(f"--format {format_}: is of the table of one run; name it: {newest} --format {format_}")
    from ..report.run_list import run_lines  # late: it loads numpy

    click.echo("\n".join(run_lines(found, folder, screen())))
    talk(f"next: {newest}")
