"""Planned cells that have no time although they should, grouped and named for people. Pure."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..runs.cell import competitor_name
from ..runs.folder import CellKey
from ..runs.plan import Cell, Launch, Plan
from ..runs.schema import FLOORS
from ..units import format_size, in_ranks, spans
from .cell_label import cell_of, qualifiers
from .marks import FAILED
from .summary_row import SummaryRow

AGAIN = ("hung", "left out")  # the next attempt measures the cell
MISSING = "missing"  # no launch reported on the cell


class MissingCell(NamedTuple):
    """A cell that a launch has no time for, although it should."""

    launch: Launch
    cell: Cell
    state: str  # MISSING, or one of FAILED or AGAIN
    reason: str


class MissingGroup(NamedTuple):
    """Cells of one rank count that are missing in the same launches for the same reason."""

    state: str
    ranks: int
    cells: str  # ring, tree 16 MiB; native 8 B to 1 KiB
    launches: str  # launches 3 to 5
    reason: str
    number: int  # of cells, over the launches

    @property
    def sentence(self) -> str:
        """`ring, tree 16 MiB at 8 ranks: launches 3 to 5: job 124 hit its time limit of 30:00`."""
        prefix = "" if self.state == MISSING else f"{self.state}: "
        return f"{self.cells} at {in_ranks([self.ranks])}: {self.launches}: {prefix}{self.reason}"


def group_missing(plan: Plan, missing_cells: Iterable[MissingCell]) -> list[MissingGroup]:
    """The missing cells as text: failed checks first; launches without any cell are listed separately."""
    alike: dict[tuple[str, int, str], dict[int, set[Cell]]] = {}
    for launch, cell, state, reason in missing_cells:
        alike.setdefault((state, launch.ranks, reason), {}).setdefault(launch.number, set()).add(cell)
    missing_groups = []
    for (state, ranks, reason), cells_of in alike.items():
        for numbers, cells in _group_launches(plan, cells_of):
            launches = f"launch{'es' if len(numbers) > 1 else ''} {_format_spans(numbers, str)}"
            missing_groups.append(
                MissingGroup(state, ranks, _describe_cells(plan, cells), launches, reason, len(numbers) * len(cells))
            )
    order = (*FAILED, *AGAIN, MISSING)
    return sorted(missing_groups, key=lambda group: (order.index(group.state), group.ranks))


def _group_launches(plan: Plan, cells_of: dict[int, set[Cell]]) -> list[tuple[list[int], set[Cell]]]:
    """Launches and the cells that are missing in each of them."""
    planned = set(plan.cells(plan.planned_launches()[0]))
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


def not_begun_sentences(plan: Plan, missing_cells: Iterable[MissingCell]) -> list[str]:
    """Sentences about the cells that were not finished; failed and hung cells are reported elsewhere."""
    return [group.sentence for group in group_missing(plan, missing_cells) if group.state in (MISSING, "left out")]


def explain_rows(rows: Iterable[SummaryRow], missing_cells: Iterable[MissingCell]) -> list[SummaryRow]:
    """The rows of a summary; cells that no launch has done get their reasons."""
    reasons: dict[tuple[int, CellKey], dict[str, None]] = {}
    for missing_cell in missing_cells:
        reasons.setdefault((missing_cell.launch.ranks, missing_cell.cell.key), {})[missing_cell.reason] = None
    return [
        {**row, "reason": "; ".join(reasons.get((row["ranks"], cell_of(row).key), [row["reason"] or ""]))}
        if row["state"] == MISSING
        else row
        for row in rows
    ]


def _describe_cells(plan: Plan, cells: set[Cell]) -> str:
    """`ring, tree 16 MiB; native 8 B to 1 KiB`; `all 60 cells` of a launch."""
    planned = plan.cells(plan.planned_launches()[0])
    if cells == set(planned):
        return f"all {len(cells)} cells"
    sizes = [nbytes // plan.itemsize for nbytes in plan.sizes]
    sizes_of: dict[tuple[str, str], list[int]] = {}
    for cell in planned:
        if cell in cells:
            qualifier = "".join(
                f" {word}" for word in qualifiers(cell.cache, cell.groups, cell.arrival, cell.placement)
            )
            name = competitor_name(cell.algorithm, cell.executor)
            sizes_of.setdefault((name, qualifier), []).append(sizes.index(cell.count))
    order = (*plan.competitors, *FLOORS)
    names_of: dict[str, list[str]] = {}
    for name, qualifier in sorted(sizes_of, key=lambda key: order.index(key[0])):
        sizes_text = _format_spans(sizes_of[name, qualifier], lambda index: format_size(plan.sizes[index]))
        names_of.setdefault(sizes_text + qualifier, []).append(name)
    return "; ".join(f"{', '.join(names)} {sizes_text}" for sizes_text, names in names_of.items())


def _format_spans(numbers: Iterable[int], format_number: Callable[[int], str]) -> str:
    """`1, 3 to 5` for 1, 3, 4, 5."""
    parts = []
    for first, last in spans(numbers):
        between = " to " if last > first + 1 else ", "
        parts.append(format_number(first) if first == last else f"{format_number(first)}{between}{format_number(last)}")
    return ", ".join(parts)
