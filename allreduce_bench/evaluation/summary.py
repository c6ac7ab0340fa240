"""The summary of a run: one row for each cell, with standings, grades and limits."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from ..runs.competitor import NATIVE, Competitor
from ..runs.folder import CellKey, RunFolder, key_of, run_names
from ..runs.groups import describe
from ..runs.identified import Identified, identified_of
from ..runs.plan import Cell, ImportedPlan, Plan
from ..runs.recorder import write_summary
from ..runs.rows import Row
from ..runs.schema import FINAL, FLOORS, LEFT_OUT, SUMMARY, names
from ..units import algbw, busbw
from . import marks
from .agreement import same_at_lengths
from .cell_times import add_doubts, by_size
from .forced_launches import add_not_compared
from .frames import CELL, cells_of, medians_of, read_calls, rows_of
from .grade import add_grades
from .launch_states import add_states
from .limits import add_limits
from .standings import add_standings
from .summary_row import SummaryRow, time_of


def summarise(folder: RunFolder) -> list[SummaryRow]:
    """Return one row per planned all-reduce, as in SUMMARY; reference times are columns of these rows. Raises RunError.

    Of an imported run one row per cell of its logs. By ranks, size, and the plan's order of algorithms.
    """
    plan = folder.plan()
    attempts, all_marks = folder.attempts(), folder.marks()
    calls = read_calls(folder)
    medians = medians_of(calls, all_marks)
    timed = rows_of(cells_of(medians, calls), medians)
    least = medians[medians["calls"] > 0].groupby(CELL)[["time_s", "min_s"]].min().to_dict("index")
    oversubscribed = {fact["ranks"]: fact["oversubscribed"] for fact in attempts}
    ended = defaultdict(list)
    for mark in all_marks:
        ended[int(mark["ranks"]), key_of(mark)].append(mark)
    cells = list(_imported_cells(plan, ended) if isinstance(plan, ImportedPlan) else _planned_cells(plan))
    identified = {} if plan.groups else identified_of(folder, plan.ranks)
    same_at = same_at_lengths(ended)
    rows = []
    for ranks, cell in cells:
        row = _cell_row(plan, ranks, cell, ended.get((ranks, cell.key), []), timed)
        row["imported"] = isinstance(plan, ImportedPlan) and cell.algorithm.split(":")[0] != NATIVE
        row["oversubscribed"] = oversubscribed.get(ranks)
        row["same_bits_lengths"] = same_at.get((ranks, cell.key))
        if ranks in identified:
            _add_ran(row, identified[ranks], plan)
        rows.append(row | _floors(plan, ranks, cell, least))
    if any(len(row.get("launch_medians", ())) > 1 for row in rows):
        add_states(rows, attempts)
    add_doubts(rows)
    add_grades(rows, attempts)
    if plan.forced_launches:
        add_not_compared(rows)
    add_standings(rows)
    for rows_of_size in by_size(rows).values():
        _add_speedups(rows_of_size)
    add_limits(plan, rows, attempts)
    return rows


def record_summary(
    folder: RunFolder, explain: Callable[[list[SummaryRow]], list[SummaryRow]] = list
) -> list[SummaryRow]:
    """Summarise the run and rewrite its summary.csv; return the rows, with the reasons that `explain` adds.

    Raises RunError.
    """
    rows = explain(summarise(folder))
    write_summary(folder, rows)
    return rows


def _planned_cells(plan: Plan):
    for ranks in plan.ranks:
        launches = [launch for launch in plan.planned_launches() if launch[:2] == (ranks, 1)]
        cells = [cell for launch in launches for cell in plan.cells(launch) if not cell.competitor.is_reference]
        yield from ((ranks, cell) for cell in _in_order(plan, cells))


def _imported_cells(plan: Plan, ended: Iterable[tuple[int, CellKey]]):
    """Return the cells of an imported run: logs are ragged, so they are those of its marks."""
    cells: dict[int, list[Cell]] = {ranks: [] for ranks in plan.ranks}
    for ranks, key in ended:
        cells[ranks].append(Cell.from_key(key))
    for ranks, cells_of_ranks in cells.items():
        for cell in _in_order(plan, cells_of_ranks):
            yield ranks, cell


def _in_order(plan: Plan, cells: Iterable[Cell]) -> list[Cell]:
    """Sort by size, and the plan's order of competitors."""
    order = {name: i for i, name in enumerate(plan.competitors)}
    return sorted(
        cells,
        key=lambda cell: (
            cell.size_bytes,
            order[cell.competitor],
        ),
    )


