"""A library's all-reduce beside its parts: what the library's other operations make of one, such as reduce + broadcast.

They are measured in the same launches (`competitor.MOCKUPS`) and called from Python, so they are compared with native
called from Python. Slower: as a standing is (`evaluation.rounds`), in nearly all rounds and by 5 % in the median.
Doubtful or unreliable times are not compared.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..runs.competitor import NATIVE
from ..runs.schema import SLOWER
from ..units import format_size, in_ranks, three_digits
from .competing import competing, mockups
from .grade import GOOD, MOST_FACTOR, NOT_RELIABLE
from .rounds import relation, times_by_round
from .summary_row import SummaryRow, time_of


class PartComparison(NamedTuple):
    """Native at one number of ranks and size beside its mock-up."""

    ranks: int
    size_bytes: int
    against: str
    factor: float  # native's time over the mock-up's
    slower: bool  # native is shown to be slower
    grade: str  # of the times


def part_comparisons(rows: Sequence[SummaryRow]) -> list[PartComparison]:
    """Compare native with what the library's other operations make of an all-reduce; trusted rows only."""
    natives = [row for row in competing(rows) if row["competitor"] == NATIVE and _is_trusted(row)]
    return [
        _compare(native, made)
        for native in natives
        for made in mockups(rows)
        if (made["ranks"], made["size_bytes"]) == (native["ranks"], native["size_bytes"]) and _is_trusted(made)
    ]


def _is_trusted(row: SummaryRow) -> bool:
    is_timed = row["ranks"] > 1 and row["size_bytes"] and row["time_s"]
    return bool(is_timed) and not row.get("doubt") and row.get("grade") != NOT_RELIABLE


def _compare(native: SummaryRow, made: SummaryRow) -> PartComparison:
    rounds = (times_by_round(row["launch_medians"]) for row in (native, made))
    is_slower, factor = relation(*rounds) == SLOWER, time_of(native) / time_of(made)
    place = native["ranks"], native["size_bytes"]
    return PartComparison(*place, made["competitor"], factor, is_slower, native.get("grade", GOOD))


def parts_sentence(compared: Sequence[PartComparison]) -> str:
    """Return where native is slowest against the library's other operations; empty: nowhere."""
    slower = [comparison for comparison in compared if comparison.slower]
    if not slower:
        return ""
    worst = max(slower, key=lambda comparison: comparison.factor)
    is_withheld = worst.factor > MOST_FACTOR and worst.grade != GOOD
    times = f"more than {MOST_FACTOR} times" if is_withheld else f"{three_digits(worst.factor)} times"
    return (
        f"{worst.against} of the same library beats native on {in_ranks([worst.ranks])} at "
        f"{format_size(worst.size_bytes)}: native takes {times} as long ({len(slower)} of {len(compared)} comparisons)"
    )
