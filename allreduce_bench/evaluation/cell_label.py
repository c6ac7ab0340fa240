"""The cell of a row, and the label of a cell beside its algorithm and its size."""

from ..runs.plan import Cell
from ..runs.schema import ALONE
from .summary_row import SummaryRow

UNUSUAL = ("cold", ALONE)


def qualifiers(cache: str, groups: str) -> list[str]:
    """The unusual ones of a cell's values of `cache` and `groups`: `cold`, `alone`, both or none."""
    return [value for value in (cache, groups) if value in UNUSUAL]


def cell_of(row: SummaryRow) -> Cell:
    """The cell that the row sums up."""
    same = row["algorithm"], row["executor"], row["count"], row["segment"], row["cache"], row["groups"]
    return Cell(*same, row.get("window"))
