"""The grades of what models were fitted to: a model is no better than the times behind it."""

from collections.abc import Iterable, Sequence

import pandas as pd

from ..evaluation.grade import GOOD, GRADES, NOT_RELIABLE, PROVISIONAL
from ..evaluation.summary import summarise
from ..runs.folder import RunFolder, run_names

UNKNOWN = "unknown"  # of logs of others, and of files from before grades were kept in them
LEVELS = (*GRADES, UNKNOWN)


def worst(grades: Iterable[str]) -> str:
    """The worst of them, of which an unknown one may be any but `good`; `unknown`: there is none."""
    found = set(grades)
    return next((level for level in (NOT_RELIABLE, PROVISIONAL, UNKNOWN, GOOD) if level in found), UNKNOWN)


def with_grades(points: pd.DataFrame, folders: Sequence[RunFolder]) -> pd.DataFrame:
    """`points` (columns as in POINTS) of runs, each with the `grade` of its number of ranks in its run."""
    grades = {
        (name, row["ranks"]): row["grade"]
        for name, folder in zip(run_names(folders), folders)
        for row in summarise(folder)
    }
    found = [grades.get((run, ranks)) for run, ranks in zip(points["run"], points["ranks"])]
    return points.assign(grade=pd.Series(found, index=points.index, dtype="string"))
