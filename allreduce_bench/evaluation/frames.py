"""Runs as tidy pandas frames: one row per timed call, or one row per cell. Missing values stay missing."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from ..runs.folder import KEY, RunFolder, run_names
from ..runs.schema import CALLS, KINDS, STAMPS, SUMMARY, Column, names
from .stamps import stamps_of
from .summary import summarise
from .summary_row import SummaryRow


def repetitions(folders: Sequence[RunFolder]) -> pd.DataFrame:
    """Return every timed call of every finished cell, warm-ups included.

    The columns are `run`, the name of the folder (see `run_names`), `launch`, `attempt`, `ranks` and those of CALLS.
    Times are float64 in seconds, flags boolean, the other numbers Int64, the rest string; what is missing is NA. Raises
    RunError.
    """
    frames = [_calls_frame(folder, name) for name, folder in zip(run_names(folders), folders)]
    return pd.concat(frames, ignore_index=True)


def summary(folders: Sequence[RunFolder]) -> pd.DataFrame:
    """Return one row per planned cell, measured or not: the columns of SUMMARY after `run`, typed as in `repetitions`.

    Raises RunError.
    """
    named = zip(run_names(folders), folders)
    return pd.concat([summary_frame(summarise(folder), name) for name, folder in named], ignore_index=True)


def stamps(folders: Sequence[RunFolder]) -> pd.DataFrame:
    """Return one row per rank and call of the finished cells whose stamps were kept: see --record all.

    The columns after `run`: `launch`, `attempt`, those that tell a cell from the others of its launch, `ranks`,
    `call` as in the calls, `rank`, and `begin_s`, `ready_s`, `entry_s` and `exit_s`, seconds on the common
    clock of the launch; the first two are missing except with --compute. Raises RunError.
    """
    cell_columns, frames = ("launch", "attempt", *KEY, "ranks"), []
    time_columns = [f"{name}_s" for name in STAMPS]
    for run, folder in zip(run_names(folders), folders):
        for mark in folder.marks():
            if mark["state"] == "done" and mark["stamps"]:
                kept = stamps_of(folder, mark)
                call, rank = np.indices(kept.shape[1:])
                missing = np.full((len(STAMPS) - len(kept), *call.shape), np.nan)
                times = zip(time_columns, np.concatenate([missing, kept]))
                columns = {"call": call, "rank": rank, **dict(times)}
                frame = pd.DataFrame({name: values.ravel() for name, values in columns.items()})
                for position, name in enumerate(cell_columns):
                    frame.insert(
                        position, name, _typed_series(name, [mark[name]]).repeat(len(frame)).reset_index(drop=True)
                    )
                frame.insert(0, "run", run)
                frames.append(frame)
    empty = pd.DataFrame(columns=["run", *cell_columns, "call", "rank", *time_columns])
    return pd.concat(frames, ignore_index=True) if frames else empty


def summary_frame(rows: Iterable[SummaryRow], run: str) -> pd.DataFrame:
    """Return the rows that `summarise` returned for one run, as `summary` returns them."""
    return _typed_frame(rows, SUMMARY, run)


def _calls_frame(folder: RunFolder, run: str) -> pd.DataFrame:
    """Return `repetitions` of one run, column by column: a dictionary for each of a million calls would take 2 GiB."""
    every = ("launch", "attempt", "ranks", *names(CALLS))
    columns: dict[str, list[str]] = {name: [] for name in every}
    for mark, blocks in folder.calls():
        for block in blocks:
            rows = len(block["call"])
            for name in ("launch", "attempt", "ranks"):
                columns[name] += [mark[name]] * rows
            for name, values in block.items():
                all_equal = values.count(values[0]) == rows  # then kept once
                columns[name] += values[:1] * rows if all_equal else values
    runs = pd.Series([run] * len(columns["launch"]), dtype="string")
    return pd.DataFrame({"run": runs, **{name: _typed_series(name, columns.pop(name)) for name in every}})


def _typed_frame(rows: Iterable[Mapping[str, object]], columns: tuple[Column, ...], run: str) -> pd.DataFrame:
    """Return only `columns` of `rows`, typed, after the column `run`."""
    table = list(rows)
    data = {"run": pd.Series([run] * len(table), dtype="string")}
    for name in names(columns):
        data[name] = _typed_series(name, [row.get(name) for row in table])
    return pd.DataFrame(data)


def _typed_series(name: str, values: list) -> pd.Series:
    """Return `values`, as text or as numbers, in the type of the column `name`; empty text and None are missing."""
    present, kind = pd.Series([None if value == "" else value for value in values], dtype=object), KINDS[name]
    if kind == "text":
        return present.astype("string")
    numbers = pd.to_numeric(present)
    if kind == "real":
        return numbers.astype("float64")
    return numbers.astype("Int64").astype("boolean") if kind == "flag" else numbers.astype("Int64")
