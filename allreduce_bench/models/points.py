"""The points that models are fitted to: the median of one launch's calls of one cell, as a pandas frame."""

from collections.abc import Iterable, Iterator, Sequence

import pandas as pd

from ..evaluation.cell_times import CellCalls, by_cell
from ..evaluation.competitors import Way, competing
from ..evaluation.summary_row import SummaryRow
from ..runs.cell import MOCKUP
from ..runs.folder import RunFolder, key_of, run_names
from ..runs.schema import FLOOR, NO_ARRIVAL, NO_GROUPS
from ..stats import median

TYPES = {
    "run": "string",  # the name of the folder, see `run_names`
    "algorithm": "string",
    "executor": "string",
    "cache": "string",
    "dtype": "string",
    "op": "string",
    "segment": "Int64",  # elements
    "window": "Int64",  # messages posted ahead
    "ranks": "int64",
    "nodes": "Int64",
    "count": "Int64",  # elements
    "nbytes": "int64",
    "launch": "string",
    "calls": "Int64",  # timed and valid ones, without warm-ups; of an imported mean those that it is made of
    "time_s": "float64",  # the median of these calls, above 0
    "oversubscribed": "boolean",  # some node had more ranks than cores
    "placement": "string",  # where vectors lie in memory; missing: not known
    "grade": "string",  # of these ranks in this run, where it was asked for (`grades`); missing: not known
}
POINTS = tuple(TYPES)
SAME = (
    *("algorithm", "executor", "cache", "dtype", "op", "segment", "window", "ranks", "nodes"),
    *("count", "nbytes", "launch"),
)


def points(folders: Sequence[RunFolder], floors: bool = False) -> pd.DataFrame:
    """One row per launch and cell that has a time: the columns of POINTS, typed as TYPES; what is missing is NA.

    `time_s` is what `summarise` has in `launch_medians`, and a cell without a time there has no point here: unfinished,
    wrong in some launch, no valid call, a median of 0. Neither have cells of --groups, which are no all-reduce over all
    ranks, of --arrival, of placements beside the first, or of mock-ups, nor, unless `floors` asks for them, floors.
    Raises RunError, where a file is damaged with its line.
    """
    named = zip(run_names(folders), folders)
    rows = [{"run": name, **point} for name, folder in named for point in _points_of(folder, floors)]
    return pd.DataFrame(rows, columns=list(POINTS)).astype(TYPES)


def points_of_summary(rows: Iterable[SummaryRow], attempts: Iterable[dict], run: str) -> pd.DataFrame:
    """The same of one run whose cells were read already: `rows` as `summarise` gives them, `attempts` of its folder.

    `calls` is missing, and each point has the `grade` of its row.
    """
    is_oversubscribed = {fact["launch"]: fact["oversubscribed"] for fact in attempts}
    timed = [row for row in competing(rows) if row["time_s"] is not None and row["groups"] == NO_GROUPS]
    records = [
        {"run": run, **row, "launch": launch, "time_s": time_s, "oversubscribed": is_oversubscribed[launch]}
        for row in timed
        for launch, time_s in row["launch_medians"].items()
    ]
    cells = [{name: None if point.get(name) == "" else point.get(name) for name in POINTS} for point in records]
    return pd.DataFrame(cells, columns=list(POINTS)).astype(TYPES)


def _points_of(folder: RunFolder, floors: bool) -> Iterator[dict]:
    wrong_cells = {(int(row["ranks"]), key_of(row)) for row in folder.marks() if row["state"] in ("wrong", "refused")}
    is_oversubscribed = {fact["launch"]: fact["oversubscribed"] for fact in folder.attempts()}
    judged = Way(NO_ARRIVAL, folder.plan().placement[0])
    for cell, launches in by_cell(folder).items():
        cell_points = [_point(calls) for calls in launches.values() if calls.time_s]
        first = next(iter(launches.values())).cell
        way = Way(first["arrival"], first["placement"])
        is_usual = first["groups"] == NO_GROUPS and way == judged and cell not in wrong_cells
        is_wanted = is_usual and first["executor"] != MOCKUP and (floors or first["executor"] != FLOOR)
        if is_wanted and all(point["time_s"] > 0 for point in cell_points):
            yield from ({**point, "oversubscribed": is_oversubscribed[point["launch"]]} for point in cell_points)


def _point(calls: CellCalls) -> dict:
    """What the calls say of POINTS; what is missing is None."""
    cell_values = {name: calls.cell[name] or None for name in SAME}
    numbers = {name: value and int(value) for name, value in cell_values.items() if TYPES[name].lower() == "int64"}
    counted = "" not in calls.iterations
    count = sum(int(iterations) * number for iterations, number in calls.iterations.items()) if counted else None
    placement = calls.cell.get("placement") or None  # files of before lack it
    return {**cell_values, **numbers, "placement": placement, "calls": count, "time_s": median(calls.time_s)}
