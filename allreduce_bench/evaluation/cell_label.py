"""The cell of a row, and the label of a cell beside its algorithm and its size."""

from ..runs.plan import Cell
from ..runs.schema import ALONE, NO_ARRIVAL
from .summary_row import SummaryRow

UNUSUAL = ("cold", ALONE)


def qualifiers(cache: str, groups: str, arrival: str | None = NO_ARRIVAL) -> list[str]:
    """The unusual ones of a cell's values of `cache`, `groups` and `arrival`: `cold`, `alone`, `one-late`, or none."""
    return [*(value for value in (cache, groups) if value in UNUSUAL), *([arrival] if arrival else [])]


def cell_of(row: SummaryRow) -> Cell:
    """The cell that the row sums up."""
    same = row["algorithm"], row["executor"], row["count"], row["segment"], row["cache"], row["groups"]
    return Cell(*same, row.get("window"), row.get("arrival") or NO_ARRIVAL)
