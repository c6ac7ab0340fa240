"""The time of a group's all-reduce while other groups run, compared with the same group alone.

Standard library only. A loss is made within a launch, of the medians of its calls, and a cell has the median over its
launches. 1.3: the other groups cost 30 % more time.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..runs.folder import CellKey
from ..runs.groups import MOST_GROUPS, SILENT, describe, format_group_times, groups_of, parse_group_times
from ..runs.plan import Cell, Plan
from ..runs.schema import ALONE, TOGETHER
from ..stats import log_interval, median
from ..units import format_size, three_digits
from .cell_times import MIN_LAUNCHES, CellCalls, by_size
from .summary_row import SummaryRow, time_of

Timed = Mapping[str, CellCalls]  # launch -> its calls
FEW = 8  # groups whose values are printed one by one


def add_columns(
    plan: Plan,
    cells: Sequence[tuple[int, Cell]],
    rows: Sequence[SummaryRow],
    timed: Mapping[tuple[int, CellKey], Timed],
    attempts: Iterable[Mapping[str, Any]],
) -> None:
    """Add the columns of SUMMARY about groups to the row of each cell, and `groups_in_words`.

    `cells` are those of `rows`, each with its ranks. Where all groups ran together also `losses`: group -> launch ->
    its loss.
    """
    stand_ins_of = {fact["launch"]: fact["groups"]["alone"] for fact in attempts if "groups" in fact}
    for (ranks, cell), row in zip(cells, rows):
        together, alone = (timed.get((ranks, replace(cell, groups=kind).key), {}) for kind in (TOGETHER, ALONE))
        groups = groups_of(plan.groups, ranks)
        row["groups_in_words"] = describe(plan.groups, ranks)
        if len(groups) > MOST_GROUPS:
            continue
        row["group_ranks"] = " ".join(str(len(members)) for members in groups)
        own = together if cell.groups == TOGETHER else alone
        times_s = [_group_median_s(own, number) for number in range(len(groups))]
        if any(times_s):
            row["group_times_s"] = format_group_times(times_s)
        if cell.groups == TOGETHER:
            row["losses"] = [_losses_of_group(number, together, alone, stand_ins_of) for number in range(len(groups))]
            if any(row["losses"]):
                losses = (median(by_launch.values()) if by_launch else None for by_launch in row["losses"])
                row["group_loss"] = format_group_times(losses)


def _group_median_s(timed: Timed, number: int) -> float | None:
    """Return the time of one group: median over calls, then launches, seconds."""
    medians = [median(calls.group_times_s[number]) for calls in timed.values() if calls.group_times_s.get(number)]
    return median(medians) if medians else None


def _losses_of_group(number: int, together: Timed, alone: Timed, stand_ins_of: Mapping) -> dict[str, float]:
    losses = {}
    for launch, calls in together.items():
        stand_in = (stand_ins_of.get(launch) or {number: None})[number]
        alone_times_s = alone[launch].group_times_s.get(stand_in) if launch in alone and stand_in is not None else None
        if alone_times_s and calls.group_times_s.get(number) and median(alone_times_s) > 0:
            losses[launch] = median(calls.group_times_s[number]) / median(alone_times_s)
    return losses


def worst_losses(row: SummaryRow) -> dict[str, float]:
    """Return the losses of the group with the largest median, by launch; launches without a known loss are absent."""
    return max(filter(None, row.get("losses") or ()), key=lambda by_launch: median(by_launch.values()), default={})


def is_sure(losses: Mapping[str, float]) -> bool:
    """Return whether a ratio, by launch, differs from 1 (95 %); False below three launches."""
    if len(losses) < MIN_LAUNCHES:
        return False
    low, high = log_interval(list(losses.values()))
    return low > 1 or high < 1


def loss_sentences(rows: Sequence[SummaryRow]) -> list[str]:
    """Return sentences about the groups of one rank count and cache.

    Each group's time and loss with the fastest algorithm of every size, then the largest loss of every algorithm.
    """
    measured = [row for row in rows if row["groups"] == TOGETHER and row["time_s"] is not None]
    best = [min(rows_of_size, key=time_of) for rows_of_size in by_size(measured).values()]
    best = [row for row in best if row.get("group_times_s")]
    sentences_of_sizes = [f"groups at {format_size(row['nbytes'])}: {_times_and_losses(row, rows)}" for row in best]
    largest = _largest_losses(measured)
    return sentences_of_sizes + ([f"largest loss relative to one group alone: {largest}"] if largest else [])


def _times_and_losses(row: SummaryRow, rows: Sequence[SummaryRow]) -> str:
    """Format `ring 91.0, 97.3 us, alone 84.2 us, loss 1.08, 1.16`."""
    loss = f", loss {_format_group_values(row['group_loss'], 1)}" if row.get("group_loss") else ""
    alone_row = alone_of(row, rows)
    alone = f", alone {three_digits(time_of(alone_row) * 1e6)} us" if alone_row else ""
    return f"{row['competitor']} {_format_group_values(row['group_times_s'], 1e6)} us{alone}{loss}"


def _format_group_values(column_text: str, unit: float) -> str:
    """Format the values of a column, one by one; of many groups the smallest and the largest."""
    values = parse_group_times(column_text)
    if len(values) > FEW:
        known_values = [value * unit for value in values if value is not None]
        return f"{three_digits(min(known_values))} to {three_digits(max(known_values))}"
    return ", ".join(SILENT if value is None else three_digits(value * unit) for value in values)


def _largest_losses(measured: Sequence[SummaryRow]) -> str:
    """Format `ring 1.31 (64 KiB), native 1.04 (8 B, not significant)`."""
    losses = []
    for name in dict.fromkeys(row["competitor"] for row in measured):
        rows = [row for row in measured if row["competitor"] == name and worst_losses(row)]
        if rows:
            row = max(rows, key=lambda row: median(worst_losses(row).values()))
            sure = "" if is_sure(worst_losses(row)) else ", not significant"
            losses.append(
                f"{name} {three_digits(median(worst_losses(row).values()))} ({format_size(row['nbytes'])}{sure})"
            )
    return ", ".join(losses)


def alone_of(row: SummaryRow, rows: Sequence[SummaryRow]) -> SummaryRow | None:
    """Return the row of the same cell measured in one group alone; None: it has no time."""

    def cell(row: SummaryRow) -> tuple:
        return row["ranks"], row["cache"], row["competitor"], row["segment"], row["nbytes"]

    candidates = [other for other in rows if other["groups"] == ALONE and cell(other) == cell(row)]
    return next((other for other in candidates if other["time_s"] is not None), None)


def loss_rows(rows: Sequence[SummaryRow]) -> list[dict[str, Any]]:
    """Return a table row for every measured cell of all groups together.

    Keys: nbytes, algorithm, `alone` in seconds, the `times` of the groups in us and their `losses` in words, whether
    the largest loss `is_sure`, and `spread`, the slowest over the fastest group.
    """
    table_rows = []
    for row in rows:
        if row["groups"] != TOGETHER or row["time_s"] is None or not row.get("group_times_s"):
            continue
        times_s = [time_s for time_s in parse_group_times(row["group_times_s"]) if time_s is not None]
        alone_row = alone_of(row, rows)
        table_rows.append(
            {
                "nbytes": row["nbytes"],
                "competitor": row["competitor"],
                "alone": alone_row and alone_row["time_s"],
                "times": _format_group_values(row["group_times_s"], 1e6),
                "losses": _format_group_values(row["group_loss"], 1) if row.get("group_loss") else "",
                "is_sure": is_sure(worst_losses(row)),
                "spread": max(times_s) / min(times_s),
            }
        )
    return table_rows
