"""Doubts about the time of a cell: a doubted time is not ranked, cannot win and cannot violate a guideline."""

from collections import Counter
from collections.abc import Iterable, Sequence

from .cell_times import split_values
from .competitors import by_size, ways_of
from .summary_row import SummaryRow, time_of

INVALID = "invalid calls"  # a rank was late in many calls, or its clock was wrong: the rest may be too fast
BELOW_FLOOR = "below a floor"  # too short to be true
OTHER_DEFINITION = "another definition"  # than most cells of its size: such times are not compared
DRIFT = "drift"  # there is no single time
DEFINITIONS = "several definitions"  # its launches were timed in different ways
STATES = "two states"  # its launches are of two kinds: their median represents neither
DOUBTS = (BELOW_FLOOR, STATES, INVALID, DEFINITIONS, DRIFT, OTHER_DEFINITION)  # the gravest first

MUCH_INVALID = 0.1  # of the calls of a cell
STRONG_DRIFT = 1.5  # of the last calls of a launch over the first
COPIES_FROM = 64 * 1024  # bytes: below, a call costs more than the copy in it


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
    """The reference times that every all-reduce must exceed (an empty call and, between ranks, a copy of the vector)
    and that this one does not exceed: column -> seconds.
    """
    floors = {"call_floor_s": row.get("call_floor_s")}
    if row["ranks"] > 1 and row["nbytes"] >= COPIES_FROM:
        floors["copy_floor_s"] = row.get("copy_floor_s")
    return {name: floor_s for name, floor_s in floors.items() if floor_s and time_of(row) < floor_s}


def _usual_definition(rows: Iterable[SummaryRow]) -> str | None:
    """The definition of most rows; in a tie, that of the lowest time."""
    by_time = sorted(rows, key=time_of)
    counts = Counter(row["time_definition"] for row in by_time).most_common(1)
    return counts[0][0] if counts else None


def drifts(row: SummaryRow, much: float) -> bool:
    """Whether a launch drifts by the factor `much`, and by more than the interval of the cell's time covers."""
    much = max(much, row["time_high_s"] / row["time_low_s"])
    return row["drift"] is not None and not 1 / much <= row["drift"] <= much
