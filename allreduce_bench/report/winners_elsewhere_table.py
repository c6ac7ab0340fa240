"""The winner table of arrival patterns: the completion of each algorithm, and which is least affected."""

from collections.abc import Sequence

from ..evaluation.cell_times import placement_of
from ..evaluation.summary_row import SummaryRow, placement_text
from ..evaluation.winners_elsewhere import (
    PatternLine,
    PatternTime,
    PlacedTime,
    PlacementLine,
    arrival_winners,
    placement_winners,
)
from ..runs.injected import NONE
from ..runs.schema import NUMPY, PAGE, UNCLEAR
from ..tables import UNBOUNDED, Screen, columns_of, fitted, wrapped
from ..units import format_size, format_time, in_ranks, three_digits
from .grid import MARK
from .verdict_sentence import printed_factor

ARRIVAL_LEGEND = (
    "completion (us), last exit - last entry, median over launches; x: its ratio to that of the same algorithm where "
    "nobody is delayed, below 1 where a part was done before the last rank entered"
)


def arrival_lines(rows: Sequence[SummaryRow], screen: Screen = UNBOUNDED) -> list[str]:
    """Return the table of rows of one number of ranks and cache, no line wider than the screen; none: nobody was
    delayed.
    """
    cells = arrival_rows(rows)
    if not cells:
        return []
    return [
        *wrapped([f"arrival patterns: {ARRIVAL_LEGEND}"], screen),
        "",
        *fitted(columns_of(cells, left=(1,)), screen),
        "",
    ]


def arrival_rows(rows: Sequence[SummaryRow]) -> list[list[str]]:
    """Return the words of the table, the header first; empty: nobody was delayed."""
    lines = arrival_winners(rows)
    if not lines:
        return []
    names = list(dict.fromkeys(time.algorithm for line in lines for time in line.times))
    head = ["size", "arrival", "late by", *names, "shortest", "least affected"]
    return [head, *(_arrival_words(line, names) for line in lines)]


def arrival_tables(rows: Sequence[SummaryRow]) -> list[tuple[str, list[list[str]]]]:
    """Return (title, words with the header first) of each number of ranks and cache."""
    keys = dict.fromkeys((row["ranks"], row["cache"]) for row in rows)
    tables = [
        (
            in_ranks([ranks]) + (", cold cache" if cache == "cold" else ""),
            arrival_rows([row for row in rows if (row["ranks"], row["cache"]) == (ranks, cache)]),
        )
        for ranks, cache in keys
    ]
    return [(title, words) for title, words in tables if words]


def _arrival_words(line: PatternLine, names: Sequence[str]) -> list[str]:
    time_of = {time.algorithm: time for time in line.times}
    late = format_time(line.late_by_s) if line.late_by_s else "-"
    least = (line.least or UNCLEAR) if line.arrival else "-"
    times = [_arrival_time_words(time_of.get(name)) for name in names]
    return [format_size(line.nbytes), line.arrival or NONE, late, *times, line.fastest or UNCLEAR, least]


def _arrival_time_words(time: PatternTime | None) -> str:
    """Return `512 x1.40`, with the mark of its standing."""
    if time is None:
        return "-"
    ratio = f" x{printed_factor((time.completion_s, time.usual_s)):.2f}" if time.usual_s else ""
    return f"{three_digits(time.completion_s * 1e6)}{ratio}{MARK.get(time.standing or '', '')}".rstrip()


# What another placement of the vectors changes, as a table and in sentences


PLACEMENT_LEGEND = (
    "time (us) where vectors lie in another way; x: its ratio to the time above, whose vectors lie so: {}"
)


def placement_lines(rows: Sequence[SummaryRow], screen: Screen = UNBOUNDED) -> list[str]:
    """Return the table of rows of one number of ranks and cache, no line wider than the screen; none: one placement
    only.
    """
    cells = placement_rows(rows)
    if not cells:
        return []
    return [
        *wrapped([f"placements: {PLACEMENT_LEGEND.format(placement_text(placement_of(rows[0])))}"], screen),
        "",
        *fitted(columns_of(cells, left=(1,)), screen),
        "",
    ]


def placement_rows(rows: Sequence[SummaryRow]) -> list[list[str]]:
    """Return the words of the table, the header first; empty: one placement only."""
    lines = placement_winners(rows)
    if not lines:
        return []
    known = {time.algorithm for line in lines for time in line.times}
    names = [name for name in dict.fromkeys(row["competitor"] for row in rows) if name in known]
    return [["size", "placement", *names, "fastest"], *(_placement_words(line, names) for line in lines)]


def placement_tables(rows: Sequence[SummaryRow]) -> list[tuple[str, list[list[str]]]]:
    """Return (title, words with the header first) of each number of ranks and cache."""
    keys = dict.fromkeys((row["ranks"], row["cache"]) for row in rows)
    tables = [
        (
            in_ranks([ranks]) + (", cold cache" if cache == "cold" else ""),
            placement_rows([row for row in rows if (row["ranks"], row["cache"]) == (ranks, cache)]),
        )
        for ranks, cache in keys
    ]
    return [(title, words) for title, words in tables if words]


def placement_sentences(rows: Sequence[SummaryRow]) -> list[str]:
    """For each further placement at which sizes the fastest algorithm is another one; rows of one table."""
    lines = placement_winners(rows)
    return [
        _sentence([line for line in lines if line.placement == placement])
        for placement in dict.fromkeys(line.placement for line in lines)
    ]


def _sentence(lines: Sequence[PlacementLine]) -> str:
    placement = lines[0].placement
    where = {NUMPY: "where numpy put vectors,", PAGE: "at pages,"}.get(placement, f"{placement_text(placement)},")
    others = [line for line in lines if line.judged and line.fastest and line.fastest != line.judged]
    lost = [line for line in lines if line.judged and not line.fastest]
    shown = sum(bool(line.judged) for line in lines)
    if others:
        named = "; ".join(f"{format_size(line.nbytes)}: {line.fastest} instead of {line.judged}" for line in others)
        return f"{where} another algorithm is the fastest: {named}"
    if not shown:
        return f"{where} the winners cannot be compared: no size shows one"
    if lost:
        sizes = ", ".join(format_size(line.nbytes) for line in lost)
        return f"{where} no other algorithm is shown to be the fastest; no winner is shown at {sizes}"
    return f"{where} the same algorithms are the fastest at all {shown} sizes that show one"


def _placement_words(line: PlacementLine, names: Sequence[str]) -> list[str]:
    time_of = {time.algorithm: time for time in line.times}
    times = [_placed_time_words(time_of.get(name)) for name in names]
    return [format_size(line.nbytes), placement_text(line.placement), *times, line.fastest or UNCLEAR]


def _placed_time_words(time: PlacedTime | None) -> str:
    """Return `105 x2.28`, with the mark of its standing."""
    if time is None:
        return "-"
    ratio = f" x{three_digits(printed_factor((time.time_s, time.usual_s)))}" if time.usual_s else ""
    return f"{three_digits(time.time_s * 1e6)}{ratio}{MARK.get(time.standing or '', '')}".rstrip()
