"""The timed calls of one cell and their statistics; rows that compete, and times that are doubted.

Every number is made within a launch first; a cell has the median over its launches, unless said otherwise. Standard
library only.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import compress
from statistics import fmean
from typing import Literal

from ..medians import median_interval
from ..runs.competitor import FORCED_DEFAULT, Competitor
from ..runs.folder import CellKey, RunFolder, key_of
from ..runs.identified import NO
from ..runs.rows import Block, Row
from ..runs.schema import QUANTILES, join_values, split_values
from ..stats import LEAST_FOR_INTERVAL, drift, hull, lag1, launch_interval, median, outliers, quantile
from .summary_row import SummaryRow, time_of

MIN_LAUNCHES = 3  # for an interval over launches; with fewer, only the spread within launches is known
Other = Literal["osu_avg_s", "global_s", "completion_s", "arrival_skew_s"]
WRITTEN: tuple[Other, ...] = ("osu_avg_s", "global_s", "arrival_skew_s")  # completion_s is the difference of these two
OTHERS: dict[Other, Callable[[Sequence[float]], float]] = {  # raw columns, and how a launch combines its calls
    "osu_avg_s": fmean,  # as osu_allreduce prints it
    "global_s": median,
    "completion_s": median,
    "arrival_skew_s": median,
}


@dataclass
class CellCalls:
    """The calls of one cell in one launch, as its files have them."""

    cell: Row  # its mark
    time_s: list[float] = field(default_factory=list)  # of the valid ones in order, without warm-ups
    first_s: float | None = None  # of the first call of all, a warm-up where there are any; None: it was not valid
    invalid: int = 0  # without warm-ups
    others: dict[Other, list[float]] = field(default_factory=lambda: {name: [] for name in OTHERS})

    def add(self, block: Block) -> None:
        """Add rows of CALLS, all of this cell and launch."""
        if "0" in block["call"] and block["valid"][first := block["call"].index("0")] != "0":
            self.first_s = float(block["time_s"][first])
        counts = valid_calls(block)
        self.invalid += block["warmup"].count("0") - sum(counts)
        self.time_s += map(float, compress(block["time_s"], counts))
        for name in WRITTEN:
            self.others[name] += map(float, filter(None, compress(block[name], counts)))
        completions = zip(compress(block["global_s"], counts), compress(block["arrival_skew_s"], counts))
        self.others["completion_s"] += [float(end) - float(skew) for end, skew in completions if end and skew]


def valid_calls(block: Block) -> list[bool]:
    """Return for each row of CALLS whether the call counts: not a warm-up, and valid."""
    return [warmup == "0" and valid != "0" for warmup, valid in zip(block["warmup"], block["valid"])]


def by_cell(folder: RunFolder) -> dict[tuple[int, CellKey], dict[str, CellCalls]]:
    """Return (ranks, key of the cell) -> launch -> its calls, for every finished cell. Raises RunError."""
    calls_by_cell: dict[tuple[int, CellKey], dict[str, CellCalls]] = defaultdict(dict)
    for mark, blocks in folder.calls():
        calls = calls_by_cell[int(mark["ranks"]), key_of(mark)].setdefault(mark["launch"], CellCalls(mark))
        for block in blocks:
            calls.add(block)
    return calls_by_cell


def floor_time_s(timed: dict[str, CellCalls], of_launch: Callable[[Sequence[float]], float] = median) -> float | None:
    """Return the minimum over launches of `of_launch` applied to their valid calls, seconds; None: no call.

    A disturbance can only make a reference time longer.
    """
    return min((of_launch(calls.time_s) for calls in timed.values() if calls.time_s), default=None)


def statistics(timed: dict[str, CellCalls]) -> SummaryRow:
    """Return the columns of SUMMARY that come from the calls of a cell, and `launch_medians`.

    Without a valid call, or where half of a launch's calls took 0 s, there is no time: `state` is left out, with
    `reason`.
    """
    invalid = sum(calls.invalid for calls in timed.values())
    launches = {launch: calls for launch, calls in timed.items() if calls.time_s}
    medians = {launch: median(calls.time_s) for launch, calls in launches.items()}
    if not medians or min(medians.values()) <= 0:
        return _without_time(invalid, bool(medians))
    pooled = [time_s for calls in launches.values() for time_s in calls.time_s]
    row: SummaryRow = {
        "launches": len(medians),
        "invalid": invalid,
        "repetitions": len(pooled),
        "time_s": median(medians.values()),
        **_interval_columns(list(launches.values()), list(medians.values())),
        "min_s": min(pooled),
        "max_s": max(pooled),
        **_quantile_columns(launches, medians),
        **_dependence_columns([calls.time_s for calls in launches.values()]),
        "first_penalty": known_median(
            calls.first_s / medians[launch] for launch, calls in launches.items() if calls.first_s is not None
        ),
        "time_definition": join_values(
            sorted({part for calls in launches.values() for part in split_values(calls.cell["time_definition"])})
        ),
        "launch_medians": medians,
    }
    for name, of_launch in OTHERS.items():
        row[name] = known_median(of_launch(calls.others[name]) for calls in launches.values() if calls.others[name])
    return row


def _without_time(invalid: int, is_timed: bool) -> SummaryRow:
    """Return the columns of a cell without a time, with `invalid` invalid calls."""
    no_call = (
        f"none of the {invalid} calls was valid (a rank started late, or its clock ran backwards)"
        if invalid
        else "no call was timed"
    )
    reason = "the clock resolution is too coarse" if is_timed else no_call
    return {"launches": 0, "invalid": invalid, "state": "left out", "reason": reason}


def _quantile_columns(launches: dict[str, CellCalls], medians: dict[str, float]) -> SummaryRow:
    """Return quantiles of all calls, each divided by the median of its launch and multiplied by the cell's time.

    So launches with other medians or more calls do not distort them.
    """
    relative = [time_s / medians[launch] for launch, calls in launches.items() for time_s in calls.time_s]
    row: SummaryRow = {}
    for name, share in QUANTILES.items():
        value = quantile(relative, share)
        row[name] = None if value is None else value * median(medians.values())
    return row


def _interval_columns(launches: list[CellCalls], medians: list[float]) -> SummaryRow:
    """Return the interval of the cell's time, and its source; the coverage over launches is `stats.launch_confidence`.

    One or two launches do not show the spread between launches; the hull of their own intervals contains both medians.
    If one of them has too few calls for an interval, the result is their range, not an interval.
    """
    if len(medians) >= MIN_LAUNCHES:
        kind, (low, high) = "launches", launch_interval(medians)
    else:
        kind = "repetitions" if min(len(calls.time_s) for calls in launches) >= LEAST_FOR_INTERVAL else "range"
        low, high = hull([median_interval(calls.time_s) for calls in launches])
    return {
        "time_low_s": low,
        "time_high_s": high,
        "spread_low_s": min(medians) if len(medians) > 1 else low,
        "spread_high_s": max(medians) if len(medians) > 1 else high,
        "interval": kind,
    }


def _dependence_columns(launches: list[list[float]]) -> SummaryRow:
    """Return statistics within launches: outliers, and the correlation between calls."""
    outlier_counts = [number for number in map(outliers, launches) if number is not None]
    return {
        "outliers": sum(outlier_counts) if outlier_counts else None,
        "lag1": known_median(map(lag1, launches)),
        "drift": known_median(map(drift, launches)),
    }


def known_median(values: Iterable[float | None]) -> float | None:
    """Return the median of the known values; None: there are none."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


