"""Planned cells without a time, grouped and named for people. Pure; standard library only."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ..runs.competitor import FLOOR_PREFIX
from ..runs.folder import CellKey
from ..runs.plan import Cell, Launch, Plan
from ..runs.schema import FINAL, FLOORS, LEFT_OUT, MISSING, UNFINISHED, state_words
from ..units import counted, format_size, in_ranks, spans
from .summary_row import SummaryRow, cell_of


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
