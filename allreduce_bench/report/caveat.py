"""One caveat about the times of a run, and the cells that have no time. Texts."""

from collections.abc import Sequence
from typing import NamedTuple

from ..evaluation.summary_row import SummaryRow, competitor_of, qualifiers
from ..units import format_size, in_ranks

FAILED = {"wrong": "WRONG RESULTS", "refused": "NO ALL-REDUCE", "hung": "HUNG"}


class Note(NamedTuple):
    """One thing that was found; an empty field is not printed."""

    text: str
    effect: str = ""  # on the numbers
    advice: str = ""


class Caveat(NamedTuple):
    """Something that limits how far the times can be trusted."""

    level: str  # good, info, caution, severe (the times do not mean what they seem to), bad (wrong results)
    badge: str  # a few words
    notes: tuple[Note, ...]


class Gap(NamedTuple):
    """Cells of one algorithm that have no time, for one reason."""

    state: str
    ranks: int
    algorithm: str
    sizes: str
    reason: str


def gaps(rows: Sequence[SummaryRow]) -> list[Gap]:
    """The cells without a time, those that failed a check first."""
    sizes: dict[tuple, list[str]] = {}
    for row in rows:
        if row["state"] != "done":
            key = (str(row["state"]), int(str(row["ranks"])), competitor_of(row), str(row["reason"] or ""))
            sizes.setdefault(key, []).append(cell_size(row))
    cells = [
        Gap(state, ranks, name, ", ".join(cell_sizes), reason)
        for (state, ranks, name, reason), cell_sizes in sizes.items()
    ]
    return sorted(cells, key=lambda gap: gap.state not in FAILED)


def cell_size(row: SummaryRow) -> str:
    """`8 B`, or `8 B cold`, `8 B alone`, `8 B one-late`."""
    unusual = qualifiers(row["cache"], row["groups"], row.get("arrival"), row.get("placement"))
    return " ".join([format_size(row["nbytes"]), *unusual])


def cells_text(rows: Sequence[SummaryRow]) -> str:
    """`ring (8 B, 1 KiB), two_tree (8 B) at 2 ranks; ...`."""
    sizes: dict[int, dict[str, list[str]]] = {}
    for row in rows:
        cell_sizes = sizes.setdefault(row["ranks"], {}).setdefault(competitor_of(row), [])
        cell_sizes.append(cell_size(row))
    return "; ".join(
        ", ".join(f"{name} ({', '.join(cell_sizes)})" for name, cell_sizes in algorithms.items())
        + f" at {in_ranks([ranks])}"
        for ranks, algorithms in sizes.items()
    )
