"""The winner table of arrival patterns: the completion of each algorithm, and which is least affected."""

from collections.abc import Sequence

from ..evaluation.summary_row import SummaryRow
from ..evaluation.winners_elsewhere import PatternLine, PatternTime, arrival_winners
from ..runs.injected import NONE
from ..runs.schema import UNCLEAR
from ..tables import UNBOUNDED, Screen, columns_of, fitted, wrapped
from ..units import format_size, format_time, in_ranks, three_digits
from .grid import MARK
from .verdict_sentence import printed_factor

LEGEND = (
    "completion in us, last exit - last entry, median over launches; x: its ratio to that of the same algorithm where "
    "nobody is delayed, below 1 where a part was done before the last rank entered"
)


def arrival_lines(rows: Sequence[SummaryRow], screen: Screen = UNBOUNDED) -> list[str]:
    """The table of rows of one number of ranks and cache, no line wider than the screen; none: nobody was delayed."""
    cells = arrival_rows(rows)
    if not cells:
        return []
    return [*wrapped([f"arrival patterns: {LEGEND}"], screen), "", *fitted(columns_of(cells, left=(1,)), screen), ""]


def arrival_rows(rows: Sequence[SummaryRow]) -> list[list[str]]:
    """The words of the table, the header first; empty: nobody was delayed."""
    lines = arrival_winners(rows)
    if not lines:
        return []
    names = list(dict.fromkeys(time.algorithm for line in lines for time in line.times))
    head = ["size", "arrival", "late by", *names, "shortest", "least affected"]
    return [head, *(_words(line, names) for line in lines)]


def arrival_tables(rows: Sequence[SummaryRow]) -> list[tuple[str, list[list[str]]]]:
    """(title, words with the header first) of each number of ranks and cache."""
    keys = dict.fromkeys((row["ranks"], row["cache"]) for row in rows)
    tables = [
        (
            in_ranks([ranks]) + (", cold cache" if cache == "cold" else ""),
            arrival_rows([row for row in rows if (row["ranks"], row["cache"]) == (ranks, cache)]),
        )
        for ranks, cache in keys
    ]
    return [(title, words) for title, words in tables if words]


def _words(line: PatternLine, names: Sequence[str]) -> list[str]:
    time_of = {time.algorithm: time for time in line.times}
    late = format_time(line.late_by_s) if line.late_by_s else "-"
    least = (line.least or UNCLEAR) if line.arrival else "-"
    times = [_time_words(time_of.get(name)) for name in names]
    return [format_size(line.nbytes), line.arrival or NONE, late, *times, line.fastest or UNCLEAR, least]


def _time_words(time: PatternTime | None) -> str:
    """`512 x1.40`, with the mark of its standing."""
    if time is None:
        return "-"
    ratio = f" x{printed_factor((time.completion_s, time.usual_s)):.2f}" if time.usual_s else ""
    return f"{three_digits(time.completion_s * 1e6)}{ratio}{MARK.get(time.standing or '', '')}".rstrip()
