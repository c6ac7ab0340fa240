"""Rows of a summary from the medians of launches alone, ranked; for those who ask what can be told of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from made_times import rows_of_times

from allreduce_bench.evaluation.doubts import find_doubts
from allreduce_bench.evaluation.standings import rank_rows
from allreduce_bench.evaluation.summary_row import SummaryRow, join_columns
from allreduce_bench.units import busbw

CALLS = 20


def made_row(competitor: str, size_bytes: int, medians_s: Sequence[float], ranks: int = 2, **changed) -> SummaryRow:
    """The row of a cell whose launches `2r-1`, `2r-2`, … have these medians; `changed`: columns with other values."""
    (row,) = made_rows({(competitor, size_bytes): medians_s}, ranks, changed)
    return row


def ranked_rows(medians_s: Mapping[tuple[str, int], Sequence[float]], **changed) -> list[SummaryRow]:
    """A row of each (competitor, size_bytes), ranked."""
    return rank(made_rows(medians_s, changed.pop("ranks", 2), changed))


def made_rows(
    medians_s: Mapping[tuple[str, int], Sequence[float]], ranks: int = 2, changed: Mapping[str, Any] = {}
) -> list[SummaryRow]:
    """A row of each (competitor, size_bytes): many at once take as long as one."""
    times_s = {
        (ranks, *cell): {f"{ranks}r-{number}": [median_s] * CALLS for number, median_s in enumerate(of_cell, start=1)}
        for cell, of_cell in medians_s.items()
    }
    made = []
    for (_, competitor, size_bytes), columns in rows_of_times(times_s).items():
        row: SummaryRow = {"competitor": competitor, "ranks": ranks, "size_bytes": size_bytes, "state": "done"}
        row = row | columns | changed  # type: ignore
        if row.get("time_s"):
            row.setdefault("busbw_bytes_per_s", busbw(size_bytes, row["time_s"], ranks))
        made.append(row)
    return made


def rank(rows: list[SummaryRow], grade: str = "good") -> list[SummaryRow]:
    """The rows, with doubts, a grade and standings."""
    graded = [row | {"grade": grade} for row in join_columns(rows, find_doubts(rows))]
    return join_columns(graded, rank_rows(graded))


def standings(rows: Sequence[SummaryRow]) -> dict[tuple[str, int], str | None]:
    """(competitor, size_bytes) -> standing."""
    return {(row["competitor"], row["size_bytes"]): row["standing"] for row in rows}
