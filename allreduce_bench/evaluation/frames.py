"""Times of a run as tidy pandas frames: calls -> medians -> cells, each made of the one before.

Every number is made within a launch first: `medians` has a row for each cell of each launch. A cell has the median over
its launches, unless its column in `schema.SUMMARY` says otherwise.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from io import BytesIO
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd

from ..medians import median_interval
from ..runs.folder import KEY, RunFolder, run_names
from ..runs.rows import Row, RunError
from ..runs.schema import CALLS, KINDS, QUANTILES, STAMPS, join_values, split_values
from ..stats import LEAST_FOR_INTERVAL, MIN_LAUNCHES, drift, hull, lag1, launch_interval, outliers, quantile
from .stamps import stamps_of
from .summary_row import SummaryRow

CELL = ["ranks", "competitor", "size_bytes"]
CELL_OF_LAUNCH = [*CELL, "launch"]
DTYPES: dict[str, Any] = {"text": "category", "whole": "Int64", "real": "float64", "flag": "boolean"}
# column of `medians` -> column of the calls, and how these are combined; osu_avg_s as osu_allreduce prints it
SUMS: dict[str, Any] = {
    "calls": ("time_s", "size"),
    "time_s": ("time_s", "median"),
    "min_s": ("time_s", "min"),
    "max_s": ("time_s", "max"),
    "osu_avg_s": ("osu_avg_s", "mean"),
    "global_s": ("global_s", "median"),
    "completion_s": ("completion_s", "median"),
    "arrival_skew_s": ("arrival_skew_s", "median"),
}
WITHIN = ("low_s", "high_s", "outliers", "lag1", "drift")
INTERVAL = ("time_low_s", "time_high_s", "spread_low_s", "spread_high_s", "interval")
OF_MARK: dict[str, Any] = {"segment": "Int64", "nodes": "Int64", "iterations": "Int64", "time_definition": "object"}
OF_CELL: dict[str, Any] = {  # column of `cells` -> column of `medians`, and how its launches are combined
    "launches": ("time_s", "size"),
    "repetitions": ("calls", "sum"),
    "time_s": ("time_s", "median"),
    "min_s": ("min_s", "min"),
    "max_s": ("max_s", "max"),
    **{name: (name, "median") for name in ("osu_avg_s", "global_s", "completion_s", "arrival_skew_s")},
    **{name: (name, "median") for name in ("lag1", "drift", "first_penalty")},
}


def read_calls(folder: RunFolder) -> pd.DataFrame:
    """Return a row for each timed call of every finished cell, warm-ups included: launch, attempt, ranks and CALLS.

    Times are float64 in seconds, flags boolean, the other numbers Int64, the rest categories; what is missing is NA.
    Raises RunError.
    """
    dtypes = {column.name: DTYPES[column.kind] for column in CALLS}
    as_read = {**dtypes, "competitor": "str"}  # categories of names such as 3 or true would become numbers
    frames = []
    for (launch, attempt, ranks), cells in groupby(folder.calls(), lambda cell: _place(cell[0])):
        content = BytesIO(b"".join(rows for _, rows in cells))
        try:
            calls = pd.read_csv(content, names=[*dtypes], dtype=as_read, keep_default_na=False, na_values=[""])
        except ValueError as error:
            raise RunError(f"{folder.launches}/{launch}.{attempt}.calls.csv: damaged: {error}") from error
        frames.append(calls.assign(launch=launch, attempt=attempt, ranks=ranks))
    place = {"launch": "category", "attempt": "Int64", "ranks": "Int64"}
    calls = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=[*place, *dtypes])
    return calls[[*place, *dtypes]].astype({**place, **dtypes})


def _place(mark: Row) -> tuple[str, int, int]:
    return mark["launch"], int(mark["attempt"]), int(mark["ranks"])


def valid_calls(calls: pd.DataFrame) -> pd.DataFrame:
    """Return the calls that count: valid ones, without warm-ups."""
    return calls[~calls["warmup"] & calls["valid"]]


def medians_of(calls: pd.DataFrame, marks: Iterable[Row]) -> pd.DataFrame:
    """Return a row for each finished cell of a launch, indexed by CELL_OF_LAUNCH.

    `calls` come from `read_calls`, `marks` from `RunFolder.marks`. Columns: OF_MARK; SUMS, of the calls that
    count, of which `calls` is the number; `low_s` and `high_s`, the interval of `time_s`; `outliers`, `lag1`, `drift`;
    `first_penalty`, the first call of all, a warm-up where there are any, over `time_s`; `invalid`, the calls that are.
    """
    counted = valid_calls(calls).assign(completion_s=lambda valid: valid["global_s"] - valid["arrival_skew_s"])
    by_launch = counted.groupby(CELL_OF_LAUNCH, sort=False, observed=True)
    within = {cell: _within_launch(times_s.tolist()) for cell, times_s in by_launch["time_s"]}
    first_s = calls[(calls["call"] == 0) & calls["valid"]].groupby(CELL_OF_LAUNCH, observed=True)["time_s"].first()
    invalid = calls[~calls["warmup"] & ~calls["valid"]].groupby(CELL_OF_LAUNCH, observed=True).size()
    medians = (
        _select_finished(marks)
        .join(by_launch.agg(**SUMS))
        .join(_frame(within, CELL_OF_LAUNCH, WITHIN).astype("float64"))
    )
    medians = medians.assign(first_penalty=first_s / medians["time_s"], invalid=invalid)
    return medians.fillna({"calls": 0, "invalid": 0}).astype({"calls": "int64", "invalid": "int64"})


def _select_finished(marks: Iterable[Row]) -> pd.DataFrame:
    """Return OF_MARK of the marks of finished cells, indexed by CELL_OF_LAUNCH."""
    columns = [*CELL_OF_LAUNCH, *OF_MARK]
    done = pd.DataFrame([[mark[name] or None for name in columns] for mark in marks if mark["state"] == "done"])
    done = done.set_axis(columns, axis=1) if len(done) else pd.DataFrame(columns=columns)
    kinds = {"ranks": "int64", "size_bytes": "int64", **OF_MARK}
    numbers = {name: pd.to_numeric(done[name]) for name in kinds if kinds[name] != "object"}
    return done.assign(**numbers).astype(kinds).set_index(CELL_OF_LAUNCH)


def _frame(rows: Mapping[Any, Sequence], index: list[str], columns: Sequence[str]) -> pd.DataFrame:
    """Return rows by the values of `index`."""
    keys = pd.MultiIndex.from_tuples(rows) if rows else pd.MultiIndex.from_arrays([[]] * len(index))
    return pd.DataFrame([*rows.values()], keys.set_names(index), [*columns])


def _within_launch(times_s: Sequence[float]) -> tuple[float | None, ...]:
    """Return WITHIN of the calls of a launch, in their order."""
    return (*median_interval(times_s), outliers(times_s), lag1(times_s), drift(times_s))


def cells_of(medians: pd.DataFrame, calls: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each cell that some launch finished, indexed by CELL; its columns are some of SUMMARY.

    A cell without a valid call, or of which half of a launch's calls took 0 s, has no time: `reason` says why.
    """
    by_cell = medians[medians["calls"] > 0].groupby(CELL, sort=False)
    timed = by_cell.agg(**OF_CELL).assign(outliers=by_cell["outliers"].sum(min_count=1))
    launches = by_cell[["time_s", "low_s", "high_s", "calls", "time_definition"]].agg(list)
    intervals = {row[0]: (*_interval(*row[1:5]), _join_definitions(row[5])) for row in launches.itertuples()}
    timed = timed.join(_frame(intervals, CELL, [*INTERVAL, "time_definition"])).join(
        _quantiles(calls).mul(timed["time_s"], axis="index")
    )
    every = medians.groupby(CELL, sort=False).agg(invalid=("invalid", "sum"))
    cells = every.join(timed[timed["spread_low_s"] > 0]).fillna({"launches": 0})
    why = [_why_untimed(cell in timed.index, invalid) for cell, invalid in every["invalid"].items()]
    return cells.assign(reason=pd.Series(why, cells.index).where(cells["time_s"].isna()))


