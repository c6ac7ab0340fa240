"""The summary of a run: one row for each cell, with standings, grades and limits."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from ..runs.competitor import NATIVE, Competitor
from ..runs.folder import CellKey, RunFolder, key_of, run_names
from ..runs.groups import describe
from ..runs.identified import identified_of
from ..runs.plan import Cell, ImportedPlan, Plan
from ..runs.recorder import write_summary
from ..runs.rows import Row
from ..runs.schema import BARRIER, FINAL, FLOORS, LEFT_OUT, ROUND_TIME, SUMMARY, names
from ..units import algbw, busbw
from . import marks
from .agreement import same_at_lengths
from .competing import competing
from .doubts import find_doubts
from .forced_launches import find_forced_doubts
from .frames import CELL, cells_of, medians_of, read_calls, rows_of
from .grade import grade_rows
from .launch_states import split_launches
from .limits import bound_rows
from .standings import rank_rows
from .summary_row import SummaryRow, join_columns, time_of
from .verdict import verdict_rows


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
        row["went_on_by_barriers"] = _went_on_by_barriers(ended.get((ranks, cell.key), []), attempts)
        row["same_bits_lengths"] = same_at.get((ranks, cell.key))
        if ranks in identified:
            ran = identified[ranks].at(Competitor(row["competitor"]).algorithm, row["size_bytes"])
            row |= {"ran": ran} if ran else {}
        rows.append(row | _floors(plan, ranks, cell, least))
    rows = judge_rows(rows, attempts)
    return join_columns(rows, bound_rows(plan, rows, attempts))


def judge_rows(rows: Sequence[SummaryRow], attempts: Sequence[dict] = ()) -> list[SummaryRow]:
    """Return the rows of a run with what their times say: states, doubts, grade, standing and speed-up.

    `attempts`: the facts of the launches.
    """
    rows = join_columns(rows, split_launches(rows, attempts))
    rows = join_columns(rows, find_doubts(rows))
    rows = join_columns(rows, grade_rows(rows, attempts))
    rows = join_columns(rows, find_forced_doubts(rows))
    rows = join_columns(rows, rank_rows(rows))
    rows = join_columns(rows, verdict_rows(rows))
    return join_columns(rows, find_speedups(rows))


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
    return sorted(cells, key=lambda cell: (cell.size_bytes, order[cell.competitor]))


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


def _went_on_by_barriers(ended: Iterable[Row], attempts: Iterable[dict]) -> bool:
    """Return whether the cell did in some launch, the calls of which should begin at a time."""
    by_time = {
        (fact["launch"], str(fact["attempt"])) for fact in attempts if fact.get("sync", {}).get("way") == ROUND_TIME
    }
    return any(mark["start"] == BARRIER and (mark["launch"], mark["attempt"]) in by_time for mark in ended)


def find_speedups(rows: Sequence[SummaryRow]) -> list[SummaryRow]:
    """Return `speedup` over native called the same way of each row, if neither time is doubted."""
    trusted = [row for row in competing(rows) if row["time_s"] is not None and row["doubt"] is None]
    times_s = {(row["ranks"], row["size_bytes"], row["competitor"]): time_of(row) for row in trusted}

    def speedup(row: SummaryRow) -> float | None:
        native_s = times_s.get((row["ranks"], row["size_bytes"], Competitor(row["competitor"]).native_beside))
        own_s = times_s.get((row["ranks"], row["size_bytes"], row["competitor"]))
        return native_s / own_s if native_s and own_s else None

    return [{"speedup": speedup(row)} for row in rows]


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
