"""Points that models are fitted to: the median of one launch's calls of one cell, as a pandas frame.

Also which points of a series are usable (`usable_points`), whether they suffice for a model, and which belong to cells
whose launches are in two states: their median is the time of neither.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from ..evaluation.competing import competing
from ..evaluation.launch_states import CellOfSeries, find_states
from ..evaluation.summary import summarise
from ..evaluation.summary_row import SummaryRow
from ..runs.conditions import conditions_text
from ..runs.dtypes import DTYPES
from ..runs.folder import RunFolder, run_names
from ..runs.plan import Plan
from ..units import counted, format_ranges
from .anchor import Measured
from .model import LEAST_S

# Columns
TYPES = {
    "run": "string",  # name of the folder, see `run_names`
    "competitor": "string",
    "imported": "boolean",  # another program measured it
    "conditions": "string",  # those of its run that are not the default, in words
    "dtype": "string",
    "op": "string",
    "segment": "Int64",  # elements
    "ranks": "int64",
    "nodes": "Int64",
    "size_bytes": "int64",
    "launch": "string",
    "time_s": "float64",  # median of the timed and valid calls, above 0
    "oversubscribed": "boolean",  # some node had more ranks than cores
    "placement": "string",  # where vectors lie in memory; missing: not known
    "grade": "string",  # of these ranks in this run, missing: unknown
}
POINTS = tuple(TYPES)
TOLD = ("dtype", "op", "segment", "placement")  # conditions that have columns of their own
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


def points(folders: Sequence[RunFolder]) -> pd.DataFrame:
    """Return one row per launch and cell with a time, without reference times: as `points_of_summary`.

    Raises RunError with the line of a damaged file.
    """
    frames = [
        points_of_summary(folder.plan(), summarise(folder), folder.attempts(), name)
        for name, folder in zip(run_names(folders), folders)
    ]
    return pd.concat(frames, ignore_index=True)


def points_of_summary(plan: Plan, rows: Iterable[SummaryRow], attempts: Sequence[dict], run: str) -> pd.DataFrame:
    """Return the points of one run from its plan, `rows` of `summarise` and the `attempts` of its folder.

    The columns are those of POINTS, typed as TYPES; missing values are NA. A cell without a time in the summary has no
    point: unfinished, wrong in some launch, no valid call, a median of 0. Excluded are cells of --groups, which are no
    all-reduce over all ranks, of --arrival, and mock-ups.
    """
    is_oversubscribed = {fact["launch"]: fact["oversubscribed"] for fact in attempts}
    of_run = {
        "run": run,
        "imported": any("source" in fact for fact in attempts),
        "conditions": conditions_text(plan, *TOLD),
        **{name: getattr(plan, name) for name in ("dtype", "op", "placement")},
    }
    records = [
        {**of_run, **row, "launch": launch, "time_s": time_s, "oversubscribed": is_oversubscribed[launch]}
        for row in ([] if plan.groups or plan.arrival else competing(rows))
        if row["time_s"] is not None
        for launch, time_s in row["launch_medians"].items()
    ]
    points = pd.DataFrame(records, columns=list(POINTS))
    return points.astype(object).where(points.notna() & (points != ""), None).astype(TYPES)


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

    The series of each run are judged together, as in its summary. All False if there is no column `launch`. `points`
    has an index without duplicates.
    """
    found = pd.Series(False, index=points.index)
    if "launch" not in points:
        return found
    counted = points["time_s"].gt(0) & points["ranks"].notna() & points["size_bytes"].notna()
    timed = points[counted.fillna(False).astype(bool)]
    names = ["run", *SERIES]
    series = timed.reindex(columns=names).groupby(names, sort=False, dropna=False).ngroup()
    keys = [series, timed["size_bytes"].astype(int)]
    medians = timed["time_s"].groupby([*keys, timed["launch"].astype("string").fillna("")]).median()
    cells: dict[CellOfSeries, dict[str, float]] = defaultdict(dict)
    for number, size_bytes, launch, time_s in medians.reset_index().itertuples(index=False, name=None):
        cells[number, size_bytes][launch] = time_s
    told = {cell for cell, states in find_states(cells).items() if not states.apart}
    found[timed.index] = np.array([cell in told for cell in zip(*keys)], dtype=bool)
    return found


def float_column(column: pd.Series) -> pd.Series:
    """Return the numbers of a column as float64, NaN for others."""
    return pd.Series(pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan), index=column.index)


def itemsize_of(points: pd.DataFrame) -> int:
    """Return the bytes of an element; 1 if unknown: then a vector has as many elements as bytes."""
    return DTYPES.get(str(points["dtype"].iloc[0]), 1)
