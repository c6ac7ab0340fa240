"""What follows from when each rank entered and left each call. Pure: arrays in, arrays out; nothing here asks a clock.

`entry` and `exit` are float64 [call, rank] in seconds. Differences of one rank's stamps need no common clock; whatever
compares ranks does.
"""

from collections.abc import Sequence

import numpy as np


def durations(entry: np.ndarray, exit: np.ndarray) -> dict[str, np.ndarray]:
    """Of every call over its ranks' exit - entry: time_s, the maximum; shortest_s, the minimum; osu_avg_s, the mean;
    and slowest_rank, whose the maximum was.
    """
    spent = exit - entry
    return {
        "time_s": spent.max(axis=1),
        "slowest_rank": spent.argmax(axis=1),
        "shortest_s": spent.min(axis=1),
        "osu_avg_s": spent.mean(axis=1),
    }


def durations_of_groups(entry: np.ndarray, exit: np.ndarray, groups: Sequence[Sequence[int]]) -> np.ndarray:
    """Of every call the maximum of exit - entry over the ranks of each group, seconds: [call, group]."""
    spent = exit - entry
    return np.column_stack([spent[:, list(ranks)].max(axis=1) for ranks in groups])


def arrivals(entry: np.ndarray, exit: np.ndarray) -> dict[str, np.ndarray]:
    """Of every call, from stamps on a common clock: completion_s, last exit - last entry; arrival_skew_s, last entry -
    first entry; and last_rank, who entered last.
    """
    last = entry.max(axis=1)
    return {
        "completion_s": exit.max(axis=1) - last,
        "arrival_skew_s": last - entry.min(axis=1),
        "last_rank": entry.argmax(axis=1),
    }


def backwards(entry: np.ndarray, exit: np.ndarray) -> np.ndarray:
    """bool [call, rank]: whose clock ran backwards in the call or since the one before."""
    found = exit < entry
    found[1:] |= entry[1:] < exit[:-1]
    return found


def longest_mean(entry: np.ndarray, exit: np.ndarray) -> float | None:
    """The maximum over ranks of each rank's mean of exit - entry, seconds; None without any call."""
    return float((exit - entry).mean(axis=0).max()) if len(entry) else None
