"""The timed calls of one cell, launch by launch, and their statistics. Standard library only.

Every number is made within a launch first; a cell has the median over its launches, unless said otherwise.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import compress
from statistics import fmean
from typing import Literal

from ..runs.folder import CellKey, RunFolder, key_of
from ..runs.groups import parse_group_times
from ..runs.rows import Block, Row
from ..runs.schema import QUANTILES
from ..stats import LEAST_FOR_INTERVAL, drift, hull, lag1, launch_interval, median, median_interval, outliers, quantile
from .summary_row import SummaryRow

MIN_LAUNCHES = 3  # for an interval over launches; with fewer, only the spread within launches is known
AND = " + "  # between values that differ from launch to launch
Other = Literal["osu_avg_s", "global_s", "completion_s", "arrival_skew_s"]
OTHERS: dict[Other, Callable[[Sequence[float]], float]] = {  # raw columns, and how a launch combines its calls
    "osu_avg_s": fmean,  # as osu_allreduce prints it
    "global_s": median,
    "completion_s": median,
    "arrival_skew_s": median,
}


def join_values(values: Iterable[str]) -> str:
    """Values that differ from launch to launch as one text: `barrier_max_local + round_time_max_local`."""
    return AND.join(values)


def split_values(text: str | None) -> list[str]:
    """The values that `join_values` joined; empty text gives none."""
    return text.split(AND) if text else []


@dataclass
class CellCalls:
    """The calls of one cell in one launch, as its files have them."""

    cell: Row  # the values of its first row that all rows share
    time_s: list[float] = field(default_factory=list)  # of the valid ones in order, without warm-ups
    first_s: float | None = None  # of the first call of all, a warm-up where there are any; None: it was not valid
    invalid: int = 0  # without warm-ups
    others: dict[Other, list[float]] = field(default_factory=lambda: {name: [] for name in OTHERS})
    iterations: Counter[str] = field(default_factory=Counter)  # of the valid ones, as written; empty: not known
    definitions: set[str] = field(default_factory=set)  # of time_s
    group_times_s: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))  # group -> its times

    def add(self, block: Block) -> None:
        """Count rows of REPETITIONS, all of this cell and launch."""
        if "0" in block["repetition"] and block["valid"][first := block["repetition"].index("0")] != "0":
            self.first_s = float(block["time_s"][first])
        counts = valid_calls(block)
        self.invalid += block["warmup"].count("0") - sum(counts)
        if any(block["group_times_s"]):
            groups = block["group_times_s"]
            counts = [counted and not (times and self._add_groups(times)) for counted, times in zip(counts, groups)]
        self.time_s += map(float, compress(block["time_s"], counts))
        self.iterations.update(compress(block["iterations"], counts))
        self.definitions |= set(compress(block["time_definition"], counts))
        for name, values in self.others.items():
            values += map(float, filter(None, compress(block[name], counts)))

    def _add_groups(self, text: str) -> bool:
        """Add the times of the groups; True if only a group other than the first one measured alone has a time."""
        times = [(number, time_s) for number, time_s in enumerate(parse_group_times(text)) if time_s is not None]
        for number, time_s in times:
            self.group_times_s[number].append(time_s)
        return times[0][0] > min(self.group_times_s)


def valid_calls(block: Block) -> list[bool]:
    """For every row of REPETITIONS, whether the call counts: not a warm-up, and valid."""
    return [warmup == "0" and valid != "0" for warmup, valid in zip(block["warmup"], block["valid"])]


def by_cell(folder: RunFolder) -> dict[tuple[int, CellKey], dict[str, CellCalls]]:
    """(ranks, key of the cell) -> launch -> its calls, for every finished cell. Raises RunError."""
    calls_by_cell: dict[tuple[int, CellKey], dict[str, CellCalls]] = defaultdict(dict)
    for block in folder.blocks():
        cell = {name: values[0] for name, values in block.items()}
        calls_by_cell[int(cell["ranks"]), key_of(cell)].setdefault(cell["launch"], CellCalls(cell)).add(block)
    return calls_by_cell


def floor_time_s(timed: dict[str, CellCalls], of_launch: Callable[[Sequence[float]], float] = median) -> float | None:
    """The minimum over launches of `of_launch` applied to their valid calls, seconds; None: no call.


    A disturbance can only make a reference time longer.
    """
    return min((of_launch(calls.time_s) for calls in timed.values() if calls.time_s), default=None)


def statistics(timed: dict[str, CellCalls]) -> SummaryRow:
    """The columns of SUMMARY that the calls of one cell give, `launch_medians` and `completion_medians`.

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
        "time_definition": join_values(sorted(set().union(*(calls.definitions for calls in launches.values())))),
        "launch_medians": medians,
        "completion_medians": {
            launch: median(calls.others["completion_s"])
            for launch, calls in launches.items()
            if calls.others["completion_s"]
        },
    }
    for name, of_launch in OTHERS.items():
        row[name] = known_median(of_launch(calls.others[name]) for calls in launches.values() if calls.others[name])
    return row


def _without_time(invalid: int, is_timed: bool) -> SummaryRow:
    """The columns of a cell without a time, with `invalid` invalid calls."""
    no_call = f"none of the {invalid} calls was valid" if invalid else "no call was timed"
    reason = "the clock resolution is too coarse" if is_timed else no_call
    return {"launches": 0, "invalid": invalid, "state": "left out", "reason": reason}


def _quantile_columns(launches: dict[str, CellCalls], medians: dict[str, float]) -> SummaryRow:
    """Quantiles of all calls together, each divided by the median of its launch and multiplied by the cell's time, so
    that launches with other medians or more calls do not distort them.
    """
    relative = [time_s / medians[launch] for launch, calls in launches.items() for time_s in calls.time_s]
    row: SummaryRow = {}
    for name, share in QUANTILES.items():
        value = quantile(relative, share)
        row[name] = None if value is None else value * median(medians.values())
    return row


def _interval_columns(launches: list[CellCalls], medians: list[float]) -> SummaryRow:
    """The interval of the cell's time, and its source; `stats.launch_confidence` says how sure that of launches is.

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
    """Statistics within launches: outliers, and the correlation between calls."""
    outlier_counts = [number for number in map(outliers, launches) if number is not None]
    return {
        "outliers": sum(outlier_counts) if outlier_counts else None,
        "lag1": known_median(map(lag1, launches)),
        "drift": known_median(map(drift, launches)),
    }


def known_median(values: Iterable[float | None]) -> float | None:
    """The median of the known values; None: there are none."""
    known = [value for value in values if value is not None]
    return median(known) if known else None
