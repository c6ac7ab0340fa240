"""Which rows compete with each other: those of one size, and the sizes of one table."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..runs.cell import MOCKUP
from ..runs.schema import ALONE, NO_ARRIVAL, UNKNOWN_PLACEMENT
from .summary_row import SummaryRow, competitor_of


class Way(NamedTuple):
    """How all-reduces were called that compete with each other."""

    arrival: str
    placement: str


def ways_of(rows: Iterable[SummaryRow]) -> list[Way]:
    """The ways of the rows, in their order; those of different ways do not compete."""
    return list(dict.fromkeys(Way(row.get("arrival") or NO_ARRIVAL, placement_of(row)) for row in rows))


def placement_of(row: SummaryRow) -> str:
    """Where its vectors lay; empty: unknown."""
    return row.get("placement") or UNKNOWN_PLACEMENT


def arrivals_of(rows: Iterable[SummaryRow]) -> list[str]:
    """The arrival patterns of the rows, in their order; those with different ones do not compete."""
    return list(dict.fromkeys(row.get("arrival") or NO_ARRIVAL for row in rows))


def competing(rows: Iterable[SummaryRow], arrival: str = NO_ARRIVAL, placement: str | None = None) -> list[SummaryRow]:
    """The rows of one way, except references for others: those of one group alone, and of mock-ups.

    `placement`: where vectors lay; None: in the first of the rows, as `summarise` orders them what is judged.
    """
    return [row for row in _together(rows, arrival, placement) if row.get("executor") != MOCKUP]


def mockups(rows: Iterable[SummaryRow]) -> list[SummaryRow]:
    """The rows of mock-ups that are measured as those that compete without delays are."""
    return [row for row in _together(rows, NO_ARRIVAL) if row.get("executor") == MOCKUP]


def _together(rows: Iterable[SummaryRow], arrival: str, placement: str | None = None) -> list[SummaryRow]:
    every = list(rows)
    way = Way(arrival, placement_of(every[0]) if every and placement is None else placement or UNKNOWN_PLACEMENT)
    return [row for row in every if row["groups"] != ALONE and ways_of([row]) == [way]]


def competitor_names(rows: Iterable[SummaryRow], algorithms: Sequence[str]) -> list[str]:
    """The names of those that compete, in the order of `algorithms`."""
    ordered = sorted(competing(rows), key=lambda row: algorithms.index(row["algorithm"]))
    return list(dict.fromkeys(map(competitor_of, ordered)))


def by_size(
    rows: Iterable[SummaryRow], arrival: str = NO_ARRIVAL, placement: str | None = None
) -> dict[tuple, list[SummaryRow]]:
    """The measured rows of each (ranks, nbytes, cache): those that can be compared, and compete."""
    rows_by_size = defaultdict(list)
    for row in competing(rows, arrival, placement):
        if row["time_s"] is not None:
            rows_by_size[row["ranks"], row["nbytes"], row["cache"]].append(row)
    return dict(rows_by_size)


def tables(
    rows: Iterable[SummaryRow], arrival: str = NO_ARRIVAL, placement: str | None = None
) -> dict[tuple[int, str], dict[int, list[SummaryRow]]]:
    """The same as (ranks, cache) -> nbytes, ascending -> rows: the sizes of one number of ranks and cache."""
    sizes_of_table: dict[tuple[int, str], dict[int, list[SummaryRow]]] = {}
    for (ranks, nbytes, cache), rows_of_size in sorted(
        by_size(rows, arrival, placement).items(), key=lambda item: item[0][1]
    ):
        sizes_of_table.setdefault((ranks, cache), {})[nbytes] = rows_of_size
    return sizes_of_table
