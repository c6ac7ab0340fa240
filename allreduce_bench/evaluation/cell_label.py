"""The cell of a row, and the label of a cell beside its algorithm and its size."""

from ..runs.plan import Cell
from ..runs.schema import ALONE, NO_ARRIVAL, PAGE, UNKNOWN_PLACEMENT
from .summary_row import SummaryRow

UNUSUAL = ("cold", ALONE)


def qualifiers(
    cache: str, groups: str, arrival: str | None = NO_ARRIVAL, placement: str | None = UNKNOWN_PLACEMENT
) -> list[str]:
    """The unusual ones of a cell's values of these columns: `cold`, `alone`, `one-late`, `numpy`, `16 bytes apart`."""
    where = placement_text(placement) if placement and placement != PAGE else ""
    return [word for word in (*(value for value in (cache, groups) if value in UNUSUAL), arrival, where) if word]


def placement_text(placement: str) -> str:
    """`page`, `numpy`, `16 bytes apart`, `unknown`."""
    return f"{placement} bytes apart" if placement.isdigit() else placement or "unknown"


def cell_of(row: SummaryRow) -> Cell:
    """The cell that the row sums up."""
    same = row["algorithm"], row["executor"], row["count"], row["segment"], row["cache"], row["groups"]
    return Cell(*same, row.get("window"), row.get("arrival") or NO_ARRIVAL, row.get("placement") or UNKNOWN_PLACEMENT)