def _why_untimed(is_timed: bool, invalid: int) -> str:
    if is_timed:
        return "the clock resolution is too coarse"
    if invalid:
        return f"none of the {invalid} calls was valid (a rank started late, or its clock ran backwards)"
    return "no call was timed"


def _interval(
    medians_s: Sequence[float], low_s: Sequence[float], high_s: Sequence[float], calls: Sequence[int]
) -> tuple[float | str, ...]:
    """Return INTERVAL, of the cell's time, and its source; the coverage over launches is `stats.launch_confidence`.

    One or two launches do not show the spread between launches; the hull of their own intervals contains both medians.
    If one of them has too few calls for an interval, the result is their range, not an interval.
    """
    if len(medians_s) >= MIN_LAUNCHES:
        kind, (lowest_s, highest_s) = "launches", launch_interval(medians_s)
    else:
        kind = "repetitions" if min(calls) >= LEAST_FOR_INTERVAL else "range"
        lowest_s, highest_s = hull([*zip(low_s, high_s)])
    spread_s = (min(medians_s), max(medians_s)) if len(medians_s) > 1 else (lowest_s, highest_s)
    return (lowest_s, highest_s, *spread_s, kind)


def _join_definitions(definitions: Iterable[str]) -> str:
    return join_values(sorted({part for text in definitions for part in split_values(text)}))


