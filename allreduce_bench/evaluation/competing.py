"""Rows that compete with each other: at one size (`by_size`) of one table (`tables`: one number of ranks)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ..runs.competitor import FORCED_DEFAULT, Competitor
from .summary_row import SummaryRow


def competing(rows: Iterable[SummaryRow]) -> list[SummaryRow]:
    """Return the rows except references: those of mock-ups, and native:default."""
    return [row for row in rows if not Competitor(row["competitor"]).is_mockup and row["competitor"] != FORCED_DEFAULT]


def mockups(rows: Iterable[SummaryRow]) -> list[SummaryRow]:
    """Return the rows of mock-ups."""
    return [row for row in rows if Competitor(row["competitor"]).is_mockup]


def defaults(rows: Iterable[SummaryRow]) -> list[SummaryRow]:
    """Return the rows of native:default."""
    return [row for row in rows if row["competitor"] == FORCED_DEFAULT]


def competitor_names(rows: Iterable[SummaryRow], order: Sequence[str]) -> list[str]:
    """Return the names of those that compete, in an order of competitors."""
    return sorted({row["competitor"] for row in competing(rows)}, key=order.index)


def by_size(rows: Iterable[SummaryRow]) -> dict[tuple[int, int], list[SummaryRow]]:
    """Return the measured rows that compete, by (ranks, size_bytes)."""
    rows_by_size = defaultdict(list)
    for row in competing(rows):
        if row["time_s"] is not None:
            rows_by_size[row["ranks"], row["size_bytes"]].append(row)
    return dict(rows_by_size)


def tables(rows: Iterable[SummaryRow]) -> dict[int, dict[int, list[SummaryRow]]]:
    """Return the same by table: ranks -> size_bytes, ascending -> rows."""
    sizes_of_table: dict[int, dict[int, list[SummaryRow]]] = {}
    for (ranks, size_bytes), rows_of_size in sorted(by_size(rows).items(), key=lambda item: item[0][1]):
        sizes_of_table.setdefault(ranks, {})[size_bytes] = rows_of_size
    return sizes_of_table
