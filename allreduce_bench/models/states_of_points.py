"""Which points belong to cells whose launches are in two states: a median of theirs is the time of neither."""

from collections import defaultdict

import pandas as pd

from ..evaluation.launch_states import CellOfSeries, Suspicion, find_states
from ..runs.schema import FLOOR
from ..stats import median

SERIES = ("algorithm", "executor", "cache", "dtype", "op", "segment", "ranks", "nodes")


def in_two_states(points: pd.DataFrame) -> pd.Series:
    """Bool, of each row of `points` (columns as in POINTS): whether the launches of its cell are in two states.

    The series of each run are judged together, as in its summary, and floors are none. No launches are told apart where
    there is no column `launch`. `points` has an index without duplicates.
    """
    found = pd.Series(False, index=points.index)
    if "launch" not in points:
        return found
    counted = points["time_s"].gt(0) & points["ranks"].notna() & points["nbytes"].notna() & points["executor"].ne(FLOOR)
    timed = points[counted.fillna(False).astype(bool)]
    for _, of_run in timed.groupby("run", sort=False, dropna=False):
        cells: dict[CellOfSeries, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        columns = of_run.reindex(columns=[*SERIES, "nbytes", "launch", "time_s"]).astype(object)
        keys: list[CellOfSeries] = []
        for *series, nbytes, launch, time_s in columns.where(columns.notna(), None).itertuples(index=False, name=None):
            keys.append((tuple(series), int(nbytes)))
            cells[keys[-1]][str(launch)].append(float(time_s))
        medians = {cell: {name: median(times) for name, times in of.items()} for cell, of in cells.items()}
        told = {cell for cell, states in find_states(medians).items() if not isinstance(states, Suspicion)}
        found |= pd.Series([key in told for key in keys], index=of_run.index).reindex(found.index, fill_value=False)
    return found
