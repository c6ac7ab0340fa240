"""What another placement of the vectors changes: times, and which all-reduce is the fastest."""

from collections.abc import Sequence
from typing import NamedTuple

from .competitors import placement_of, tables
from .standing import FASTEST
from .summary_row import SummaryRow, competitor_of


class PlacedTime(NamedTuple):
    """The time of one algorithm where vectors lie in another way."""

    algorithm: str
    time_s: float
    standing: str | None  # among the algorithms of this placement, as in SUMMARY
    usual_s: (
        float | None
    )  # its time at the placement that is judged; None: it has none there, or one of both is doubted


class PlacementLine(NamedTuple):
    """The algorithms at one size and one further placement."""

    ranks: int
    cache: str
    nbytes: int
    placement: str
    times: tuple[PlacedTime, ...]
    judged: str  # the fastest at the placement that is judged; empty: none is shown to be
    fastest: str  # at this placement, likewise


def placement_winners(rows: Sequence[SummaryRow]) -> list[PlacementLine]:
    """A line for each number of ranks, cache, further placement and size, in this order; none where there is only one.

    `rows` are those of `summarise`.
    """
    names = list(dict.fromkeys(map(placement_of, rows)))
    if len(names) < 2:
        return []
    judged, *others = names
    usual = {key: sizes for key, sizes in tables(rows, placement=judged).items()}
    return [
        _line(placement, key, nbytes, of_size, usual.get(key, {}).get(nbytes, []))
        for placement in others
        for key, sizes in tables(rows, placement=placement).items()
        for nbytes, of_size in sizes.items()
    ]


def _line(
    placement: str, key: tuple[int, str], nbytes: int, rows: Sequence[SummaryRow], judged: Sequence[SummaryRow]
) -> PlacementLine:
    time_of = {competitor_of(row): row["time_s"] for row in judged if not row.get("doubt")}
    times = tuple(
        PlacedTime(name, row["time_s"] or 0.0, row.get("standing"), None if row.get("doubt") else time_of.get(name))
        for row in rows
        for name in [competitor_of(row)]
    )
    return PlacementLine(*key, nbytes, placement, times, _fastest(judged), _fastest(rows))


def _fastest(rows: Sequence[SummaryRow]) -> str:
    return next((competitor_of(row) for row in rows if row.get("standing") == FASTEST), "")
