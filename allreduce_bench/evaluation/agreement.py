"""Correct results and equal bits: what schedules guarantee, what was measured, and where the two contradict each other.

`agreements` and `bits_sentences` are about the bits of one run; `wrong_clusters` is about wrong results, of one run or
of several whose rows are given together. All are made from summary rows, with the standard library only.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import comb
from typing import Literal, NamedTuple

from ..runs.dtypes import is_float
from ..runs.folder import CellKey
from ..runs.plan import Plan
from ..runs.rows import Row
from ..units import format_size, format_time, spans
from .competing import competing
from .summary_row import SummaryRow, time_of

# equal bits
Between = Literal["same_bits", "same_bits_calls", "same_bits_launches"]
Promise = Literal["promised_same_bits", "promised_rank_order", "promised_depth"]
BETWEEN: dict[Between, str] = {  # column -> what is compared
    "same_bits": "ranks",
    "same_bits_calls": "calls",
    "same_bits_launches": "launches",
}
PROMISED: tuple[Promise, ...] = ("promised_same_bits", "promised_rank_order", "promised_depth")
BUG = "a bug in the executor or in the MPI, or a hardware fault"

# wrong results
ALARM = 0.01  # chance that a set of results whose wrong ones fall at random is said to have a cluster, at most
FEWEST_WRONG = 3  # results: fewer are no cluster, wherever they are
KINDS = SIZE, BYTES_PER_RANK = "size", "n/p"


class Agreement(NamedTuple):
    """The sizes of one algorithm at one rank count with the same guarantees and measurements."""

    ranks: int
    algorithm: str
    sizes: str
    promised: dict[Promise, int | None]  # the columns of PROMISED; None: no guarantee
    measured: dict[Between, int | None]  # the columns of BETWEEN: 1, 0; None: not compared
    lengths: int | None  # `same_bits_lengths`, at all sizes that were compared with a shorter one
    shared_with: str  # algorithms with the same bits at these sizes
    time: str  # at the largest of them


class WrongCluster(NamedTuple):
    """One value at which wrong results cluster."""

    kind: str  # SIZE or BYTES_PER_RANK
    size_bytes: Fraction  # the value
    wrong: int  # results there
    checked: int
    all_wrong: int  # results everywhere
    all_checked: int
    p_value: float  # corrected for the number of values


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


def agreements(rows: Sequence[SummaryRow]) -> list[Agreement]:
    """Return the findings about the bits of every algorithm, at the sizes where they were compared."""
    compared = [row for row in competing(rows) if row.get("same_bits") is not None]
    order = list(dict.fromkeys(map(_series_key, compared)))
    alike_rows: dict[tuple, list[SummaryRow]] = {}
    for row in sorted(compared, key=lambda row: order.index(_series_key(row))):
        facts = (*(row.get(name) for name in (*PROMISED, *BETWEEN)), _describe_sharing(row, compared))
        alike_rows.setdefault((_series_key(row), facts), []).append(row)
    return [_agreement_of(alike, compared, sharing) for (_, (*_, sharing)), alike in alike_rows.items()]


def _series_key(row: SummaryRow) -> tuple:
    """Return rank count and algorithm: the key of a table line."""
    return row["ranks"], row["competitor"]


def _agreement_of(alike: Sequence[SummaryRow], compared: Sequence[SummaryRow], sharing: str) -> Agreement:
    first = alike[0]
    timed = max((row for row in alike if row["time_s"] is not None), key=lambda row: row["size_bytes"], default=None)
    return Agreement(
        first["ranks"],
        first["competitor"],
        _format_sizes(alike, [row for row in compared if row["ranks"] == first["ranks"]]),
        {name: first.get(name) for name in PROMISED},
        {name: first.get(name) for name in BETWEEN},
        min((same for row in alike if (same := row.get("same_bits_lengths")) is not None), default=None),
        sharing,
        f"{format_time(time_of(timed))} at {format_size(timed['size_bytes'])}" if timed else "",
    )


def _describe_sharing(row: SummaryRow, compared: Iterable[SummaryRow]) -> str:
    """Format the other algorithms with the same bits as this row: `ring, tree`, or `all others` of three or more."""
    rivals = [other for other in compared if (other["ranks"], other["size_bytes"]) == (row["ranks"], row["size_bytes"])]
    others = {other["competitor"]: other["bits"] for other in rivals if other["competitor"] != row["competitor"]}
    names = [name for name, bits in others.items() if bits is not None and bits == row["bits"]]
    return "all others" if len(names) == len(others) > 2 else ", ".join(names)


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


def wrong_clusters(rows: Iterable[SummaryRow]) -> list[WrongCluster]:
    """Find the values at which wrong results cluster, the least likely one first; `rows` as of `summarise`.

    A value is a size, or a number of bytes per rank (n/p). A result is that of one cell in one launch: right or wrong.
    If wrong results fell on the checked ones at random, their number at a value would be hypergeometric; a cluster is a
    value with so many that chance would bring them to any tested value with a probability below ALARM (Bonferroni, over
    both kinds of value). If a size and an n/p share wrong results, only the less likely one is returned.
    """
    counted = [row for row in rows if row.get("checked_launches")]
    wrong, checked = Counter[tuple[str, Fraction]](), Counter[tuple[str, Fraction]]()
    for row in counted:
        for kind in KINDS:
            wrong[kind, _value(row, kind)] += row["wrong_launches"]
            checked[kind, _value(row, kind)] += row["checked_launches"]
    all_wrong = sum(row["wrong_launches"] for row in counted)
    all_checked = sum(row["checked_launches"] for row in counted)
    clusters = [
        WrongCluster(*value, number, checked[value], all_wrong, all_checked, p_value)
        for value, number in wrong.items()
        if number >= FEWEST_WRONG
        if (p_value := len(checked) * chance(number, checked[value], all_wrong, all_checked)) < ALARM
    ]
    told: list[WrongCluster] = []
    for cluster in sorted(clusters, key=lambda cluster: cluster.p_value):
        if not any(_results(counted, cluster) & _results(counted, other) for other in told):
            told.append(cluster)
    return told


def chance(wrong: int, checked: int, all_wrong: int, all_checked: int) -> float:
    """Return the hypergeometric probability that `wrong` or more of `all_wrong` fall on `checked` of `all_checked`."""
    ways = sum(
        comb(checked, number) * comb(all_checked - checked, all_wrong - number)
        for number in range(wrong, min(checked, all_wrong) + 1)
    )
    return float(Fraction(ways, comb(all_checked, all_wrong)))


def _value(row: SummaryRow, kind: str) -> Fraction:
    return Fraction(row["size_bytes"], 1 if kind == SIZE else row["ranks"])


def _results(rows: Sequence[SummaryRow], cluster: WrongCluster) -> set[int]:
    """Return the indices of the rows whose wrong results are in a cluster."""
    return {
        number
        for number, row in enumerate(rows)
        if row["wrong_launches"] and _value(row, cluster.kind) == cluster.size_bytes
    }
