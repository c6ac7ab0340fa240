"""Doubts about the time of a cell, in order of weight: a doubted time is not ranked, and cannot win."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ..runs.identified import NO
from ..runs.schema import split_values
from .competing import by_size, competing
from .summary_row import SummaryRow, join_columns, time_of

# doubts
INVALID = "invalid calls"  # a rank was often late, or its clock was wrong: the other calls may be too fast
BELOW_FLOOR = "below a floor"  # too short to be true
OTHER_DEFINITION = "another definition"  # than most cells of its size: such times are not compared
DRIFT = "drift"  # there is no single time
BARRIERS = "by barriers"  # short calls of launches that begin at a time: ranks leave a barrier further apart
DEFINITIONS = "several definitions"  # its launches were timed in different ways
ANOTHER = "another algorithm"  # of the library ran than it was told to use
STATES = "two states"  # its launches are in two states: their median represents neither
REFERENCE = "default of forced launches"  # the library's own choice there, which competes untouched
OTHER_DEFAULT = "another default"  # than native: the library by its own choice took another time in its launches
DOUBTS = (ANOTHER, BELOW_FLOOR, STATES, INVALID, BARRIERS, DEFINITIONS, DRIFT, OTHER_DEFINITION)  # the gravest first
APART = (ANOTHER, REFERENCE, OTHER_DEFAULT)  # not one of the contest: it may be shorter than all that are ranked

WORDS_OF = {  # doubt -> what people read, if different
    ANOTHER: "not the algorithm that was asked for",
    BELOW_FLOOR: "shorter than a reference time",
    STATES: "bimodal: two levels",
    INVALID: "invalid calls (a rank started late, or its clock ran backwards)",
    BARRIERS: "by barriers, since no call began on time",
    OTHER_DEFAULT: "the library's own choice takes another time in its launches than native",
}

# where doubts begin
MUCH_INVALID = 0.1  # of the calls of a cell
STRONG_DRIFT = 1.5  # of the last calls of a launch over the first
COPIES_FROM = 64 * 1024  # bytes: below, a call costs more than the copy in it
STARTS_TELL_BELOW = 64 * 1024  # bytes: how far apart ranks leave a barrier is up to 40 % of the time of 8 B


def doubt_words(doubt: str) -> str:
    """Return one of DOUBTS as people read it."""
    return WORDS_OF.get(doubt, doubt)


def find_doubts(rows: Sequence[SummaryRow]) -> list[SummaryRow]:
    """Return `doubt` of every row: one of DOUBTS; None: no doubt, or no time."""
    own: list[SummaryRow] = [{"doubt": None if row["time_s"] is None else doubt_of(row)} for row in rows]
    usual = {
        size: _usual_definition([row for row in of_size if not row["doubt"]])
        for size, of_size in by_size(join_columns(rows, own)).items()
    }
    return [{"doubt": doubted["doubt"] or _definition_doubt(row, usual)} for row, doubted in zip(rows, own)]


def _definition_doubt(row: SummaryRow, usual: Mapping[tuple[int, int], str | None]) -> str | None:
    """Return OTHER_DEFINITION of a row that competes by another definition than the usual one of its size."""
    if row["time_s"] is None or not competing([row]):
        return None
    return OTHER_DEFINITION if row["time_definition"] != usual[row["ranks"], row["size_bytes"]] else None


def doubt_of(row: SummaryRow) -> str | None:
    """Return the gravest doubt about a measured cell, among those that do not depend on other cells of its size."""
    ran = row.get("ran")
    holds = {
        ANOTHER: ran is not None and ran.asked == NO,
        BELOW_FLOOR: bool(passed_floors(row)),
        STATES: bool(row.get("launch_states")),
        INVALID: row["invalid"] > MUCH_INVALID * (row["invalid"] + row["repetitions"]),
        BARRIERS: row["size_bytes"] < STARTS_TELL_BELOW and bool(row.get("went_on_by_barriers")),
        DEFINITIONS: len(split_values(row["time_definition"])) > 1,
        DRIFT: _drifts(row),
    }
    return next((doubt for doubt, is_held in holds.items() if is_held), None)


def passed_floors(row: SummaryRow) -> dict[str, float]:
    """Return the reference times that this all-reduce should exceed but does not: column -> seconds.

    They are an empty call and, between ranks, a copy of the vector.
    """
    floors = {"call_floor_s": row.get("call_floor_s")}
    if row["ranks"] > 1 and row["size_bytes"] >= COPIES_FROM:
        floors["copy_floor_s"] = row.get("copy_floor_s")
    return {name: floor_s for name, floor_s in floors.items() if floor_s and time_of(row) < floor_s}


def _drifts(row: SummaryRow) -> bool:
    """Return whether a launch drifts by STRONG_DRIFT, and by more than the interval of the cell's time covers."""
    much = max(STRONG_DRIFT, row["time_high_s"] / row["time_low_s"])
    return row["drift"] is not None and not 1 / much <= row["drift"] <= much


def _usual_definition(rows: Iterable[SummaryRow]) -> str | None:
    """Return the time definition of most rows; in a tie, that of the lowest time."""
    by_time = sorted(rows, key=time_of)
    counts = Counter(row["time_definition"] for row in by_time).most_common(1)
    return counts[0][0] if counts else None
