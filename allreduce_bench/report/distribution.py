"""The calls of each cell, which a page shows to whoever asks for them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from ..evaluation.competing import competing
from ..evaluation.frames import CELL_OF_LAUNCH, read_calls, valid_calls
from ..evaluation.summary_row import SummaryRow
from ..runs.folder import RunFolder
from ..units import format_size, in_ranks
from .live_chart import cell_id

MOST_CALLS = 60_000  # in a page: about 400 KB
LEAST_KEPT = 9  # of a launch
DIGITS = 4  # of the microseconds of a call


def call_distributions(
    folder: RunFolder, rows: Iterable[SummaryRow], most: int = MOST_CALLS
) -> dict[str, dict[str, Any]]:
    """Return the calls of each cell of `rows` that has a time, by its `cell_id`.

    Each has its title, the microseconds of its calls by launch, and whether these are all. Excluded are warm-ups and
    invalid calls, and the runs of groups. Cells with more calls than `most` allows each are thinned evenly in ascending
    order, keeping the shortest and the longest. Raises RunError.
    """
    groups = folder.plan().groups
    titles = {
        _id(row): f"{row['competitor']}, {in_ranks([row['ranks']])}, {format_size(row['size_bytes'])}"
        for row in competing(rows)
        if row["time_s"] is not None and not groups
    }
    calls = _calls(folder, titles)
    launches = sum(len(of_cell) for of_cell in calls.values())
    share = max(LEAST_KEPT, most // max(1, launches))
    return {
        name: {
            "title": titles[name],
            "launches": {launch: _kept(times, share) for launch, times in of_cell.items()},
            "all": all(len(times) <= share for times in of_cell.values()),
        }
        for name, of_cell in calls.items()
    }


def _id(row: SummaryRow) -> str:
    return cell_id(row["ranks"], row["competitor"], row["size_bytes"])


def _calls(folder: RunFolder, titles: Mapping[str, str]) -> dict[str, dict[str, list[float]]]:
    """Return seconds by cell and launch."""
    found: dict[str, dict[str, list[float]]] = {}
    by_launch = valid_calls(read_calls(folder)).groupby(CELL_OF_LAUNCH, sort=False, observed=True)["time_s"]
    for key, times_s in by_launch:
        ranks, competitor, size_bytes, launch = cast("tuple[int, str, int, str]", key)
        if (name := cell_id(ranks, competitor, size_bytes)) in titles:
            found.setdefault(name, {})[launch] = times_s.tolist()
    return found


def _kept(times: Sequence[float], most: int) -> list[float]:
    """Return at most `most` of them, in their order, in microseconds."""
    places = range(len(times))
    if len(times) > most:
        ascending = sorted(places, key=times.__getitem__)
        places = sorted(ascending[round(i * (len(times) - 1) / (most - 1))] for i in range(most))  # type: ignore
    return [float(f"{times[place] * 1e6:.{DIGITS}g}") for place in places]
