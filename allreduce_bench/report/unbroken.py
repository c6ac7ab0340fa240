"""Lines over size run only between sizes at which the same algorithm is at work: native may use several."""

from collections.abc import Mapping

import pandas as pd

from ..runs.competitor import NATIVE, NATIVES
from ..runs.identified import Identified

AT_WORK = "at_work"  # column: the algorithms of which native uses one, as far as is known; empty: unknown


def add_algorithms_at_work(frame: pd.DataFrame, identified: Mapping[int, Identified]) -> pd.DataFrame:
    """Return `frame` with the column AT_WORK; `identified`: ranks -> what the library ran there."""
    cells = zip(frame["competitor"], frame["size_bytes"], frame["ranks"])
    seen = [identified[p].at(NATIVE, n) if name in NATIVES and p in identified else None for name, n, p in cells]
    names = [frozenset(ran.names) if ran else frozenset() for ran in seen]
    return frame.assign(**{AT_WORK: pd.Series(names, index=frame.index, dtype=object)})


def find_breaks(line: pd.DataFrame) -> list[int]:
    """Return the positions in a line, ordered by size, before which another algorithm than after them is at work."""
    at_work = [*line[AT_WORK]] if AT_WORK in line else []
    pairs = enumerate(zip(at_work, at_work[1:]), start=1)
    return [place for place, (before, after) in pairs if before and after and before.isdisjoint(after)]


def is_broken(frame: pd.DataFrame) -> bool:
    """Return whether a line of native is broken."""
    native = frame[frame["competitor"].isin(NATIVES)].sort_values("size_bytes")
    return any(find_breaks(line) for _, line in native.groupby(["ranks", "competitor"], dropna=False))
