"""Where a library's own all-reduce breaks a performance guideline: something that it could have done is faster.

Träff, Gropp and Thakur, "Self-consistent MPI performance requirements", IEEE TPDS 21(5), 2010: no operation of a
library is slower than the same made of its other operations, and fewer data do not take longer than more. Here:

    all-reduce of n   <=  any other all-reduce of n              it could have run that one
    all-reduce of n   <=  reduce + broadcast of n                such as tree and parameter_server
    all-reduce of n   <=  all-reduce of m, n < m                 it could pad the vector
    all-reduce of kn  <=  k all-reduces of n                     it could cut the vector

One is broken where the launches show it, by what `evaluation.telling` asks of all comparisons together: in at most 5 %
of runs of a library that keeps them all is any called broken. Times that something speaks against, or that are not
reliable, are not compared.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from ...algorithms import builtin
from ...evaluation.competitors import competing
from ...evaluation.grade import GOOD, MOST_FACTOR, NOT_RELIABLE
from ...evaluation.summary_row import SummaryRow, competitor_of, time_of
from ...evaluation.telling import Difference, differences, holm, launch_ratios
from ...runs.cell import COMPILED, NATIVE, NATIVES
from ...units import format_size, format_time, in_ranks, three_digits
from ..caches import cache_label
from .known import known_as

LARGER, SMALLER = "itself at the next larger size", "itself at the next smaller size, repeated"
REDUCE_BROADCAST = ("tree", "parameter_server")
OTHER, REDUCED = "no slower than another all-reduce", "no slower than reduce + broadcast"
MONOTONY, SPLIT = "no slower than for more bytes", "no slower than in pieces"
GUIDELINES = (OTHER, REDUCED, MONOTONY, SPLIT)


class GuidelineComparison(NamedTuple):
    """One guideline at one number of ranks and size."""

    guideline: str
    algorithm: str  # of the library
    cache: str
    ranks: int
    nbytes: int
    rival: str  # what it is held against
    detail: str  # the rival's time, in words
    factor: float  # its time over that of the rival
    low: float | None  # ends of the 95 % interval; None: too few launches in common
    high: float | None
    broken: bool
    grade: str = GOOD  # of the times

    @property
    def is_beyond_telling(self) -> bool:
        """Whether it is not said how many times, since the grade is not good."""
        return self.factor > MOST_FACTOR and self.grade != GOOD


class _Pair(NamedTuple):
    """What a guideline holds against what."""

    guideline: str
    own: SummaryRow
    rival: SummaryRow
    name: str  # of the rival
    detail: str

    @property
    def ratios(self) -> list[float]:
        return list(launch_ratios(self.own, self.rival).values())


def comparisons(rows: Sequence[SummaryRow]) -> list[GuidelineComparison]:
    """Every comparison that a guideline asks of the trusted rows of one run, broken or not."""
    pairs: list[_Pair] = []
    timed = [row for row in competing(rows) if row["time_s"] and row["nbytes"] and row["ranks"] > 1]
    trusted = [row for row in timed if not row.get("doubt") and row.get("grade") != NOT_RELIABLE]
    trusted.sort(key=lambda row: (row["ranks"], row["cache"], row["nbytes"]))
    for _, group_rows in groupby(trusted, lambda row: (row["ranks"], row["cache"])):
        for rivals in _called_alike(list(group_rows)):
            for name in dict.fromkeys(competitor_of(row) for row in rivals if _is_native(row)):
                own_rows = [row for row in rivals if competitor_of(row) == name]
                pairs += [*_against_others(own_rows, rivals), *_against_itself(own_rows)]
    told = differences([pair.ratios for pair in pairs])
    broken = holm([difference.p_value if difference and difference.ratio > 1 else 1.0 for difference in told])
    return [_compared(*each) for each in zip(pairs, told, broken)]


def _called_alike(rows: Sequence[SummaryRow]) -> tuple[list[SummaryRow], list[SummaryRow]]:
    """Those called from Python, and those called compiled: a comparison of both would judge the interpreter."""
    compiled = [row for row in rows if row["executor"] in COMPILED]
    return [row for row in rows if row["executor"] not in COMPILED], compiled


def _is_native(row: SummaryRow) -> bool:
    return row["executor"] == NATIVE or competitor_of(row) == NATIVES[1]


def broken_guidelines(compared: Sequence[GuidelineComparison]) -> list[dict[str, str]]:
    """The broken ones in words, those of one kind together: guideline, ranks, algorithm, rival, sizes, worst."""

    kind = attrgetter("guideline", "ranks", "cache", "algorithm", "rival")
    compared = sorted(compared, key=lambda comparison: (GUIDELINES.index(comparison.guideline), kind(comparison)))
    lines = []
    for (_, ranks, cache, algorithm, rival), group in groupby(compared, kind):
        sizes_in_order = sorted(group, key=attrgetter("nbytes"))
        broken = [comparison for comparison in sizes_in_order if comparison.broken]
        if broken:
            worst = max(broken, key=lambda comparison: comparison.factor)
            interval = f" [{three_digits(worst.low)}, {three_digits(worst.high)}]" if worst.low and worst.high else ""
            interval = "" if worst.is_beyond_telling else interval
            factor = f"{_times(worst)}{interval} at {format_size(worst.nbytes)}"
            label = cache_label(cache)
            line = {"guideline": worst.guideline, "ranks": f"{ranks}{f', {label} cache' if label else ''}"}
            line |= {"algorithm": algorithm, "rival": rival, "sizes": _broken_sizes(sizes_in_order)}
            lines.append({**line, "worst": f"{factor}, against {worst.detail}"})
    return lines


def guidelines_sentence(compared: Sequence[GuidelineComparison]) -> str:
    """How many of the comparisons are broken, and the worst of them, in one sentence."""
    broken = [comparison for comparison in compared if comparison.broken]
    if not broken:
        return f"Native violates no guideline in {len(compared)} comparisons."
    worst = max(broken, key=lambda comparison: comparison.factor)
    slower = f"{_times(worst)} slower than {worst.rival} at {format_size(worst.nbytes)}"
    if worst.guideline == SPLIT:
        slower = f"{_times(worst)} slower at {format_size(worst.nbytes)} than in pieces"
    return (
        f"Native violates a guideline in {len(broken)} of {len(compared)} comparisons, the worst on"
        f" {in_ranks([worst.ranks])}: {slower}."
    )


def _times(comparison: GuidelineComparison) -> str:
    if comparison.is_beyond_telling:
        return f"more than {MOST_FACTOR} times"
    return f"{three_digits(comparison.factor)} times"


def _against_others(own_rows: Sequence[SummaryRow], rivals: Sequence[SummaryRow]) -> Iterator[_Pair]:
    for row in own_rows:
        for rival in rivals:
            if rival["nbytes"] == row["nbytes"] and competitor_of(rival) != competitor_of(row):
                name = competitor_of(rival)
                is_reduce_broadcast = known_as(rival["algorithm"], builtin()) in REDUCE_BROADCAST
                guideline = REDUCED if is_reduce_broadcast else OTHER
                yield _Pair(guideline, row, rival, name, format_time(time_of(rival)))


def _against_itself(own_rows: Sequence[SummaryRow]) -> Iterator[_Pair]:
    """Neighbouring sizes: with all pairs, one slow cell would break the rule many times."""
    for smaller, larger in zip(own_rows, own_rows[1:]):
        smaller_time, larger_time = map(_time_at_size, (smaller, larger))
        yield _Pair(MONOTONY, smaller, larger, LARGER, larger_time)
        pieces, rest = divmod(larger["nbytes"], smaller["nbytes"])
        if not rest and pieces > 1:
            yield _Pair(SPLIT, larger, _scaled(smaller, pieces), SMALLER, f"{pieces} times {smaller_time}")


def _time_at_size(row: SummaryRow) -> str:
    return f"{format_time(time_of(row))} at {format_size(row['nbytes'])}"


def _compared(pair: _Pair, told: Difference | None, is_answered: bool) -> GuidelineComparison:
    own = pair.own
    key = (competitor_of(own), own["cache"], own["ranks"], own["nbytes"])
    low, high = (told.low, told.high) if told else (None, None)
    factor = time_of(own) / time_of(pair.rival)
    broken = is_answered and not (told and told.is_equal)
    return GuidelineComparison(
        pair.guideline, *key, pair.name, pair.detail, factor, low, high, broken, own.get("grade", GOOD)
    )


def _scaled(row: SummaryRow, factor: int) -> SummaryRow:
    """The row of something that takes `factor` times as long."""
    return {
        **row,
        "time_s": factor * time_of(row),
        "time_low_s": factor * row["time_low_s"],
        "time_high_s": factor * row["time_high_s"],
        "launch_medians": {name: factor * time_s for name, time_s in row["launch_medians"].items()},
    }


def _broken_sizes(sizes_in_order: Sequence[GuidelineComparison]) -> str:
    """`8 B, 64 KiB to 1 MiB`: the sizes that are broken, neighbours together."""
    spans = []
    for broken, group in groupby(sizes_in_order, lambda comparison: comparison.broken):
        sizes = [format_size(comparison.nbytes) for comparison in group]
        if broken:
            spans.append(sizes[0] if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}")
    return ", ".join(spans)
