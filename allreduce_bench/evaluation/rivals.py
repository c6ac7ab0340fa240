"""A library's own all-reduce compared with its rivals and with its parts, launch by launch: slower or not.

Rivals (`rival_comparisons`) are other all-reduces of the same run. Parts (`part_comparisons`) are what the library's
other operations make of one, such as reduce + broadcast (`cell.MOCKUPS`), measured in the same launches. They are
called from Python, so they are compared with native called from Python.

Slower: as a standing is (`evaluation.rounds`), in nearly all rounds and by 5 % in the median. Doubtful or unreliable
times are not compared.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import NamedTuple

from ..runs.competitor import NATIVE, Competitor
from ..runs.schema import SLOWER
from ..units import format_size, format_time, in_ranks, three_digits
from .competing import competing, mockups
from .grade import GOOD, MOST_FACTOR, NOT_RELIABLE
from .rounds import ratios_by_round, relation, times_by_round
from .summary_row import SummaryRow, time_of


class NativeComparison(NamedTuple):
    """Comparison of the library's own all-reduce at one number of ranks and size with an alternative."""

    algorithm: str  # name of the library's all-reduce
    ranks: int
    size_bytes: int
    against: str  # the alternative
    detail: str  # time of the alternative, in words
    factor: float  # own time over that of the alternative
    worst: float | None  # the least ratio in any round; None: no common round
    launches: int  # rounds that both have
    slower: bool  # see the module
    grade: str = GOOD  # of the times

    @property
    def is_beyond_telling(self) -> bool:
        """Return whether the factor is withheld, because the grade is not good."""
        return self.factor > MOST_FACTOR and self.grade != GOOD

    @property
    def times(self) -> str:
        """Return how many times as long it takes, in words."""
        return f"more than {MOST_FACTOR} times" if self.is_beyond_telling else f"{three_digits(self.factor)} times"

    @property
    def worst_round(self) -> str:
        """Return ` (1.30 in the worst of 5 launches)`; empty where the factor is withheld."""
        if self.worst is None or self.is_beyond_telling:
            return ""
        return f" ({three_digits(self.worst)} in the worst of {self.launches} launches)"


class Pair(NamedTuple):
    """Rows to compare."""

    own: SummaryRow
    other: SummaryRow
    name: str  # of the alternative
    detail: str


def rival_comparisons(rows: Sequence[SummaryRow]) -> list[NativeComparison]:
    """Compare native with every other all-reduce of its ranks and size, called alike; trusted rows only."""
    pairs = [
        _pair(row, rival)
        for alike in called_alike(rows)
        for own_rows in of_library(alike)
        for row in own_rows
        for rival in alike
        if rival["size_bytes"] == row["size_bytes"]
        and rival["competitor"] != row["competitor"]
        and not Competitor(rival["competitor"]).is_mockup
    ]
    return list(map(_compared, pairs))


def part_comparisons(rows: Sequence[SummaryRow]) -> list[NativeComparison]:
    """Compare native with what the library's other operations make of an all-reduce; trusted rows only."""
    pairs = [
        _pair(row, made)
        for alike in called_alike(rows)
        for row in alike
        for made in alike
        if row["competitor"] == NATIVE
        and Competitor(made["competitor"]).is_mockup
        and made["size_bytes"] == row["size_bytes"]
    ]
    return list(map(_compared, pairs))


def _pair(own: SummaryRow, other: SummaryRow) -> Pair:
    return Pair(own, other, other["competitor"], format_time(time_of(other)))


def called_alike(rows: Sequence[SummaryRow]) -> Iterator[list[SummaryRow]]:
    """Yield the trusted rows of one run by ranks, mock-ups included, each by size.

    First those called from Python, then those called compiled: a comparison of both would judge the interpreter.
    """
    timed = [
        row for row in (*competing(rows), *mockups(rows)) if row["time_s"] and row["size_bytes"] and row["ranks"] > 1
    ]
    trusted = [row for row in timed if not row.get("doubt") and row.get("grade") != NOT_RELIABLE]
    trusted.sort(key=lambda row: (row["ranks"], row["size_bytes"]))
    for _, group in groupby(trusted, itemgetter("ranks")):
        of_group = list(group)
        yield [row for row in of_group if not Competitor(row["competitor"]).is_compiled]
        yield [row for row in of_group if Competitor(row["competitor"]).is_compiled]


