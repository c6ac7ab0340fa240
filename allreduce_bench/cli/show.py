"""`show`, `report`: the list of runs, the table of a run, the page of runs."""

import gc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ..runs.control import FORMATS
from ..runs.folder import RunFolder
from ..runs.inventory import KeptRun, is_run, kept_runs, newest_first
from ..units import parse_width, shell_word
from ..wings import load_offers
from .sections import examples
from .terminal import echo_result, screen
from .types import OneLineError, errors_in_one_line, own_files, parsed, progress, talk, tell_damages

RESULTS = Path("results")
COLUMN = "84mm"  # of a page with two, as many journals print it
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

    RUN may be another folder of runs. The list counts cells as their launches marked them, over all launches; a grade
    is the worst over the rank counts.

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


# `report`: write a page about finished runs


@click.command(
    epilog=examples(
        "report results/today",
        "report results/monday results/today -o both.html",
        "report results/today --figures pdf --width 84mm",
    )
)
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path), callback=take_newest)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Report file [default: report.html in RUN; with several runs in the working folder; report-2.html and so on "
    "if that file is a report of other runs].",
)
@click.option(
    "--survive", type=click.Path(path_type=Path), help="What survive --format json printed: a section on lost ranks."
)
@click.option("--pictures", is_flag=True, help="Write the figures as PNG and SVG, too, and link them in the page.")
@click.option(
    "--figures",
    "kind",
    type=click.Choice(("pdf", "svg", "png")),
    help="Write figures for a paper, too: a file for each panel, as wide as --width, with text as text.",
)
@click.option(
    "--width",
    type=parsed("--width", parse_width),
    metavar="LENGTH",
    help="Width of a panel of --figures, in mm, cm or in, e.g. 84mm, a column of many journals [default: 84mm].",
)
@own_files
@errors_in_one_line
def report(runs, output, survive, pictures, kind, width, own) -> None:
    """Write one self-contained HTML page about RUNS, and the numbers of its figures as CSV files beside it.

    RUNS is the newest one in results/ by default.
    """
    told = progress()
    if output and output.suffix.lower() not in (".html", ".htm"):
        raise OneLineError(f"-o {output}: expected a name that ends in .html")
    if width and not kind:
        raise OneLineError("--width is the width of figures for a paper; add --figures pdf, svg or png")
    folders = open_runs(runs)
    gc.disable()  # what is loaded stays: looking through it again and again takes a tenth of the time
    from ..report.page import FigureFiles, Paper, default_page, write_report  # late: they load what draws
    from ..slurm.sweep import missing_of_run

    gc.freeze()
    gc.enable()
    tell_damages(folders)
    losses = _losses(survive) if survive else None
    page = output or default_page(folders)
    missing = list(map(missing_of_run, folders))
    files = FigureFiles(pictures, Paper(kind, width or parse_width(COLUMN)) if kind else None)
    click.echo(write_report(folders, page, own, missing, losses, files, told))


def _losses(path: Path) -> dict[str, Any]:
    """Return the section of lost ranks. Raises RunError, OneLineError."""
    for section in load_offers("losses"):
        return section(path)
    raise OneLineError("--survive: this installation has no survive")


def open_runs(paths: Sequence[Path]) -> list[RunFolder]:
    """Return the runs, each with a run.json that can be read. Raises RunError, which names the run."""
    folders = [RunFolder(path).remember() for path in paths]
    for folder in folders:
        folder.open()
    return folders
