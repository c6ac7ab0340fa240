"""`report`: write a page about finished runs."""

from pathlib import Path

import click

from .sections import examples
from .show import or_newest
from .types import OneLineError, errors_in_one_line, own_files, tell_damages


@click.command(epilog=examples("report results/today", "report results/monday results/today -o both.html"))
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path), callback=or_newest)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Report file [default: report.html in RUN; with several runs in the working folder; report-2.html and so on "
    "if that file is a report of other runs].",
)
@click.option(
    "--ratios", type=click.Path(path_type=Path), help="History of make ratios: the page ends with a table of it."
)
@own_files
@errors_in_one_line
def report(runs, output, ratios, own) -> None:
    """Write one self-contained HTML page about RUNS, and its figures as PNG, SVG and CSV files beside it.

    RUNS is the newest one in results/ by default.
    """
    from ..report.page import default_page, write_report
    from ..report.ratio_table import ratio_lines, read_ratios
    from ..runs.folder import RunFolder
    from ..slurm.sweep import missing_of_run

    if output and output.suffix.lower() not in (".html", ".htm"):
        raise OneLineError("cli.expected_name_ends_html", output=output)
    folders = [RunFolder(path) for path in runs]
    for folder in folders:
        folder.open()  # the error names the run
    tell_damages(folders)
    lines = ratio_lines(read_ratios(ratios)) if ratios else ()
    page = output or default_page(folders)
    click.echo(write_report(folders, page, own, missing=list(map(missing_of_run, folders)), ratios=lines))