def of_library(rows: Sequence[SummaryRow]) -> list[list[SummaryRow]]:
    """Return the rows of each of the library's own all-reduces; imported logs may have several."""
    names = dict.fromkeys(row["competitor"] for row in rows if is_native(row))
    return [[row for row in rows if row["competitor"] == name] for name in names]


def is_native(row: SummaryRow) -> bool:
    """Return whether it is an all-reduce of the library, called from Python or compiled."""
    return Competitor(row["competitor"]).is_native


def _compared(pair: Pair) -> NativeComparison:
    own, medians = pair.own, (pair.own["launch_medians"], pair.other["launch_medians"])
    ratios = ratios_by_round(*medians)
    return NativeComparison(
        own["competitor"],
        own["ranks"],
        own["size_bytes"],
        pair.name,
        pair.detail,
        factor=time_of(own) / time_of(pair.other),
        worst=min(ratios.values(), default=None),
        launches=len(ratios),
        slower=relation(*map(times_by_round, medians)) == SLOWER,
        grade=own.get("grade", GOOD),
    )


def parts_sentence(compared: Sequence[NativeComparison]) -> str:
    """Return where native is slowest against what the library's other operations make of it; empty: nowhere."""
    slower = [comparison for comparison in compared if comparison.slower]
    if not slower:
        return ""
    worst = max(slower, key=lambda comparison: comparison.factor)
    return (
        f"{worst.against} of the same library beats native on {in_ranks([worst.ranks])} at "
        f"{format_size(worst.size_bytes)}: native takes {worst.times} as long ({len(slower)} of {len(compared)} "
        "comparisons)"
    )


def rivals_sentence(compared: Sequence[NativeComparison]) -> str:
    """Return a sentence: in how many of the comparisons native is slower, and the worst of them."""
    slower = [comparison for comparison in compared if comparison.slower]
    if not slower:
        return f"Native is shown to be slower than no rival in {len(compared)} comparisons."
    worst = max(slower, key=lambda comparison: comparison.factor)
    return (
        f"Native is slower than a rival in {len(slower)} of {len(compared)} comparisons, the worst on "
        f"{in_ranks([worst.ranks])}: {worst.times} slower than {worst.against} at {format_size(worst.size_bytes)}."
    )


def slower_lines(compared: Sequence[NativeComparison]) -> list[dict[str, str]]:
    """Return rows in words of what is slower, by kind: ranks, algorithm, against, sizes, worst."""
    kind = attrgetter("ranks", "algorithm", "against")
    lines = []
    for (ranks, algorithm, against), group in groupby(sorted(compared, key=kind), kind):
        sizes_in_order = sorted(group, key=attrgetter("size_bytes"))
        slower = [comparison for comparison in sizes_in_order if comparison.slower]
        if slower:
            worst = max(slower, key=attrgetter("factor"))
            line = {
                "ranks": str(ranks),
                "algorithm": algorithm,
                "against": against,
                "sizes": _sizes_in_words(sizes_in_order),
            }
            factor = f"{worst.times}{worst.worst_round} at {format_size(worst.size_bytes)}"
            lines.append({**line, "worst": f"{factor}, against {worst.detail}"})
    return lines


def _sizes_in_words(sizes_in_order: Sequence[NativeComparison]) -> str:
    """Return the sizes at which it is slower, neighbours together: `8 B, 64 KiB to 1 MiB`."""
    spans = []
    for slower, group in groupby(sizes_in_order, lambda comparison: comparison.slower):
        sizes = [format_size(comparison.size_bytes) for comparison in group]
        if slower:
            spans.append(sizes[0] if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}")
    return ", ".join(spans)
