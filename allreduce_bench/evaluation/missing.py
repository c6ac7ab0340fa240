"""The outcomes of cells: the launches' final reports as columns of the summary, and the cells without a time.

A report (a mark) is a row of CELLS about one cell in one launch. Planned cells without a time are grouped and named for
people. Pure; standard library only.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ..machine import interfaces
from ..runs.competitor import FLOOR_PREFIX
from ..runs.folder import CellKey
from ..runs.plan import Cell, Launch, Plan
from ..runs.rows import Row
from ..runs.schema import FLOORS, LEFT_OUT, MISSING, UNFINISHED, join_values, state_words
from ..stats import median
from ..units import counted, format_size, in_ranks, spans
from .cell_times import known_median
from .summary_row import Accident, SummaryRow, cell_of

# a check failed in some launch: no other launch or attempt changes that
FINAL = ("wrong", "refused")


class MissingCell(NamedTuple):
    """A cell without a time in a launch that should have one."""

    launch: Launch
    cell: Cell
    state: str  # MISSING, or one of FINAL or UNFINISHED
    reason: str


class MissingGroup(NamedTuple):
    """Cells of one rank count that are missing in the same launches for the same reason."""

    state: str
    ranks: int
    cells: str  # ring, tree 16 MiB; native 8 B to 1 KiB
    launches: str  # launches 3 to 5, launch 1-forced
    reason: str
    number: int  # of cells, over the launches

    @property
    def sentence(self) -> str:
        """Format `ring, tree 16 MiB at 8 ranks: launches 3 to 5: job 124 hit its time limit of 30:00`."""
        prefix = "" if self.state == MISSING else f"{state_words(self.state)}: "
        return f"{self.cells} at {in_ranks([self.ranks])}: {self.launches}: {prefix}{self.reason}"


def outcome(marks: Sequence[Row]) -> SummaryRow:
    """Return how the cell ended: as in a launch that did it, else as in the last one; unless a check failed.

    Without marks only `accidents`: none.
    """
    row: SummaryRow = {
        "accidents": [Accident(mark["launch"], mark["reason"]) for mark in _marks_in_state(marks, "hung")]
    }
    if not marks:
        return row
    row |= _described_columns((_marks_in_state(marks, "done") or marks[-1:])[0])
    wrong = [int(mark["wrong"]) for mark in marks if mark["wrong"]]
    checks = [int(mark["checks"]) for mark in marks if mark["checks"]]
    row |= {"wire": _median_wire(marks), "wrong": sum(wrong) if wrong else None}
    row["checks"] = sum(checks) if checks else None
    looks = [int(mark["looks"]) for mark in marks if mark.get("looks")]
    row["looks"] = sum(looks) if looks else None
    row |= _checked_columns(marks)
    row |= _bit_columns(marks)
    if failed := _marks_in_state(marks, *FINAL):
        row |= {"state": failed[0]["state"], "reason": failed[0]["reason"] or f"{failed[0]['wrong']} wrong elements"}
    return row


def _described_columns(mark: Row) -> SummaryRow:
    """Return the report of one launch on the cell and on its schedule."""
    row: SummaryRow = {
        "nodes": _whole_or_none(mark["nodes"]),
        "nodes_declared": _whole_or_none(mark["nodes_declared"]),
        "state": mark["state"],
        "reason": mark["reason"] or None,
        "run_whole": mark.get("run_whole") or None,
        "internode_nbytes": _whole_or_none(mark["internode_nbytes"]),
        "node_nbytes": _whole_or_none(mark["node_nbytes"]),
        "received_nbytes": _whole_or_none(mark["received_nbytes"]),
        "reduced_nbytes": _whole_or_none(mark["reduced_nbytes"]),
        "path_messages": _whole_or_none(mark["path_messages"]),
        "path_nbytes": _whole_or_none(mark["path_nbytes"]),
        "path_reduced_nbytes": _whole_or_none(mark["path_reduced_nbytes"]),
    }
    if size_bytes := _whole_or_none(mark["size_bytes"]):  # an imported type may have an unknown size
        row["size_bytes"] = size_bytes
    return row


def _median_wire(marks: Sequence[Row]) -> str | None:
    """Return the median count of every interface over the launches that have it."""
    counts = [interfaces.parse_traffic(mark["wire"]) for mark in _marks_in_state(marks, "done")]
    names = {name for count in counts for name in count}
    middle = {name: round(median([count[name] for count in counts if name in count])) for name in names}
    return interfaces.format_traffic(middle) or None


def _checked_columns(marks: Sequence[Row]) -> SummaryRow:
    """Count the launches in which the result was checked, and in which it was wrong."""
    wrong = {mark["launch"] for mark in marks if mark["state"] == "wrong" or int(mark["wrong"] or 0)}
    checked = wrong | {mark["launch"] for mark in marks if mark["wrong"]}
    return {"checked_launches": len(checked), "wrong_launches": len(wrong)}


def _bit_columns(marks: Sequence[Row]) -> SummaryRow:
    """Return the bits over all launches: an equality holds if no launch contradicts it.

    `schedules` is the number of schedules that they ran.
    """

    def whole_values(name: str) -> list[int]:
        return [int(mark[name]) for mark in marks if mark[name]]

    fingerprints = [mark["bits"] for mark in marks if mark["bits"]]
    row: SummaryRow = {
        "same_bits": min(whole_values("same_bits"), default=None),
        "same_bits_calls": min(whole_values("same_bits_calls"), default=None),
        "same_bits_launches": int(len(set(fingerprints)) == 1) if len(fingerprints) > 1 else None,
        "promised_same_bits": min(whole_values("promised_same_bits"), default=None),
        "promised_rank_order": min(whole_values("promised_rank_order"), default=None),
        "promised_depth": max(whole_values("promised_depth"), default=None),
        "schedules": len({mark["schedule_digest"] for mark in marks if mark["bits"]}),
    }
    stable = 0 not in (row["same_bits"], row["same_bits_calls"], row["same_bits_launches"])
    row["bits"] = fingerprints[0] if fingerprints and stable else None
    return row


def statistics(marks: Sequence[Row]) -> SummaryRow:
    """Return the reports of the launches that measured the cell on its calls."""
    done = _marks_in_state(marks, "done")
    return {
        "stopped": join_values(sorted({mark["stopped"] for mark in done if mark["stopped"]})) or None,
        "imb_t_max_s": known_median(_real_values(done, "imb_t_max_s")),
        "nccl_tests_s": known_median(_real_values(done, "nccl_tests_s")),
        "clock_error_s": max(_real_values(done, "clock_error_s"), default=None),
        "late_by_s": known_median(_real_values(done, "late_by_s")),
    }


def _marks_in_state(marks: Iterable[Row], *states: str) -> list[Row]:
    return [mark for mark in marks if mark["state"] in states]


def _real_values(marks: Iterable[Row], name: str) -> list[float]:
    return [float(mark[name]) for mark in marks if mark[name]]


def _whole_or_none(text: str) -> int | None:
    return int(text) if text else None


def group_missing(plan: Plan, missing_cells: Iterable[MissingCell]) -> list[MissingGroup]:
    """Group missing cells for people: failed checks first; launches without any cell are listed separately."""
    alike: dict[tuple[str, int, str, str], dict[int, set[Cell]]] = {}
    for launch, cell, state, reason in missing_cells:
        of_launch = alike.setdefault((state, launch.ranks, launch.forced, reason), {})
        of_launch.setdefault(launch.number, set()).add(cell)
    missing_groups = []
    for (state, ranks, forced, reason), cells_of in alike.items():
        planned = plan.cells(Launch(ranks, 1, forced))
        for numbers, cells in _group_launches(planned, cells_of):
            names = _format_spans(numbers, (f"{{}}-{forced}" if forced else "{}").format)
            launches = f"launch{'es' if len(numbers) > 1 else ''} {names}"
            described = _describe_cells(plan, planned, cells)
            missing_groups.append(MissingGroup(state, ranks, described, launches, reason, len(numbers) * len(cells)))
    order = (*FINAL, *UNFINISHED, MISSING)
    return sorted(missing_groups, key=lambda group: (order.index(group.state), group.ranks))


def _group_launches(planned_cells: Sequence[Cell], cells_of: dict[int, set[Cell]]) -> list[tuple[list[int], set[Cell]]]:
    """Return groups of launches, each with the cells that are missing in all of them."""
    planned = set(planned_cells)
    all_missing = [number for number, cells in cells_of.items() if cells == planned]
    numbers_of: dict[Cell, list[int]] = {}
    for number, cells in cells_of.items():
        for cell in cells if number not in all_missing else ():
            numbers_of.setdefault(cell, []).append(number)
    cells_of_numbers: dict[tuple[int, ...], set[Cell]] = {}
    for cell, numbers in numbers_of.items():
        cells_of_numbers.setdefault(tuple(sorted(numbers)), set()).add(cell)
    parts = [(list(numbers), cells) for numbers, cells in sorted(cells_of_numbers.items())]
    return [*parts, (all_missing, planned)] if all_missing else parts


def _describe_cells(plan: Plan, planned: Sequence[Cell], cells: set[Cell]) -> str:
    """Format `ring, tree 16 MiB; native 8 B to 1 KiB`; `all 60 cells` that are `planned` in a launch."""
    if cells == set(planned):
        return f"all {counted(len(cells), 'cell')}" if len(cells) > 1 else "the only cell"
    sizes_of: dict[str, list[int]] = {}
    for cell in planned:
        if cell in cells:
            sizes_of.setdefault(cell.competitor, []).append(plan.sizes.index(cell.size_bytes))
    order = (*plan.competitors, *(FLOOR_PREFIX + name for name in FLOORS))
    names_of: dict[str, list[str]] = {}
    for name in sorted(sizes_of, key=order.index):
        sizes_text = _format_spans(sizes_of[name], lambda index: format_size(plan.sizes[index]))
        names_of.setdefault(sizes_text, []).append(name)
    return "; ".join(f"{', '.join(names)} {sizes_text}" for sizes_text, names in names_of.items())


def _format_spans(numbers: Iterable[int], format_number: Callable[[int], str]) -> str:
    """Format `1, 3 to 5` for 1, 3, 4, 5."""
    parts = []
    for first, last in spans(numbers):
        between = " to " if last > first + 1 else ", "
        parts.append(format_number(first) if first == last else f"{format_number(first)}{between}{format_number(last)}")
    return ", ".join(parts)


def not_begun_sentences(plan: Plan, missing_cells: Iterable[MissingCell]) -> list[str]:
    """Return sentences about the cells that were not finished; failed and hung cells are reported elsewhere."""
    return [group.sentence for group in group_missing(plan, missing_cells) if group.state in (MISSING, LEFT_OUT)]


def explain_rows(rows: Iterable[SummaryRow], missing_cells: Iterable[MissingCell]) -> list[SummaryRow]:
    """Return the rows of a summary with the reasons of cells that no launch has done."""
    reasons: dict[tuple[int, CellKey], dict[str, None]] = {}
    for missing_cell in missing_cells:
        reasons.setdefault((missing_cell.launch.ranks, missing_cell.cell.key), {})[missing_cell.reason] = None
    return [
        {**row, "reason": "; ".join(reasons.get((row["ranks"], cell_of(row).key), [row["reason"] or ""]))}
        if row["state"] == MISSING
        else row
        for row in rows
    ]
