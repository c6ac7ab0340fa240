"""Equal bits: what schedules guarantee, what was measured, and where the two contradict each other.

All is made from the summary rows of one run, with the standard library only.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from ..runs.dtypes import is_float
from ..runs.folder import CellKey
from ..runs.plan import Plan
from ..runs.rows import Row
from ..units import format_size, spans
from .competing import competing
from .summary_row import SummaryRow

# equal bits
Between = Literal["same_bits", "same_bits_calls", "same_bits_launches"]
BETWEEN: dict[Between, str] = {  # column -> what is compared
    "same_bits": "ranks",
    "same_bits_calls": "calls",
    "same_bits_launches": "launches",
}
BUG = "a bug in the executor or in the MPI, or a hardware fault"


def same_at_lengths(ended: Mapping[tuple[int, CellKey], Sequence[Row]]) -> dict[tuple[int, CellKey], int]:
    """Return by cell whether the beginning of its result has the bits of the next shorter vector: 1, 0 in some launch.

    `ended` are the marks of the cells of a run by ranks and key. Cells that were not compared are missing.
    """

    def series_at(mark: Row, size_bytes: str) -> tuple:
        return mark["launch"], mark["ranks"], mark["competitor"], size_bytes

    bits_of = {
        series_at(mark, mark["size_bytes"]): mark["bits"] for marks in ended.values() for mark in marks if mark["bits"]
    }
    same: dict[tuple[int, CellKey], int] = {}
    for cell, marks in ended.items():
        for mark in marks:
            size_bytes, _, beginning = (mark.get("bits_of_shorter") or "").partition(":")
            if shorter := bits_of.get(series_at(mark, size_bytes)):
                same[cell] = min(same.get(cell, 1), int(shorter == beginning))
    return same


def _format_sizes(alike: Iterable[SummaryRow], compared: Iterable[SummaryRow], every_size: str = "all") -> str:
    """Format `every_size`, or `8 B to 4 KiB, 1 MiB` where those between were measured too."""
    every, own = (sorted({row["size_bytes"] for row in rows}) for rows in (compared, alike))
    if own == every and len(own) > 1:
        return every_size
    ends = [(every[first], every[last]) for first, last in spans(map(every.index, own))]
    return ", ".join(
        format_size(low) if low == high else f"{format_size(low)} to {format_size(high)}" for low, high in ends
    )


def bits_sentences(plan: Plan, rows: Sequence[SummaryRow]) -> list[str]:
    """Return what --check bits found at one rank count; empty without --check bits."""
    if plan.check != "bits":
        return []
    if not is_float(plan.dtype):
        return [f"bits: {why_not_compared(plan)}"]
    compared = [row for row in competing(rows) if row.get("same_bits") is not None]
    parts = [_equality_sentence(compared), *_length_sentences(compared)]
    parts.append(_same_result_sentence(compared))
    return [f"bits: {part}" for part in parts if part]


def why_not_compared(plan: Plan) -> str:
    """Return a sentence that says why the bits of a run with integers are not compared."""
    return f"{plan.dtype} reductions are exact in any order, so the result check covers the bits"


def _equality_sentence(compared: Sequence[SummaryRow]) -> str:
    """Format `ring, tree: equal on all ranks, calls and launches; naive differs between ranks at 8 B`."""
    differing = _differing(compared)
    unstable = {name for name, _ in differing}
    stable = [name for name in dict.fromkeys(row["competitor"] for row in compared) if name not in unstable]
    all_compared = [over for column, over in BETWEEN.items() if any(row.get(column) is not None for row in compared)]
    everywhere = " and ".join(
        [", ".join(all_compared[:-1]), all_compared[-1]] if len(all_compared) > 1 else all_compared
    )
    equal = [f"{', '.join(stable)}: equal on all {everywhere}"] if stable else []
    return "; ".join([*equal, *(difference for _, difference in differing)])


def _length_sentences(compared: Sequence[SummaryRow]) -> list[str]:
    """Return who gives the same data other bits in a longer vector, and who the same."""
    rows = [row for row in compared if row.get("same_bits_lengths") is not None]
    others = list(dict.fromkeys(row["competitor"] for row in rows if row.get("same_bits_lengths") == 0))
    same = [name for name in dict.fromkeys(row["competitor"] for row in rows) if name not in others]
    found = []
    if same:
        found.append(f"the same data has the same bits in a longer vector: {', '.join(same)}")
    if others:
        found.append(f"the same data has other bits in a longer vector: {', '.join(others)}")
    return found


def _differing(compared: Sequence[SummaryRow]) -> list[tuple[str, str]]:
    """Return the algorithms with differing bits, and between what and at which sizes they differ."""
    differing = []
    for column, over in BETWEEN.items():
        rows = [row for row in compared if row.get(column) == 0]
        for name in dict.fromkeys(row["competitor"] for row in rows):
            own = [row for row in rows if row["competitor"] == name]
            sizes = _format_sizes(own, [row for row in compared if row["competitor"] == name], every_size="all sizes")
            differing.append((name, f"{name} differs between {over} at {sizes}"))
    return differing


def _same_result_sentence(compared: Sequence[SummaryRow]) -> str:
    """Format `ring = native` for algorithms with the same results at every size."""
    bits_of: dict[str, dict[int, str | None]] = {}
    for row in compared:
        bits_of.setdefault(row["competitor"], {})[row["size_bytes"]] = row["bits"]
    classes: dict[tuple, list[str]] = {}
    for name, bits in bits_of.items():
        if None not in bits.values():
            classes.setdefault(tuple(sorted(bits.items())), []).append(name)
    same = [names for names in classes.values() if len(names) > 1]
    if len(bits_of) > 2 and any(len(names) == len(bits_of) for names in same):
        return "all algorithms give the same result at every size"
    return f"the same result at every size: {', '.join(map(' = '.join, same))}" if same else ""


def broken_promise(row: SummaryRow) -> str | None:
    """Return the guarantee of a proved schedule that the measurement contradicts; None: no contradiction."""
    if row.get("promised_same_bits") == 1 and row["same_bits"] == 0:
        return "the schedule guarantees equal bits on all ranks, but the bits differ"
    if row.get("promised_depth") is None:
        return None
    if row["same_bits_calls"] == 0:
        return "the schedule fixes the order of reduction, but repeated calls gave different bits"
    if row["same_bits_launches"] == 0 and row["schedules"] == 1:
        return "the schedule fixes the order of reduction, but launches gave different bits"
    return None