# Rows that compete with each other, and times that are doubted.
#
# Rows compete at one size (`by_size`) of one table (`tables`: one number of ranks). A doubted time is not
# ranked, and cannot win.


# doubts
INVALID = "invalid calls"  # a rank was often late, or its clock was wrong: the other calls may be too fast
BELOW_FLOOR = "below a floor"  # too short to be true
OTHER_DEFINITION = "another definition"  # than most cells of its size: such times are not compared
DRIFT = "drift"  # there is no single time
DEFINITIONS = "several definitions"  # its launches were timed in different ways
ANOTHER = "another algorithm"  # of the library ran than it was told to use
STATES = "two states"  # its launches are in two states: their median represents neither
REFERENCE = "default of forced launches"  # the library's own choice there, which competes untouched
OTHER_DEFAULT = "another default"  # than native: the library by its own choice took another time in its launches
DOUBTS = (ANOTHER, BELOW_FLOOR, STATES, INVALID, DEFINITIONS, DRIFT, OTHER_DEFINITION)  # the gravest first
APART = (ANOTHER, REFERENCE, OTHER_DEFAULT)  # not one of the contest: it may be shorter than all that are ranked

WORDS_OF = {  # doubt -> what people read, if different
    ANOTHER: "not the algorithm that was asked for",
    BELOW_FLOOR: "shorter than a reference time",
    STATES: "bimodal: two levels",
    INVALID: "invalid calls (a rank started late, or its clock ran backwards)",
}

# where doubts begin
MUCH_INVALID = 0.1  # of the calls of a cell
STRONG_DRIFT = 1.5  # of the last calls of a launch over the first
COPIES_FROM = 64 * 1024  # bytes: below, a call costs more than the copy in it


def doubt_words(doubt: str) -> str:
    """Return one of DOUBTS as people read it."""
    return WORDS_OF.get(doubt, doubt)


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


def add_doubts(rows: Sequence[SummaryRow]) -> None:
    """Set `doubt` of every row: one of DOUBTS; None: no doubt, or no time."""
    for row in rows:
        row["doubt"] = None if row["time_s"] is None else doubt_of(row)
    for rows_of_size in by_size(rows).values():
        rankable = [row for row in rows_of_size if row["doubt"] is None]
        usual = _usual_definition(rankable)
        for row in rankable:
            row["doubt"] = None if row["time_definition"] == usual else OTHER_DEFINITION


def doubt_of(row: SummaryRow) -> str | None:
    """Return the gravest doubt about a measured cell, among those that do not depend on other cells of its size."""
    ran = row.get("ran")
    holds = {
        ANOTHER: ran is not None and ran.asked == NO,
        BELOW_FLOOR: bool(passed_floors(row)),
        STATES: bool(row.get("launch_states")),
        INVALID: row["invalid"] > MUCH_INVALID * (row["invalid"] + row["repetitions"]),
        DEFINITIONS: len(split_values(row["time_definition"])) > 1,
        DRIFT: drifts(row, STRONG_DRIFT),
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


def drifts(row: SummaryRow, much: float) -> bool:
    """Return whether a launch drifts by the factor `much`, and by more than the interval of the cell's time covers."""
    much = max(much, row["time_high_s"] / row["time_low_s"])
    return row["drift"] is not None and not 1 / much <= row["drift"] <= much


def _usual_definition(rows: Iterable[SummaryRow]) -> str | None:
    """Return the time definition of most rows; in a tie, that of the lowest time."""
    by_time = sorted(rows, key=time_of)
    counts = Counter(row["time_definition"] for row in by_time).most_common(1)
    return counts[0][0] if counts else None