def _quantiles(calls: pd.DataFrame) -> pd.DataFrame:
    """Return QUANTILES of the calls of each cell, over the medians of their launches.

    So launches with other medians or more calls do not distort them.
    """
    counted = valid_calls(calls)
    medians_s = counted.groupby(CELL_OF_LAUNCH, observed=True)["time_s"].transform("median")
    ratios = counted.assign(ratio=counted["time_s"] / medians_s).groupby(CELL, observed=True)["ratio"]
    ascending = {cell: sorted(of_cell) for cell, of_cell in ratios}
    quantiles = {
        cell: [quantile(of_cell, share) for share in QUANTILES.values()] for cell, of_cell in ascending.items()
    }
    return _frame(quantiles, CELL, [*QUANTILES]).astype("float64")


def rows_of(cells: pd.DataFrame, medians: pd.DataFrame) -> dict[Hashable, SummaryRow]:
    """Return the columns of each cell, and the medians of its launches, by (ranks, competitor, size_bytes)."""
    rows: dict[Hashable, SummaryRow] = {}
    for cell, row in cells.to_dict("index").items():
        rows[cell] = {name: _plain(name, value) for name, value in row.items()}  # type: ignore
    for cell, times_s in medians.loc[medians["calls"] > 0, "time_s"].groupby(CELL, sort=False):
        if rows[cell].get("time_s") is not None:
            rows[cell]["launch_medians"] = dict(zip(times_s.index.get_level_values("launch"), times_s.tolist()))
    return rows


def _plain(name: str, value: object):
    """Return a value of a frame as Python has it; None: missing."""
    if pd.isna(value):  # type: ignore
        return None
    return int(value) if KINDS[name] == "whole" else value  # type: ignore


def stamps(folders: Sequence[RunFolder]) -> pd.DataFrame:
    """Return one row per rank and call of the finished cells whose stamps were kept: see --record all.

    The columns: `run`, the name of the folder (see `run_names`), `launch`, `attempt`, those of the cell, `ranks`,
    `call` as in the calls, `rank`, and `begin_s`, `ready_s`, `entry_s` and `exit_s`, seconds on the common clock of the
    launch; the first two are missing except with --compute. Raises RunError.
    """
    place, times = ("run", "launch", "attempt", *KEY, "ranks"), [f"{name}_s" for name in STAMPS]
    frames = [pd.DataFrame(columns=[*place, "call", "rank", *times])]
    for run, folder in zip(run_names(folders), folders):
        for mark in folder.marks():
            if mark["state"] == "done" and mark["stamps"]:
                kept = stamps_of(folder, mark)
                call, rank = np.indices(kept.shape[1:]).reshape(2, -1)
                missing = np.full((len(STAMPS) - len(kept), call.size), np.nan)
                of_cell = {"run": run, **{name: mark[name] for name in place[1:]}, "call": call, "rank": rank}
                of_times = zip(times, np.concatenate([missing, kept.reshape(len(kept), -1)]))
                frames.append(pd.DataFrame({**of_cell, **dict(of_times)}))
    whole = dict.fromkeys(("attempt", "size_bytes", "ranks"), "Int64")
    table = pd.concat(frames[1:] or frames, ignore_index=True)
    return table.astype({**dict.fromkeys(("run", "launch", "competitor"), "string"), **whole})
