"""A comparison as text: a table for the terminal, and GitHub-flavoured Markdown."""

import re
from collections.abc import Sequence

from ..runs.typed_json import printable
from ..tables import UNBOUNDED, Screen, columns_of, fitted, wrapped
from .compared_cell import ComparedCell
from .decision import ERROR_SHARE
from .judgement import Comparison
from .ratio import MISSED
from .reading import ComparedRun

HEADER = ("cell", "baseline us", "new us", "ratio", "interval", "verdict", "")
TO_THE_LEFT = (0, 5, 6)
TIMES, REASON = (1, 2), 6
STYLES = {"slower": "bad", "failed": "bad", "faster": "best", "undecided": "faint"}  # of a verdict
SPECIAL = re.compile(r"[\\`*<>|\[\]~]|(?<!\w)_|_(?!\w)")  # an underscore within a word is none for Markdown


def table(comparison: Comparison, screen: Screen = UNBOUNDED) -> str:
    """Aligned columns, one row per cell, with caveats above and the count of verdicts below."""
    rows = [HEADER, *(_cell_fields(cell) for cell in comparison.cells)]
    columns = columns_of(rows, left=TO_THE_LEFT, text=REASON, left_out=TIMES, styles=STYLES)
    above, below = (wrapped(map(printable, lines(comparison)), screen) for lines in (_lines_above, _lines_below))
    return "\n".join([*above, "", *fitted(columns, screen), "", *below]) + "\n"


def markdown(comparison: Comparison) -> str:
    """The same as a table of GitHub-flavoured Markdown; the sentence comes first."""
    rule = [":--" if i in TO_THE_LEFT else "--:" for i in range(len(HEADER))]
    rows = [
        _markdown_row(HEADER),
        f"| {' | '.join(rule)} |",
        *(_markdown_row(_cell_fields(cell)) for cell in comparison.cells),
    ]
    points = [f"- {_escaped(line)}" for line in (*_lines_above(comparison), *map(str, comparison.one_sided))]
    first, *others = map(_escaped, sentences(comparison))
    failure = [f"Fails: {_escaped(comparison.failure)}"] if comparison.failure else []
    return "\n\n".join([f"**{first}**", *others, *failure, "\n".join(rows), "\n".join(points)]) + "\n"


def method(comparison: Comparison) -> str:
    """The definitions of the numbers and verdicts, in one line."""
    threshold, own, together = (f"{share * 100:g} %" for share in (comparison.threshold, 1 - MISSED, 1 - ERROR_SHARE))
    parts = [f"times: median over launches{_of_runs(comparison)}", "ratio: new / baseline", f"threshold {threshold}"]
    if not comparison.is_only_observed:
        parts.append(f"interval: {own} for each cell (Student's t on logarithms of launch medians)")
        parts.append(f"verdicts: {together} for all cells together (Holm)")
    if comparison.observed:
        parts.append("verdicts in brackets: the ratio alone, of too few launches for an interval")
    return "; ".join(parts)


def _of_runs(comparison: Comparison) -> str:
    """What is said of the times of a side of several runs; empty: neither side has them."""
    several = max(len(comparison.baseline), len(comparison.new)) > 1
    return ", geometric mean of the runs of a side" if several else ""


def _lines_above(comparison: Comparison) -> list[str]:
    sides = [f"baseline: {_describe_side(comparison.baseline)}", f"new: {_describe_side(comparison.new)}"]
    return [*sides, method(comparison), *comparison.notes]


def _lines_below(comparison: Comparison) -> list[str]:
    return [*map(str, comparison.one_sided), *sentences(comparison)]


def sentences(comparison: Comparison) -> list[str]:
    """The result; what cells without an interval show, where there are others; and the warning, if there is one."""
    beside = f"without an interval: {comparison.observed}" if comparison.observed else ""
    return list(filter(None, [comparison.sentence, "" if comparison.is_only_observed else beside, comparison.warning]))


def _describe_side(side: Sequence[ComparedRun]) -> str:
    return side[0].name if len(side) == 1 else f"{len(side)} runs, {side[0].name} to {side[-1].name}"


def _cell_fields(cell: ComparedCell) -> list[str]:
    ratio = f"{cell.printed_ratio:.3f}" if cell.printed_ratio else "-"
    reason = "" if cell.observed else cell.reason  # a sentence says it of all of them
    return [printable(cell.name), *cell.times, ratio, cell.interval or "-", cell.shown_verdict, printable(reason)]


def _markdown_row(fields: Sequence[str]) -> str:
    return f"| {' | '.join(map(_escaped, fields))} |"


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return SPECIAL.sub(lambda match: "\\" + match[0], " ".join(printable(text).split()))
