"""Stdout as a terminal: its width, its colours, and output that fits it."""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from ..runs.folder import RunFolder
from ..runs.plan import Plan
from ..tables import Screen, wrapped

if TYPE_CHECKING:
    from ..evaluation.summary_row import SummaryRow


PIPED = 80  # columns of what goes into a pipe or a file


def screen() -> Screen:
    """Return the screen: width of COLUMNS, else of the terminal, else PIPED; colours on a terminal.

    No colours with NO_COLOR (https://no-color.org) and TERM=dumb.
    """
    width, columns = _terminal_width(), os.environ.get("COLUMNS", "")
    colour = width is not None and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Screen(int(columns) if columns.isdecimal() and int(columns) else width or PIPED, colour)


def _terminal_width() -> int | None:
    """Return the width; None: no terminal, or one without a width, which Open MPI gives to its ranks in any case."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except (OSError, ValueError):
        return None


def echo_wrapped(lines: Iterable[str]) -> None:
    """Print lines, wrapped to the screen."""
    for line in wrapped(lines, screen()):
        click.echo(line)


def echo_result(
    folder: RunFolder,
    rows: "Sequence[SummaryRow]",
    layout: str,
    plan: Plan | None = None,
    every_note: bool = False,
) -> None:
    """Print these rows of a run in one of the FORMATS; the table fits the screen, and has `every_note` on request.

    `plan` is a part of the run's, of which alone the rows are; None: they are of all.
    """
    from ..report.formats import FORMATS, Result, closing_table  # late: only at the end of a command

    result = Result.of(folder, rows)
    result = result._replace(plan=plan) if plan else result
    is_table = layout == "table"
    click.echo(closing_table(result, screen(), every_note) if is_table else FORMATS[layout](result), nl=False)
