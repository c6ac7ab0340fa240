"""A comparison for the eye: the table of a terminal, and GitHub-flavoured Markdown."""

import re
from collections.abc import Sequence

from ...units import aligned, three_digits
from .judgement import ComparedCell, Comparison
from .reading import ComparedRun

HEADER = ("cell", "baseline us", "new us", "ratio", "interval", "verdict", "")
TO_THE_LEFT = (0, 5, 6)
SPECIAL = re.compile(r"[\\`*<>|\[\]~]|(?<!\w)_|_(?!\w)")  # an underscore within a word is none for Markdown


def table(found: Comparison) -> str:
    """Aligned columns, one row a cell, with what a reader must know above and the count of verdicts below."""
    lines = aligned([HEADER, *(_fields(cell) for cell in found.cells)], left=TO_THE_LEFT)
    return "\n".join([*_head(found), "", *lines, "", *_tail(found)]) + "\n"


def markdown(found: Comparison) -> str:
    """The same as a table of GitHub-flavoured Markdown; the sentence comes first."""
    rule = [":--" if i in TO_THE_LEFT else "--:" for i in range(len(HEADER))]
    rows = [_row(HEADER), f"| {' | '.join(rule)} |", *(_row(_fields(cell)) for cell in found.cells)]
    points = [f"- {_escaped(line)}" for line in (*_head(found), *found.one_sided)]
    return "\n".join([f"**{_escaped(found.sentence)}**", "", *rows, "", *points]) + "\n"


def method(found: Comparison) -> str:
    """What the numbers are, in one line."""
    return (
        "ratio: new / baseline of launch medians; the intervals hold for all cells at once (95 %, Bonferroni); "
        f"threshold {found.threshold * 100:g} %"
    )


def _head(found: Comparison) -> list[str]:
    sides = [f"{label}: {_named(side)}" for label, side in (("baseline", found.baseline), ("new", found.new))]
    return [*sides, method(found), *found.notes]


def _tail(found: Comparison) -> list[str]:
    return [*found.one_sided, found.sentence]


def _named(side: Sequence[ComparedRun]) -> str:
    return side[0].name if len(side) == 1 else f"{len(side)} runs, {side[0].name} to {side[-1].name}"


def _fields(cell: ComparedCell) -> list[str]:
    times = ["-" if time_s is None else three_digits(time_s * 1e6) for time_s in (cell.baseline_s, cell.new_s)]
    found = cell.estimate
    interval = f"{found.low:.3f} to {found.high:.3f}" if found else "-"
    return [cell.name, *times, f"{cell.ratio:.3f}" if cell.ratio else "-", interval, cell.verdict, cell.reason]


def _row(fields: Sequence[str]) -> str:
    return f"| {' | '.join(map(_escaped, fields))} |"


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return SPECIAL.sub(lambda match: "\\" + match[0], " ".join(text.split()))
