"""Which rows compete with each other: those of one size, and the sizes of one table."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ..runs.cell import MOCKUP
from ..runs.schema import ALONE, NO_ARRIVAL
from .summary_row import SummaryRow, competitor_of


def arrivals_of(rows: Iterable[SummaryRow]) -> list[str]:
    """The arrival patterns of the rows, in their order; those with different ones do not compete."""
    return list(dict.fromkeys(row.get("arrival") or NO_ARRIVAL for row in rows))


def competing(rows: Iterable[SummaryRow], arrival: str = NO_ARRIVAL) -> list[SummaryRow]:
    """The rows of one arrival pattern, except references for others: those of one group alone, and of mock-ups."""
    return [row for row in _together(rows, arrival) if row.get("executor") != MOCKUP]


def mockups(rows: Iterable[SummaryRow]) -> list[SummaryRow]:
    """The rows of mock-ups that are measured as those that compete without delays are."""
    return [row for row in _together(rows, NO_ARRIVAL) if row.get("executor") == MOCKUP]


def _together(rows: Iterable[SummaryRow], arrival: str) -> list[SummaryRow]:
    return [row for row in rows if row["groups"] != ALONE and (row.get("arrival") or NO_ARRIVAL) == arrival]


def competitor_names(rows: Iterable[SummaryRow], algorithms: Sequence[str]) -> list[str]:
    """The names of those that compete, in the order of `algorithms`."""
    ordered = sorted(competing(rows), key=lambda row: algorithms.index(row["algorithm"]))
    return list(dict.fromkeys(map(competitor_of, ordered)))


def by_size(rows: Iterable[SummaryRow], arrival: str = NO_ARRIVAL) -> dict[tuple, list[SummaryRow]]:
    """The measured rows of each (ranks, nbytes, cache): those that can be compared, and compete."""
    rows_by_size = defaultdict(list)
    for row in competing(rows, arrival):
        if row["time_s"] is not None:
            rows_by_size[row["ranks"], row["nbytes"], row["cache"]].append(row)
    return dict(rows_by_size)


def tables(rows: Iterable[SummaryRow], arrival: str = NO_ARRIVAL) -> dict[tuple[int, str], dict[int, list[SummaryRow]]]:
    """The same as (ranks, cache) -> nbytes, ascending -> rows: the sizes of one number of ranks and cache."""
    sizes_of_table: dict[tuple[int, str], dict[int, list[SummaryRow]]] = {}
    for (ranks, nbytes, cache), rows_of_size in sorted(by_size(rows, arrival).items(), key=lambda item: item[0][1]):
        sizes_of_table.setdefault((ranks, cache), {})[nbytes] = rows_of_size
    return sizes_of_table
