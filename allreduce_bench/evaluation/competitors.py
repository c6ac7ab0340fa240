"""Which rows compete with each other, and which times are doubted.

Rows compete that were called in one way, at one size (`by_size`) of one table (`tables`: one number of ranks and
cache). A doubted time is not ranked, cannot win and cannot violate a guideline.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..runs.cell import executor_of
from ..runs.schema import ALONE, NO_ARRIVAL, UNKNOWN_PLACEMENT
from .cell_times import split_values
from .summary_row import SummaryRow, competitor_of, time_of

# doubts
INVALID = "invalid calls"  # a rank was late in many calls, or its clock was wrong: the rest may be too fast
BELOW_FLOOR = "below a floor"  # too short to be true
OTHER_DEFINITION = "another definition"  # than most cells of its size: such times are not compared
DRIFT = "drift"  # there is no single time
DEFINITIONS = "several definitions"  # its launches were timed in different ways
STATES = "two states"  # its launches are of two kinds: their median represents neither
DOUBTS = (BELOW_FLOOR, STATES, INVALID, DEFINITIONS, DRIFT, OTHER_DEFINITION)  # the gravest first

# where doubts begin
MUCH_INVALID = 0.1  # of the calls of a cell
STRONG_DRIFT = 1.5  # of the last calls of a launch over the first
COPIES_FROM = 64 * 1024  # bytes: below, a call costs more than the copy in it


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
    return [row for row in _together(rows, arrival, placement) if not executor_of(row).is_mockup]


def mockups(rows: Iterable[SummaryRow]) -> list[SummaryRow]:
    """The rows of mock-ups that are measured as those that compete without delays are."""
    return [row for row in _together(rows, NO_ARRIVAL) if executor_of(row).is_mockup]


def _together(rows: Iterable[SummaryRow], arrival: str, placement: str | None = None) -> list[SummaryRow]:
    """The rows of one way, mock-ups too, but no groups alone; `placement` as of `competing`."""
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


def add_doubts(rows: Sequence[SummaryRow]) -> None:
    """Set `doubt` of every row: one of DOUBTS; None: no doubt, or no time."""
    for row in rows:
        row["doubt"] = None if row["time_s"] is None else doubt_of(row)
    sizes = [rows_of_size for way in ways_of(rows) for rows_of_size in by_size(rows, *way).values()]
    for rows_of_size in sizes:
        rankable = [row for row in rows_of_size if row["doubt"] is None]
        usual = _usual_definition(rankable)
        for row in rankable:
            row["doubt"] = None if row["time_definition"] == usual else OTHER_DEFINITION


def doubt_of(row: SummaryRow) -> str | None:
    """The gravest doubt about a measured cell, among those that do not depend on other cells of its size."""
    holds = {
        BELOW_FLOOR: bool(passed_floors(row)),
        STATES: bool(row.get("launch_states")),
        INVALID: row["invalid"] > MUCH_INVALID * (row["invalid"] + row["repetitions"]),
        DEFINITIONS: len(split_values(row["time_definition"])) > 1,
        DRIFT: drifts(row, STRONG_DRIFT),
    }
    return next((doubt for doubt, is_held in holds.items() if is_held), None)


def passed_floors(row: SummaryRow) -> dict[str, float]:
    """The reference times that this all-reduce does not exceed, as every one must: column -> seconds.

    They are an empty call and, between ranks, a copy of the vector.
    """
    floors = {"call_floor_s": row.get("call_floor_s")}
    if row["ranks"] > 1 and row["nbytes"] >= COPIES_FROM:
        floors["copy_floor_s"] = row.get("copy_floor_s")
    return {name: floor_s for name, floor_s in floors.items() if floor_s and time_of(row) < floor_s}


def drifts(row: SummaryRow, much: float) -> bool:
    """Whether a launch drifts by the factor `much`, and by more than the interval of the cell's time covers."""
    much = max(much, row["time_high_s"] / row["time_low_s"])
    return row["drift"] is not None and not 1 / much <= row["drift"] <= much


def _usual_definition(rows: Iterable[SummaryRow]) -> str | None:
    """The definition of most rows; in a tie, that of the lowest time."""
    by_time = sorted(rows, key=time_of)
    counts = Counter(row["time_definition"] for row in by_time).most_common(1)
    return counts[0][0] if counts else None
