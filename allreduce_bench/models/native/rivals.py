"""Where a library's own all-reduce is slower than another all-reduce of the same run: a rival.

Rivals are no guidelines (`guidelines`): they are not made of the library's operations, and it need not know them.
"""

from collections.abc import Sequence

from ...evaluation.summary_row import SummaryRow, competitor_of, time_of
from ...runs.cell import MOCKUP
from ...units import format_size, format_time, in_ranks
from .comparison import NativeComparison, Pair, called_alike, of_library, told

RIVAL = "no slower than another all-reduce"


def rival_comparisons(rows: Sequence[SummaryRow]) -> list[NativeComparison]:
    """Native against every other all-reduce of its ranks, size and cache, called alike; trusted rows of one run."""
    pairs = [
        Pair(RIVAL, row, rival, competitor_of(rival), format_time(time_of(rival)))
        for alike in called_alike(rows)
        for own_rows in of_library(alike)
        for row in own_rows
        for rival in alike
        if rival["nbytes"] == row["nbytes"]
        and competitor_of(rival) != competitor_of(row)
        and rival["executor"] != MOCKUP
    ]
    return told(pairs)


def rivals_sentence(compared: Sequence[NativeComparison]) -> str:
    """In how many of the comparisons native is slower, and the worst of them, in one sentence."""
    slower = [comparison for comparison in compared if comparison.slower]
    if not slower:
        return f"Native is shown to be slower than no rival in {len(compared)} comparisons."
    worst = max(slower, key=lambda comparison: comparison.factor)
    return (
        f"Native is slower than a rival in {len(slower)} of {len(compared)} comparisons, the worst on"
        f" {in_ranks([worst.ranks])}: {worst.times} slower than {worst.against} at {format_size(worst.nbytes)}."
    )
