"""Points that models are fitted to: the median of one launch's calls of one cell, as a pandas frame.

Also which points of a series are usable (`usable_points`), whether they suffice for a model, and which belong to cells
whose launches are in two states: their median is the time of neither.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from ..evaluation.competing import competing
from ..evaluation.frames import CELL, medians_of, read_calls
from ..evaluation.launch_states import CellOfSeries, find_states
from ..evaluation.summary import summarise
from ..evaluation.summary_row import SummaryRow
from ..runs.competitor import FLOOR_PREFIX, FORCED_DEFAULT, Competitor
from ..runs.dtypes import DTYPES
from ..runs.folder import RunFolder, key_of, run_names
from ..runs.plan import Plan
from ..runs.schema import FINAL
from ..stats import median
from ..units import counted, format_ranges
from .anchor import Measured
from .model import LEAST_S

# Columns
TYPES = {
    "run": "string",  # name of the folder, see `run_names`
    "competitor": "string",
    "imported": "boolean",  # another program measured it
    "cache": "string",
    "dtype": "string",
    "op": "string",
    "segment": "Int64",  # elements
    "ranks": "int64",
    "nodes": "Int64",
    "size_bytes": "int64",
    "launch": "string",
    "calls": "Int64",  # timed and valid, without warm-ups; for an imported mean the calls behind it
    "time_s": "float64",  # median of these calls, above 0
    "oversubscribed": "boolean",  # some node had more ranks than cores
    "placement": "string",  # where vectors lie in memory; missing: not known
    "grade": "string",  # of these ranks in this run, if requested (`with_grades`); missing: unknown
}
POINTS = tuple(TYPES)
SERIES = (  # columns that identify a series, whose cells differ in size
    "competitor",
    "dtype",
    "op",
    "segment",
    "ranks",
    "nodes",
)


# Minimum requirements
PLAUSIBLE_S = (LEAST_S, 1e9)  # seconds of a call; others are implausible
FEWEST_CELLS = 3  # to fit two parameters
FEWEST_COUNTS = 2  # numbers of ranks
FEWEST_OF_ONE_SIZE = 3  # numbers of ranks, if there is one size only


class TooFewPoints(ValueError):
    """Error: a series has too few points; says what is lacking."""


def points(folders: Sequence[RunFolder], floors: bool = False) -> pd.DataFrame:
    """Return one row per launch and cell with a time: the columns of POINTS, typed as TYPES; missing values are NA.

    `time_s` is as in `launch_medians` of `summarise`, and a cell without a time there has no point here: unfinished,
    wrong in some launch, no valid call, a median of 0. Excluded are cells of --groups, which are no all-reduce over all
    ranks, of --arrival, mock-ups, and, unless `floors`, floors. Raises RunError with the line of a damaged file.
    """
    named = zip(run_names(folders), folders)
    of_runs = [_points_of(folder, floors).assign(run=name) for name, folder in named]
    return pd.concat(of_runs, ignore_index=True).reindex(columns=list(POINTS)).astype(TYPES)


def _points_of(folder: RunFolder, floors: bool) -> pd.DataFrame:
    """Return the points of one run, without its name."""
    plan, marks = folder.plan(), folder.marks()
    medians = medians_of(read_calls(folder), marks).reset_index()
    if plan.groups or plan.arrival:
        medians = medians[:0]
    wrong = {(int(row["ranks"]), *key_of(row)) for row in marks if row["state"] in FINAL}
    untimed = medians[medians["time_s"] <= 0]
    left_out = wrong | {(ranks, name, str(size_bytes)) for ranks, name, size_bytes in untimed[CELL].values}
    cells = zip(*(medians[name].tolist() for name in CELL))
    wanted = [
        _is_modelled(Competitor(name), floors) and (ranks, name, str(size_bytes)) not in left_out
        for ranks, name, size_bytes in cells
    ]
    of_run = {**_conditions(plan), "imported": folder.imported() is not None}
    is_oversubscribed = {fact["launch"]: fact["oversubscribed"] for fact in folder.attempts()}
    points = medians[np.array(wanted, dtype=bool) & (medians["calls"] > 0)]
    oversubscribed = points["launch"].map(is_oversubscribed)
    calls = points["calls"] * points["iterations"]  # of an imported mean the calls behind it
    return points.assign(**of_run, calls=calls, oversubscribed=oversubscribed)


def _is_modelled(competitor: Competitor, floors: bool) -> bool:
    is_usual = competitor != FORCED_DEFAULT and not competitor.is_mockup
    return is_usual and (floors or not competitor.is_reference)


def _conditions(plan: Plan) -> dict[str, str | None]:
    """Return the columns of POINTS that are conditions of the run."""
    return {
        "cache": plan.cache,
        "dtype": plan.dtype or None,
        "op": plan.op or None,
        "placement": plan.placement or None,
    }


def points_of_summary(plan: Plan, rows: Iterable[SummaryRow], attempts: Sequence[dict], run: str) -> pd.DataFrame:
    """Return the points of one run from its plan, `rows` of `summarise` and the `attempts` of its folder.

    `calls` is missing, and each point has the `grade` of its row.
    """
    is_oversubscribed = {fact["launch"]: fact["oversubscribed"] for fact in attempts}
    usual = [] if plan.groups or plan.arrival else competing(rows)
    timed = [row for row in usual if row["time_s"] is not None]
    of_run = {"run": run, "imported": any("source" in fact for fact in attempts), **_conditions(plan)}
    records = [
        {**of_run, **row, "launch": launch, "time_s": time_s, "oversubscribed": is_oversubscribed[launch]}
        for row in timed
        for launch, time_s in row["launch_medians"].items()
    ]
    cells = [{name: None if point.get(name) == "" else point.get(name) for name in POINTS} for point in records]
    return pd.DataFrame(cells, columns=list(POINTS)).astype(TYPES)


def with_grades(points: pd.DataFrame, folders: Sequence[RunFolder]) -> pd.DataFrame:
    """Return `points` (columns as in POINTS) of runs, with the `grade` of each number of ranks in its run."""
    grades = {
        (name, row["ranks"]): row["grade"]
        for name, folder in zip(run_names(folders), folders)
        for row in summarise(folder)
    }
    found = [grades.get((run, ranks)) for run, ranks in zip(points["run"], points["ranks"])]
    return points.assign(grade=pd.Series(found, index=points.index, dtype="string"))


def usable_points(points: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return the usable points, and notes about the others. Raises TooFewPoints if none is usable."""
    time_s, notes = float_column(points["time_s"]), []
    implausible = ~time_s.between(*PLAUSIBLE_S)
    if number := int(implausible.sum()):
        notes.append(f"{number} of {len(points)} points left out: their times are 0, negative or missing (or no time)")
    incomplete = float_column(points["ranks"]).isna() | float_column(points["size_bytes"]).isna()
    if number := int((incomplete & ~implausible).sum()):
        notes.append(f"{number} of {len(points)} points left out: their ranks or sizes are missing")
    complete = points[~implausible & ~incomplete]
    if complete.empty:
        raise TooFewPoints(": ".join(("no usable points", *notes[-1:])))
    usable = complete[(complete["ranks"] > 1) & (complete["size_bytes"] > 0)]
    if usable.empty:
        reason = "one rank sends no messages" if (complete["ranks"] <= 1).all() else "vectors of 0 bytes move nothing"
        raise TooFewPoints(f"{reason}: measure 2 ranks or more, and sizes above 0")
    return usable, notes + _oversubscription(usable)


