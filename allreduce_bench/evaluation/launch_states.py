"""Cells with launches in two states, detected series by series over all series of a run; see `lateness`."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .cell_label import cell_of
from .environment import differences
from .summary_row import LaunchStates, SummaryRow
from .two_states import LEAST_GAP, TooFewLaunches, TwoStates, two_states

Series = Hashable  # identifies the series of a cell; the cells of a series differ in size only
CellOfSeries = tuple[Series, int]  # with the size, bytes


class Suspicion(NamedTuple):
    """A cell with launches that may be in two states but are too few to decide."""

    launches: int


def find_states(medians: Mapping[CellOfSeries, Mapping[str, float]]) -> dict[CellOfSeries, LaunchStates | Suspicion]:
    """The cells of one run that are in two states, or suspected of it.

    `medians`: launch -> seconds above 0, of every cell that has a time.
    """
    if not any(max(launches.values()) >= LEAST_GAP * min(launches.values()) for launches in medians.values()):
        return {}
    sizes_of: dict[Series, list[int]] = defaultdict(list)
    for series, size in sorted(medians, key=lambda cell: cell[1]):
        sizes_of[series].append(size)
    names = [_launches(medians[series, size] for size in sizes) for series, sizes in sizes_of.items()]
    tables = [
        np.array([[medians[series, size].get(launch, np.nan) for size in sizes] for launch in launches])
        for (series, sizes), launches in zip(sizes_of.items(), names)
    ]
    return {
        (series, size): said
        for (series, sizes), launches, states in zip(sizes_of.items(), names, two_states(tables))
        for index, size in enumerate(sizes)
        if (said := _of_cell(states, index, launches, medians[series, size]))
    }


def _launches(cells: Iterable[Mapping[str, float]]) -> list[str]:
    return list(dict.fromkeys(launch for cell in cells for launch in cell))


def _of_cell(
    states: TwoStates | TooFewLaunches | None, size: int, launches: Sequence[str], medians: Mapping[str, float]
) -> LaunchStates | Suspicion | None:
    """The states of a series at its size number `size`."""
    if isinstance(states, TooFewLaunches):
        return Suspicion(states.launches) if states.suspected[size] else None
    if states is None or not states.differs[size]:
        return None
    slow = {launch for launch, is_slow in zip(launches, states.slow[:, size]) if is_slow}
    return LaunchStates(
        low_s=float(states.low_s[size]),
        high_s=float(states.high_s[size]),
        low_launches=tuple(launch for launch in medians if launch not in slow),
        high_launches=tuple(launch for launch in medians if launch in slow),
        gap=states.gap,
    )


def add_states(rows: Sequence[SummaryRow], attempts: Iterable[Mapping[str, Any]] = ()) -> None:
    """Add what is known of the states of launches to the rows of one run: columns of SUMMARY, and facts.

    `attempts`: the facts of each launch, in which the cause may be found.
    """
    facts_of = {facts["launch"]: facts for facts in attempts if "launch" in facts}
    timed = {(_series_of(row), row["nbytes"]): row for row in rows if row["time_s"] is not None}
    for cell, said in find_states({cell: row["launch_medians"] for cell, row in timed.items()}).items():
        row = timed[cell]
        if isinstance(said, Suspicion):
            row["suspected_states"] = said.launches
        else:
            causes = differences(facts_of, said.low_launches, said.high_launches)
            row["launch_states"] = said._replace(differences=tuple(causes))
            row["states"] = f"low:{len(said.low_launches)},high:{len(said.high_launches)}"
            row["state_low_s"], row["state_high_s"] = said.low_s, said.high_s


def _series_of(row: SummaryRow) -> Series:
    cell = cell_of(row)
    segment = None if cell.window else cell.segment  # pipelined executors may cut each size in another way
    return row["ranks"], replace(cell, count=0, segment=segment).key


class StatesOfSeries(NamedTuple):
    """The facts about one series with launches in two states, detected or suspected."""

    rows: tuple[SummaryRow, ...]  # of the sizes at which they are, ascending
    sizes: tuple[int, ...]  # bytes: all of the series that have a time, ascending

    @property
    def suspected(self) -> bool:
        """Whether there are too few launches to decide."""
        return not self.rows[0].get("launch_states")


def series_in_states(rows: Sequence[SummaryRow]) -> Iterator[StatesOfSeries]:
    """The series of a run that are in two states or suspected of it, in the order of `rows`; see `add_states`."""
    rows_of: dict[Series, list[SummaryRow]] = defaultdict(list)
    for row in rows:
        if row["time_s"] is not None:
            rows_of[_series_of(row)].append(row)
    for of_series in rows_of.values():
        ascending = sorted(of_series, key=lambda row: row["nbytes"])
        if told := tuple(row for row in ascending if row.get("launch_states") or row.get("suspected_states")):
            yield StatesOfSeries(told, tuple(row["nbytes"] for row in ascending))
