"""`report`: the page of runs."""

import gc
from pathlib import Path

import click

from ..units import parse_width
from .kept_runs import open_runs, take_newest
from .sections import examples
from .types import PATH, OneLineError, errors_in_one_line, parsed, progress, tell_damages

COLUMN = "84mm"  # of a page with two, as many journals print it


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
    type=PATH,
    help="Report file [default: report.html in RUN; with several runs in the working folder].",
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
@errors_in_one_line
def report(runs, output, pictures, kind, width) -> None:
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
    from ..report.page import FigureFiles, Paper, write_report  # late: they load what draws
    from ..slurm.sweep import missing_of_run

    gc.freeze()
    gc.enable()
    tell_damages(folders)
    page = output or (folders[0].path if len(folders) == 1 else Path()) / "report.html"
    missing = list(map(missing_of_run, folders))
    files = FigureFiles(pictures, Paper(kind, width or parse_width(COLUMN)) if kind else None)
    click.echo(write_report(folders, page, missing, files, told))