def _oversubscription(points: pd.DataFrame) -> list[str]:
    """Return a note about points with more ranks than cores, if any."""
    if "oversubscribed" not in points or not (crowded := points["oversubscribed"].fillna(False).astype(bool)).any():
        return []
    ranks = format_ranges(int(count) for count in points.loc[crowded, "ranks"])
    return [f"{ranks} ranks are oversubscribed: the times and their models reflect the OS scheduler"]


def refuse_too_little(cells: Measured) -> None:
    """Raise TooFewPoints with a sentence that says what is lacking and what to measure."""
    number, counts = len(cells.ranks), sorted(set(cells.ranks.tolist()))
    sizes = set(cells.size_bytes.tolist())
    if number == 1:
        raise TooFewPoints("one point is not enough for a fit: measure at least 2 rank counts with 3 sizes each")
    if len(counts) < FEWEST_COUNTS:
        raise TooFewPoints(
            f"one rank count ({counts[0]}) does not show how the time grows with the ranks: measure 2 or more"
        )
    if len(sizes) == 1 and len(counts) < FEWEST_OF_ONE_SIZE:
        raise TooFewPoints(
            f"one size ({sizes.pop()} bytes) at {len(counts)} numbers of ranks ({format_ranges(counts)}): alpha and "
            "beta cannot be separated; measure 3 sizes or more"
        )
    if number < FEWEST_CELLS:
        raise TooFewPoints(
            f"{counted(number, 'point')} cannot determine two parameters: measure {FEWEST_CELLS} or more"
        )
    if np.ptp(cells.time_s) == 0:
        raise TooFewPoints(
            f"all {number} times are equal ({cells.time_s[0]:.3g} s), whatever the ranks and sizes: they are not times "
            "of an all-reduce"
        )


def in_two_states(points: pd.DataFrame) -> pd.Series:
    """Return for each row of `points` (columns as in POINTS) whether its cell's launches are in two states: bool.

    The series of each run are judged together, as in its summary, without floors. All False if there is no column
    `launch`. `points` has an index without duplicates.
    """
    found = pd.Series(False, index=points.index)
    if "launch" not in points:
        return found
    is_floor = points["competitor"].str.startswith(FLOOR_PREFIX)
    counted = points["time_s"].gt(0) & points["ranks"].notna() & points["size_bytes"].notna() & ~is_floor
    timed = points[counted.fillna(False).astype(bool)]
    for _, of_run in timed.groupby("run", sort=False, dropna=False):
        cells: dict[CellOfSeries, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        columns = of_run.reindex(columns=[*SERIES, "size_bytes", "launch", "time_s"]).astype(object)
        keys: list[CellOfSeries] = []
        for *series, size_bytes, launch, time_s in columns.where(columns.notna(), None).itertuples(
            index=False, name=None
        ):
            keys.append((tuple(series), int(size_bytes)))
            cells[keys[-1]][str(launch)].append(float(time_s))
        medians = {cell: {name: median(times) for name, times in of.items()} for cell, of in cells.items()}
        told = {cell for cell, states in find_states(medians).items() if not states.apart}
        found |= pd.Series([key in told for key in keys], index=of_run.index).reindex(found.index, fill_value=False)
    return found


def float_column(column: pd.Series) -> pd.Series:
    """Return the numbers of a column as float64, NaN for others."""
    return pd.Series(pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan), index=column.index)


def itemsize_of(points: pd.DataFrame) -> int:
    """Return the bytes of an element; 1 if unknown: then a vector has as many elements as bytes."""
    return DTYPES.get(str(points["dtype"].iloc[0]), 1)