def _add_ran(row: SummaryRow, found: Identified, plan: Plan) -> None:
    """Set what the library ran at the size of a row, and between it and the next smaller size."""
    if ran := found.at(Competitor(row["competitor"]).algorithm, row["size_bytes"]):
        row["ran"] = ran
    smaller = max(
        (size_bytes for size_bytes in plan.sizes if size_bytes < row["size_bytes"]), default=row["size_bytes"]
    )
    row["ran_below"] = [
        ran
        for ran in found.ran
        if ran.algorithm == Competitor(row["competitor"]).algorithm and smaller < ran.size_bytes < row["size_bytes"]
    ]


def _floors(plan: Plan, ranks: int, cell: Cell, least: Mapping[Hashable, Mapping[Hashable, float]]) -> SummaryRow:
    """Return the reference times of these ranks at the cell's size, seconds; sizes share one empty call.

    `least`: the shortest times of each cell over its launches, since a disturbance can only make them longer.
    """

    def least_s(name: str, size_bytes: int, column: str) -> float | None:
        floor = plan.floor(name, size_bytes).competitor
        return least.get((ranks, str(floor), size_bytes), {}).get(column)

    null, copy, reduce = FLOORS
    return {
        "call_floor_s": least_s(null, min(plan.sizes), "time_s"),
        "copy_floor_s": least_s(copy, cell.size_bytes, "min_s"),
        "reduce_floor_s": least_s(reduce, cell.size_bytes, "min_s"),
    }


def _cell_row(plan: Plan, ranks: int, cell: Cell, ended: list[Row], timed: Mapping[Hashable, SummaryRow]) -> SummaryRow:
    of_calls = timed.get((ranks, str(cell.competitor), cell.size_bytes), {})
    row: SummaryRow = {
        "competitor": cell.competitor,
        "segment": cell.segment,
        "ranks": ranks,
        "dtype": plan.dtype or None,
        "op": plan.op or None,
        "size_bytes": cell.size_bytes,
        "launches": of_calls.get("launches", 0),
        "groups_in_words": describe(plan.groups, ranks) if plan.groups else "",
        "time_s": None,
        "state": "missing",
        "reason": "its launch was not started, or has not ended",
    }
    row |= marks.outcome(ended)
    if of_calls and row["state"] not in FINAL:
        row |= of_calls | marks.statistics(ended)
        if row["time_s"] is None:
            row["state"] = LEFT_OUT
    if (time_s := row["time_s"]) is not None:
        row["algbw_bytes_per_s"] = algbw(row["size_bytes"], time_s)
        row["busbw_bytes_per_s"] = busbw(row["size_bytes"], time_s, plan.group_size(ranks))
    return row


def _add_speedups(rows_of_size: Sequence[SummaryRow]) -> None:
    """Set the speed-up over native called the same way in the rows of one size, if neither time is doubted."""
    trusted = [row for row in rows_of_size if row["doubt"] is None]
    natives = {row["competitor"]: row for row in trusted if Competitor(row["competitor"]).is_native}
    for row in rows_of_size:
        native = natives.get(Competitor(row["competitor"]).native_beside)
        row["speedup"] = time_of(native) / time_of(row) if native and row["doubt"] is None else None


def summary(folders: Sequence[RunFolder]) -> pd.DataFrame:
    """Return one row per planned cell, measured or not: `run`, the name of the folder (see `run_names`), and SUMMARY.

    Times are float64 in seconds, flags boolean, whole numbers Int64, the rest strings; what is missing is NA. Raises
    RunError.
    """
    named = zip(run_names(folders), folders)
    return pd.concat([summary_frame(summarise(folder), name) for name, folder in named], ignore_index=True)


def summary_frame(rows: Iterable[SummaryRow], run: str) -> pd.DataFrame:
    """Return the rows that `summarise` returned for one run, as `summary` returns them."""
    dtypes: dict[str, Any] = {"text": "string", "whole": "Int64", "real": "float64", "flag": "boolean"}
    table = pd.DataFrame([{name: row.get(name) for name in names(SUMMARY)} for row in rows], columns=names(SUMMARY))
    table = table.astype("object").where(lambda cells: cells.notna() & (cells != ""), None)
    typed = {column.name: table[column.name].astype(dtypes[column.kind]) for column in SUMMARY}
    return pd.DataFrame({"run": pd.Series(run, index=table.index, dtype="string"), **typed})
