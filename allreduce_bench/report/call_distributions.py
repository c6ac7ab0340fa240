"""Every timed call of every cell, for readers who ask a page for the distribution of one."""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..evaluation.competitors import Way, competing
from ..evaluation.summary_row import SummaryRow, competitor_of
from ..runs.cell import competitor_name
from ..runs.folder import RunFolder
from ..runs.schema import NO_ARRIVAL
from ..units import format_size, in_ranks
from .live_chart import cell_id

MOST_CALLS = 60_000  # in a page: about 400 KB
LEAST_KEPT = 9  # of a launch
DIGITS = 4


def call_distributions(
    folder: RunFolder, rows: Iterable[SummaryRow], most: int = MOST_CALLS
) -> dict[str, dict[str, Any]]:
    """For each cell of `rows` that has a time, by its `cell_id`: its title, the microseconds of its calls by launch,
    and whether these are all.

    Without warm-ups and invalid calls, and without cells of groups, of ranks that
    are delayed, and of placements beside the first. Of cells with more calls than `most` allows each,
    some are kept, evenly spaced in ascending order, with the shortest and the longest. Raises RunError.
    """
    titles = {
        _id(row): f"{competitor_of(row)}, {in_ranks([row['ranks']])}, {format_size(row['nbytes'])}"
        for row in competing(rows)
        if row["time_s"] is not None and not row["groups"]
    }
    calls = _calls(folder, titles, folder.plan().placement[0])
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
    return cell_id(row["ranks"], competitor_of(row), row["cache"], row["nbytes"])


def _calls(folder: RunFolder, titles: Mapping[str, str], placement: str) -> dict[str, dict[str, array]]:
    """Seconds by cell and launch, of the vectors that lay so."""
    found: dict[str, dict[str, array]] = {}
    for block in folder.blocks():
        first = {column: values[0] for column, values in block.items()}
        competitor = competitor_name(first["algorithm"], first["executor"])
        name = cell_id(int(first["ranks"]), competitor, first["cache"], int(first["nbytes"]))
        if (
            name not in titles
            or first["groups"]
            or Way(first["arrival"], first["placement"]) != Way(NO_ARRIVAL, placement)
        ):
            continue
        counted = zip(block["time_s"], block["warmup"], block["valid"])
        times = (float(time_s) for time_s, warmup, valid in counted if warmup != "1" and valid != "0" and time_s)
        found.setdefault(name, {}).setdefault(first["launch"], array("d")).extend(times)
    return {name: {launch: times for launch, times in cell.items() if times} for name, cell in found.items()}


def _kept(times: Sequence[float], most: int) -> list[float]:
    """At most `most` of them, in their order, in microseconds."""
    places = range(len(times))
    if len(times) > most:
        ascending = sorted(places, key=times.__getitem__)
        places = sorted(ascending[round(i * (len(times) - 1) / (most - 1))] for i in range(most))  # type: ignore
    return [float(f"{times[place] * 1e6:.{DIGITS}g}") for place in places]
