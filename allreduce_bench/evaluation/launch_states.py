"""Launches on two levels, and single launches apart from all others, by a rule that can be checked by eye.

At a size, launches are on two levels if there is a gap among their times, in order: the time above it is LEAST_GAP
times the time below it, the difference is LEAST_RANGES times the interquartile range of either side, and at least two
launches lie on each side. The same launches are above it at LEAST_SIZES sizes or more: chance makes a launch slow at a
size, and what makes it slow at one after another stays. A median over all launches represents neither level.

A launch alone on its side at so many neighbouring sizes is apart: it was disturbed, or it alone was not. The median
represents the others, so a launch apart costs no verdict. `tests/studies/two_states.py` measures how often each is
said.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from statistics import quantiles
from typing import Any, NamedTuple

from ..stats import median
from .environment import differences
from .summary_row import LaunchStates, SummaryRow, cell_of

LEAST_GAP, LEAST_RANGES, LEAST_SIZES, FEWEST_LAUNCHES = 1.3, 3, 3, 3

Series = Hashable  # identifies the series of a cell; the cells of a series differ in size only
CellOfSeries = tuple[Series, int]  # with the size, bytes


class StatesOfSeries(NamedTuple):
    """The sizes of a series at which launches are on two levels, or at which one is apart."""

    rows: tuple[SummaryRow, ...]  # of these sizes, ascending
    states: tuple[LaunchStates, ...]  # at each of them
    sizes: tuple[int, ...]  # bytes: all of the series that have a time, ascending


def split_launches(rows: Sequence[SummaryRow], attempts: Iterable[Mapping[str, Any]] = ()) -> list[SummaryRow]:
    """Return the levels of the launches of every row of one run: columns of SUMMARY, and facts.

    `attempts`: the facts of each launch, in which the cause may be found.
    """
    facts_of = {facts["launch"]: facts for facts in attempts if "launch" in facts}
    cells = [None if row["time_s"] is None else (_series_of(row), row["size_bytes"]) for row in rows]
    found = find_states({cell: row["launch_medians"] for cell, row in zip(cells, rows) if cell})
    return [_states_columns(found[cell], facts_of) if cell in found else {} for cell in cells]


def _states_columns(found: LaunchStates, facts_of: Mapping[str, Mapping[str, Any]]) -> SummaryRow:
    states = found._replace(differences=tuple(differences(facts_of, found.low_launches, found.high_launches)))
    if states.apart:
        return {"launch_apart": states}
    return {
        "launch_states": states,
        "states": f"low:{len(states.low_launches)},high:{len(states.high_launches)}",
        "state_low_s": states.low_s,
        "state_high_s": states.high_s,
    }


def _series_of(row: SummaryRow) -> Series:
    """Return the series of a row: its ranks and its cell without the size."""
    cell = cell_of(row)
    segment = None if cell.competitor.is_pipelined else cell.segment  # each size may be cut in another way
    return row["ranks"], replace(cell, size_bytes=0, segment=segment).key


def series_in_states(rows: Sequence[SummaryRow]) -> Iterator[StatesOfSeries]:
    """Yield the series of a run with two levels, and those with a launch apart, one for each such launch.

    `rows`: with the columns of `split_launches`, of each series by ascending size.
    """
    sizes_of: dict[Series, list[int]] = defaultdict(list)
    told: dict[tuple[Series, Hashable], list[tuple[SummaryRow, LaunchStates]]] = defaultdict(list)
    for row in rows:
        if row["time_s"] is not None:
            series = _series_of(row)
            sizes_of[series].append(row["size_bytes"])
            if states := row.get("launch_states") or row.get("launch_apart"):
                told[series, states.apart and states.high_launches].append((row, states))
    for (series, _), of_series in told.items():
        of_rows, states_of_rows = zip(*of_series)
        yield StatesOfSeries(of_rows, states_of_rows, tuple(sizes_of[series]))


def find_states(medians: Mapping[CellOfSeries, Mapping[str, float]]) -> dict[CellOfSeries, LaunchStates]:
    """Find the cells of one run whose launches are on two levels, or one of which is apart.

    `medians`: launch -> seconds above 0, of every cell that has a time.
    """
    sizes_of: dict[Series, list[int]] = defaultdict(list)
    for series, size in sorted(medians, key=lambda cell: cell[1]):
        sizes_of[series].append(size)
    found = {}
    for series, sizes in sizes_of.items():
        gaps = [find_gap(medians[series, size]) for size in sizes]
        above = [gap and frozenset(gap.high_launches) for gap in gaps]
        for at, gap in enumerate(gaps):
            if gap and (_neighbours(above, at) if gap.apart else above.count(above[at])) >= LEAST_SIZES:
                found[series, sizes[at]] = gap
    return found


def _neighbours(values: Sequence[object], at: int) -> int:
    """Return how many neighbouring values are equal to the one at a place, itself included."""
    runs = [[at for at, _ in run] for _, run in groupby(enumerate(values), itemgetter(1))]
    return next(len(run) for run in runs if at in run)


def find_gap(launches: Mapping[str, float]) -> LaunchStates | None:
    """Return the sides of the widest gap of one size, with two launches or more on each if there is one.

    None: there is no gap, or fewer than FEWEST_LAUNCHES.
    """
    if len(launches) < FEWEST_LAUNCHES:
        return None
    ordered = sorted(launches, key=launches.__getitem__)
    times_s = [launches[name] for name in ordered]
    gaps = [cut for cut in range(1, len(times_s)) if _is_gap(times_s[:cut], times_s[cut:])]
    if not gaps:
        return None
    cut = max(gaps, key=lambda cut: (1 < cut < len(times_s) - 1, times_s[cut] / times_s[cut - 1]))
    low, high = ({*side} for side in (ordered[:cut], ordered[cut:]))
    return LaunchStates(
        low_s=median(times_s[:cut]),
        high_s=median(times_s[cut:]),
        low_launches=tuple(name for name in launches if name in low),
        high_launches=tuple(name for name in launches if name in high),
    )


def _is_gap(low_s: Sequence[float], high_s: Sequence[float]) -> bool:
    """Return whether there is a gap between two sides, each in order."""
    wide = high_s[0] >= LEAST_GAP * low_s[-1]
    return wide and all(high_s[0] - low_s[-1] >= LEAST_RANGES * _interquartile_range(side) for side in (low_s, high_s))


def _interquartile_range(values: Sequence[float]) -> float:
    if len(values) < 2:
        return 0.0
    lower, _, upper = quantiles(values, n=4, method="inclusive")
    return upper - lower
