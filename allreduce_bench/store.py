"""Runs as tidy pandas frames: one row a timed call, or one row a cell. What is missing stays missing."""

from collections.abc import Iterable, Sequence

import pandas as pd

from .runfolder import RunFolder
from .schema import KINDS, REPETITIONS, SUMMARY, Column, names
from .summary import Summary, summarise


def repetitions(folders: Sequence[RunFolder]) -> pd.DataFrame:
    """Every timed call of every finished cell, warm-ups included: the columns of REPETITIONS after `run`.

    `run` is the name of the folder (see `run_names`). Times are float64 in seconds, flags boolean, the other numbers
    Int64, the rest string; what is missing is NA. Raises RunError.
    """
    frames = [_frame(folder.repetitions(), REPETITIONS, name) for name, folder in zip(run_names(folders), folders)]
    return pd.concat(frames, ignore_index=True)


def summary(folders: Sequence[RunFolder]) -> pd.DataFrame:
    """One row per planned cell, measured or not: the columns of SUMMARY after `run`, typed as in `repetitions`.

    Raises RunError.
    """
    named = zip(run_names(folders), folders)
    return pd.concat([summary_frame(summarise(folder), name) for name, folder in named], ignore_index=True)


def summary_frame(rows: Iterable[Summary], run: str) -> pd.DataFrame:
    """The rows that `summarise` gave for one run, as `summary` returns them."""
    return _frame(rows, SUMMARY, run)


def run_names(folders: Sequence[RunFolder]) -> list[str]:
    """A name for each folder that tells it from the others: its own, or its path where two are called the same."""
    paths = [folder.path.resolve() for folder in folders]
    own = [path.name for path in paths]
    return [str(path) if own.count(path.name) > 1 else path.name for path in paths]


def _frame(rows: Iterable[dict], columns: tuple[Column, ...], run: str) -> pd.DataFrame:
    """Only `columns` of `rows`, typed, after the column `run`."""
    table = list(rows)
    data = {"run": pd.Series([run] * len(table), dtype="string")}
    for name in names(columns):
        data[name] = _typed(name, [row.get(name) for row in table])
    return pd.DataFrame(data)


def _typed(name: str, values: list) -> pd.Series:
    """`values`, as text or as numbers, in the type of the column `name`; empty text and None are missing."""
    known, kind = pd.Series([None if value == "" else value for value in values], dtype=object), KINDS[name]
    if kind == "text":
        return known.astype("string")
    numbers = pd.to_numeric(known)
    if kind == "real":
        return numbers.astype("float64")
    return numbers.astype("Int64").astype("boolean") if kind == "flag" else numbers.astype("Int64")
