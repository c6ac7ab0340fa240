"""Rows of a summary from the medians of launches alone, ranked; for those who ask what can be told of them."""

from collections.abc import Mapping, Sequence

from allreduce_bench.evaluation.cell_times import CellCalls, add_doubts, statistics
from allreduce_bench.evaluation.standings import add_standings
from allreduce_bench.evaluation.summary_row import SummaryRow
from allreduce_bench.units import busbw

CALLS = 20


def made_row(competitor: str, size_bytes: int, medians_s: Sequence[float], ranks: int = 2, **changed) -> SummaryRow:
    """The row of a cell whose launches `2r-1`, `2r-2`, … have these medians; `changed`: columns with other values."""
    timed = {
        f"{ranks}r-{number}": CellCalls({"time_definition": "barrier_max_local"}, [median_s] * CALLS)
        for number, median_s in enumerate(medians_s, start=1)
    }
    row: SummaryRow = {
        "competitor": competitor,
        "ranks": ranks,
        "size_bytes": size_bytes,
        "state": "done",
        **statistics(timed),
    }
    made = row | changed
    if made.get("time_s"):
        made.setdefault("busbw_bytes_per_s", busbw(size_bytes, made["time_s"], ranks))
    return made


def ranked_rows(medians_s: Mapping[tuple[str, int], Sequence[float]], **changed) -> list[SummaryRow]:
    """A row of each (competitor, size_bytes), ranked."""
    return rank([made_row(*cell, medians, **changed) for cell, medians in medians_s.items()])


def rank(rows: list[SummaryRow], grade: str = "good") -> list[SummaryRow]:
    """The rows, with doubts, a grade and standings."""
    add_doubts(rows)
    for row in rows:
        row["grade"] = grade
    add_standings(rows)
    return rows


def standings(rows: Sequence[SummaryRow]) -> dict[tuple[str, int], str | None]:
    """(competitor, size_bytes) -> standing."""
    return {(row["competitor"], row["size_bytes"]): row["standing"] for row in rows}
