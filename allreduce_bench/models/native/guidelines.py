"""Where a library's own all-reduce violates a performance guideline: the library itself does as much in less time.

Träff, Gropp and Thakur, "Self-consistent MPI performance guidelines", IEEE TPDS 21(5), 2010: no operation of a library
is slower than the same made of its other operations, and fewer data do not take longer than more. Here:

    all-reduce of n   <=  reduce + broadcast of n                          native:reduce+bcast
    all-reduce of n   <=  reduce-scatter + allgather of n, equal blocks    native:reduce_scatter_block+allgather
    all-reduce of n   <=  the same with blocks of any length               native:reduce_scatter+allgatherv
    all-reduce of n   <=  all-reduce of m, n < m                           it could pad the vector
    all-reduce of kn  <=  k all-reduces of n                               it could cut the vector

The first three need their mock-ups, `cell.MOCKUPS`, measured in the same launches (Hunold and Carpen-Amarie, HPC Asia
2018). They are called from Python, so native called from Python is what is held against them.
"""

from collections.abc import Iterator, Sequence

from ...evaluation.summary_row import SummaryRow, time_of
from ...runs.cell import MOCKUP, MOCKUPS, NATIVE
from ...units import format_size, format_time, in_ranks
from .comparison import NativeComparison, Pair, called_alike, of_library, told

LARGER, SMALLER = "itself at the next larger size", "itself at the next smaller size, repeated"
MADE = {name: f"no slower than {' + '.join(functions)}" for name, functions in MOCKUPS.items()}
MONOTONY, SPLIT = "no slower than for more bytes", "no slower than in pieces"
GUIDELINES = (*MADE.values(), MONOTONY, SPLIT)


def comparisons(rows: Sequence[SummaryRow]) -> list[NativeComparison]:
    """Every comparison that a guideline asks of the trusted rows of one run."""
    pairs: list[Pair] = []
    for alike in called_alike(rows):
        mockups = {(row["algorithm"], row["nbytes"]): row for row in alike if row["executor"] == MOCKUP}
        for own_rows in of_library(alike):
            pairs += [*_against_mockups(own_rows, mockups), *_against_itself(own_rows)]
    return told(pairs)


def guidelines_sentence(compared: Sequence[NativeComparison]) -> str:
    """How many of the comparisons violate a guideline, and the worst of them, in one sentence."""
    violated = [comparison for comparison in compared if comparison.slower]
    if not violated:
        return f"Native violates no guideline in {len(compared)} comparisons."
    worst = max(violated, key=lambda comparison: comparison.factor)
    size = format_size(worst.nbytes)
    slower = f"{worst.times} slower at {size} than in pieces"
    if worst.expected != SPLIT:
        against = " + ".join(MOCKUPS[worst.against]) if worst.against in MOCKUPS else worst.against
        slower = f"{worst.times} slower than {against} at {size}"
    return (
        f"Native violates a guideline in {len(violated)} of {len(compared)} comparisons, the worst on"
        f" {in_ranks([worst.ranks])}: {slower}."
    )


def _against_mockups(own_rows: Sequence[SummaryRow], mockups: dict[tuple[str, int], SummaryRow]) -> Iterator[Pair]:
    for row in own_rows:
        for name, expected in MADE.items():
            made = mockups.get((name, row["nbytes"]))
            if made and row["algorithm"] == NATIVE:
                yield Pair(expected, row, made, name, format_time(time_of(made)))


def _against_itself(own_rows: Sequence[SummaryRow]) -> Iterator[Pair]:
    """Neighbouring sizes: with all pairs, one slow cell would violate the rule many times."""
    for smaller, larger in zip(own_rows, own_rows[1:]):
        smaller_time, larger_time = map(_time_at_size, (smaller, larger))
        yield Pair(MONOTONY, smaller, larger, LARGER, larger_time)
        pieces, rest = divmod(larger["nbytes"], smaller["nbytes"])
        if not rest and pieces > 1:
            yield Pair(SPLIT, larger, _scaled(smaller, pieces), SMALLER, f"{pieces} times {smaller_time}")


def _time_at_size(row: SummaryRow) -> str:
    return f"{format_time(time_of(row))} at {format_size(row['nbytes'])}"


def _scaled(row: SummaryRow, factor: int) -> SummaryRow:
    """The row of something that takes `factor` times as long."""
    return {
        **row,
        "time_s": factor * time_of(row),
        "time_low_s": factor * row["time_low_s"],
        "time_high_s": factor * row["time_high_s"],
        "launch_medians": {name: factor * time_s for name, time_s in row["launch_medians"].items()},
    }
