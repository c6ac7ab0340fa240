"""Planned cells that have no time although they should, grouped and named for people. Pure."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..runs.folder import CellKey
from ..runs.plan import Cell, Launch, Plan
from ..runs.schema import ALONE, FLOORS
from ..units import format_size, in_ranks, spans
from .summary_row import SummaryRow

FAILED = ("wrong", "refused")  # a check failed: no further attempt changes that
AGAIN = ("hung", "left out")  # the next attempt measures the cell
MISSING = "missing"  # nobody said anything of the cell
UNUSUAL = ("cold", ALONE)  # what is said of a cell beside its size


class MissingCell(NamedTuple):
    """A cell that a launch has no time for, although it should."""

    launch: Launch
    cell: Cell
    state: str  # MISSING, or one of FAILED or AGAIN
    reason: str


class MissingGroup(NamedTuple):
    """Missing cells of as many ranks that are missing in the same launches for the same reason."""

    state: str
    ranks: int
    cells: str  # ring, tree 16 MiB; native 8 B to 1 KiB
    launches: str  # launches 3 to 5
    reason: str
    number: int  # of cells, over the launches

    @property
    def sentence(self) -> str:
        """`ring, tree 16 MiB at 8 ranks: launches 3 to 5: job 124 hit its time limit of 30:00`."""
        said = "" if self.state == MISSING else f"{self.state}: "
        return f"{self.cells} at {in_ranks([self.ranks])}: {self.launches}: {said}{self.reason}"


def group_missing(plan: Plan, found: Iterable[MissingCell]) -> list[MissingGroup]:
    """What is missing in words: failed checks first; launches of which all is missing apart from the others."""
    alike: dict[tuple[str, int, str], dict[int, set[Cell]]] = {}
    for launch, cell, state, reason in found:
        alike.setdefault((state, launch.ranks, reason), {}).setdefault(launch.number, set()).add(cell)
    groups = []
    for (state, ranks, reason), cells_of in alike.items():
        for numbers, cells in _together(plan, cells_of):
            where = f"launch{'es' if len(numbers) > 1 else ''} {_spans(numbers, str)}"
            groups.append(MissingGroup(state, ranks, _cells(plan, cells), where, reason, len(numbers) * len(cells)))
    order = (*FAILED, *AGAIN, MISSING)
    return sorted(groups, key=lambda group: (order.index(group.state), group.ranks))


def _together(plan: Plan, cells_of: dict[int, set[Cell]]) -> list[tuple[list[int], set[Cell]]]:
    """Launches and the cells that are missing in each of them."""
    planned = set(plan.cells(plan.planned_launches()[0]))
    whole = [number for number, cells in cells_of.items() if cells == planned]
    numbers_of: dict[Cell, list[int]] = {}
    for number, cells in cells_of.items():
        for cell in cells if number not in whole else ():
            numbers_of.setdefault(cell, []).append(number)
    found: dict[tuple[int, ...], set[Cell]] = {}
    for cell, numbers in numbers_of.items():
        found.setdefault(tuple(sorted(numbers)), set()).add(cell)
    parts = [(list(numbers), cells) for numbers, cells in sorted(found.items())]
    return [*parts, (whole, planned)] if whole else parts


def not_begun(plan: Plan, found: Iterable[MissingCell]) -> list[str]:
    """Of the cells that were not measured to their end the groups in words: what failed, or hung, is said elsewhere."""
    return [group.sentence for group in group_missing(plan, found) if group.state in (MISSING, "left out")]


def explain_rows(rows: Iterable[SummaryRow], found: Iterable[MissingCell]) -> list[SummaryRow]:
    """The rows of a summary; those that no launch has done with the reasons why."""
    reasons: dict[tuple[int, CellKey], dict[str, None]] = {}
    for one in found:
        reasons.setdefault((one.launch.ranks, one.cell.key), {})[one.reason] = None
    return [
        {**row, "reason": "; ".join(reasons.get((row["ranks"], _key(row)), [row["reason"] or ""]))}
        if row["state"] == MISSING
        else row
        for row in rows
    ]


def _key(row: SummaryRow) -> CellKey:
    return Cell(row["algorithm"], row["executor"], row["count"], row["segment"], row["cache"], row["groups"]).key


def _cells(plan: Plan, cells: set[Cell]) -> str:
    """`ring, tree 16 MiB; native 8 B to 1 KiB`; `all 60 cells` of a launch."""
    planned = plan.cells(plan.planned_launches()[0])
    if cells == set(planned):
        return f"all {len(cells)} cells"
    sizes = [nbytes // plan.itemsize for nbytes in plan.sizes]
    sizes_of: dict[tuple[str, str], list[int]] = {}
    for cell in planned:
        if cell in cells:
            how = "".join(f" {word}" for word in (cell.cache, cell.groups) if word in UNUSUAL)
            sizes_of.setdefault((cell.algorithm, how), []).append(sizes.index(cell.count))
    order = (*plan.algorithms, *FLOORS)
    names_of: dict[str, list[str]] = {}
    for name, how in sorted(sizes_of, key=lambda key: order.index(key[0])):
        words = _spans(sizes_of[name, how], lambda place: format_size(plan.sizes[place]))
        names_of.setdefault(words + how, []).append(name)
    return "; ".join(f"{', '.join(names)} {words}" for words, names in names_of.items())


def _spans(numbers: Iterable[int], say: Callable[[int], str]) -> str:
    """`1, 3 to 5` for 1, 3, 4, 5."""
    words = []
    for first, last in spans(numbers):
        between = " to " if last > first + 1 else ", "
        words.append(say(first) if first == last else f"{say(first)}{between}{say(last)}")
    return ", ".join(words)
