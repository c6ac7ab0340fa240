"""Which points of a series say something, and whether they are enough for a model."""

import numpy as np
import pandas as pd

from ..runs.dtypes import DTYPES
from ..units import format_ranges
from .observations import Observations

PLAUSIBLE_S = (1e-12, 1e9)  # what lies beyond is no time of a call
FEWEST_CELLS = 3  # two parameters need more
FEWEST_COUNTS = 2  # numbers of ranks
FEWEST_OF_ONE_SIZE = 3  # numbers of ranks, where there is one size


class TooFewPoints(ValueError):
    """What a series has too little of, in words."""


def usable_points(points: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The points that say something, and what was left out."""
    time_s, notes = float_column(points["time_s"]), []
    implausible = ~time_s.between(*PLAUSIBLE_S)
    if number := int(implausible.sum()):
        notes.append(f"{number} of {len(points)} points left out: their times are 0, negative or missing (or no time)")
    incomplete = float_column(points["ranks"]).isna() | float_column(points["nbytes"]).isna()
    if number := int((incomplete & ~implausible).sum()):
        notes.append(f"{number} of {len(points)} points left out: their ranks or sizes are missing")
    complete = points[~implausible & ~incomplete]
    if complete.empty:
        raise TooFewPoints(": ".join(("no usable points", *notes[-1:])))
    usable = complete[(complete["ranks"] > 1) & (complete["nbytes"] > 0)]
    if usable.empty:
        reason = "one rank sends no messages" if (complete["ranks"] <= 1).all() else "vectors of 0 bytes move nothing"
        raise TooFewPoints(f"{reason}: measure 2 ranks or more, and sizes above 0")
    return usable, notes + _oversubscription(usable)


def _oversubscription(points: pd.DataFrame) -> list[str]:
    """A sentence about the points of more ranks than cores, where there are such."""
    if "oversubscribed" not in points or not (crowded := points["oversubscribed"].fillna(False).astype(bool)).any():
        return []
    ranks = format_ranges(int(count) for count in points.loc[crowded, "ranks"])
    return [f"{ranks} ranks are oversubscribed: the times and their models reflect the OS scheduler"]


def float_column(column: pd.Series) -> pd.Series:
    """float64, NaN where there is none."""
    return pd.Series(pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan), index=column.index)


def itemsize_of(points: pd.DataFrame) -> int:
    """Bytes of an element; 1 where nothing says so: then a vector has as many elements as bytes."""
    if "count" in points:
        sizes = (float_column(points["nbytes"]) / float_column(points["count"])).replace(np.inf, np.nan).median()
        if sizes > 0:
            return max(1, round(float(sizes)))
    return DTYPES.get(str(points["dtype"].iloc[0]), 1)


def refuse_too_little(observed: Observations) -> None:
    """Raises TooFewPoints: the sentence says what is lacking and what to measure."""
    cells, counts, sizes = len(observed.ranks), observed.counts, set(observed.nbytes.tolist())
    if cells == 1:
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
    if cells < FEWEST_CELLS:
        raise TooFewPoints(f"{cells} points are not enough for two parameters: measure {FEWEST_CELLS} or more")
    if np.ptp(observed.log_time) == 0:
        raise TooFewPoints(
            f"all {cells} times are equal ({np.exp(observed.log_time[0]):.3g} s), whatever the ranks and sizes: "
            "they are not times of an all-reduce"
        )
