"""The winners over ranges of sizes, their advantage, and the switch points between them: facts, from standings.

A stretch is a range of neighbouring sizes with a common leader, an algorithm that is nowhere shown to be slower. It
ends only where the data show it, so that noise does not split it. It extends from the first to the last size at which
that is shown; undecided sizes in between are its exceptions. An algorithm without a time at a size may be the fastest.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..runs.cell import native_beside
from ..stats import geometric_mean, log_interval
from .cell_times import MIN_LAUNCHES
from .competitors import tables
from .contest import Contest, contest_of, has_enough_calls, told_means
from .factor import factor_of
from .grade import NOT_RELIABLE
from .hand_over import HandOver, hand_over
from .single_algorithm import Performance, performance
from .standing import EQUAL, FASTEST, SLOWER, UNCLEAR
from .summary_row import SummaryRow, competitor_of, time_of
from .telling import ERROR_SHARE, NEGLIGIBLE, launch_ratios

LEAST_TOGETHER = 4  # sizes: fewer say little more together than alone
ONE = "one algorithm"  # at most one was ranked at any size
FEW_LAUNCHES, FEW_CALLS = "few launches", "few calls"
ALL_EQUAL = "all equal"
UNRELIABLE = "not reliable"  # as the grade says
DOUBTED = "doubted times"  # those that may be lower than all others cannot be ranked
NOISE = "noise"  # launches differ by more than algorithms do

Sizes = Mapping[int, Mapping[str, SummaryRow]]  # nbytes, ascending -> algorithm -> its row, of those that are ranked


class Advantage(NamedTuple):
    """How many times longer a rival takes than the first leader of a stretch; see `factor`."""

    rival: str
    times_s: tuple[tuple[float, float], ...]  # of the rival and of the leader, at each size at which both are ranked
    low: float  # ends of the interval of `factor` over launches
    high: float
    launches: int  # of which it is made

    @property
    def factor(self) -> float:
        """The geometric mean over the sizes of the ratio of their times."""
        return geometric_mean([rival_s / leader_s for rival_s, leader_s in self.times_s])


class Stretch(NamedTuple):
    """Neighbouring sizes with the same leaders."""

    low: int  # bytes
    high: int
    leaders: tuple[str, ...]  # nowhere shown to be slower than the lowest time, by ascending time; a winner first
    is_won: bool  # the first of them is shown to be the fastest, from low to high but for the exceptions
    is_equal: bool  # of several leaders: they are shown to be as fast as each other
    exceptions: tuple[int, ...]  # sizes between low and high at which this is not shown
    advantage: Advantage | None  # over native called alike, or of native over the next; None: there is nobody to name
    time_s: float  # of the first leader at the largest size
    absent: tuple[str, ...]  # who has no time that can be ranked at some size that is no exception


class Verdict(NamedTuple):
    """The verdict on one number of ranks and cache."""

    ranks: int
    cache: str
    stretches: tuple[Stretch, ...]
    hand_overs: tuple[
        HandOver | None, ...
    ]  # from each stretch to the next, between their first leaders; None: not shown
    unclear: tuple[int, ...]  # sizes outside of the stretches
    grade: str  # of the times: a name of grade.GRADES
    together: Stretch | None = None  # all sizes, where no stretch is won and all together show who is the fastest
    reason: str = ""  # why there is no stretch
    alone: Performance | None = None  # of the only algorithm, where there is but one


def verdicts(rows: Sequence[SummaryRow]) -> list[Verdict]:
    """One verdict per number of ranks above 1, with a warm cache if that was measured; rows have a `standing`."""
    measured = tables(rows)
    cache = "warm" if any(cache == "warm" for _, cache in measured) else "cold"
    return [
        _verdict(ranks, cache, {nbytes: rows for nbytes, rows in sizes.items() if nbytes})
        for (ranks, cache_of_table), sizes in sorted(measured.items())
        if ranks > 1 and cache_of_table == cache and any(sizes)
    ]


def _verdict(ranks: int, cache: str, rows_by_size: Mapping[int, Sequence[SummaryRow]]) -> Verdict:
    grade = next(row["grade"] for rows in rows_by_size.values() for row in rows)
    contests = {nbytes: contest for nbytes, rows in rows_by_size.items() if (contest := contest_of(rows))}
    sizes = {nbytes: contest.rows for nbytes, contest in contests.items()}
    names = {competitor_of(row) for rows in rows_by_size.values() for row in rows}
    leaders = {nbytes: _leaders(contest.rows, names) for nbytes, contest in contests.items() if _is_told(contest)}
    if not leaders:
        reason = _why_nothing_is_told(contests, grade)
        alone = performance(ranks, cache, rows_by_size)
        return Verdict(ranks, cache, (), (), tuple(sizes), grade, _together(contests), reason, alone)
    parts = [_Part(group, _by_time(common, group, sizes)) for group, common in _cut(leaders, sizes)]
    overs = [
        hand_over(sizes, leaders, (before.names[0], before.sizes), (after.names[0], after.sizes))
        for before, after in zip(parts, parts[1:])
    ]
    stretches = tuple(_stretch(part, sizes, rows_by_size) for part in parts)
    won = any(stretch.is_won for stretch in stretches)
    unclear = [n for n in sizes if not any(stretch.low <= n <= stretch.high for stretch in stretches)]
    together = None if won or len(stretches) > 1 else _together(contests, stretches[0].leaders)
    return Verdict(ranks, cache, stretches, tuple(overs), tuple(unclear), grade, together)


class _Part(NamedTuple):
    """Decided sizes with common leaders."""

    sizes: list[int]
    names: tuple[str, ...]  # of the leaders, as in Stretch


def _is_told(contest: Contest) -> bool:
    """Whether any algorithm is shown to be slower than the lowest time, with enough launches and calls."""
    standings = {row["standing"] for row in contest.rows.values()}
    return contest.is_open and (FASTEST in standings or (SLOWER in standings and not _lack(contest.rows)))


def _leaders(rows: Mapping[str, SummaryRow], names: Iterable[str]) -> frozenset[str]:
    """Those of `names` that are not shown to be slower; algorithms that are not ranked count as such."""
    return frozenset(name for name in names if name not in rows or rows[name]["standing"] != SLOWER)


def _cut(leaders: Mapping[int, frozenset[str]], sizes: Sizes) -> Iterator[tuple[list[int], frozenset[str]]]:
    """The fewest groups of neighbouring sizes with common leaders, from the smallest size on, and their leaders.

    An algorithm that is not ranked at a size may lead there, but a leader must be ranked at some size of the group.
    """
    group: list[int] = []
    common: frozenset[str] = frozenset()
    for nbytes, names in leaders.items():
        if group and not common & names:
            yield group, common
            group = []
        ranked = names & sizes[nbytes].keys()
        common = common & names if group else ranked
        group.append(nbytes)
    yield group, common


def _by_time(names: Iterable[str], group: Sequence[int], sizes: Sizes) -> tuple[str, ...]:
    """Algorithms that are the fastest at some size first, then by the geometric mean over their sizes."""

    def key(name: str) -> tuple[bool, float]:
        rows = [(sizes[nbytes][name], sizes[nbytes]) for nbytes in group if name in sizes[nbytes]]
        wins = any(row["standing"] == FASTEST for row, _ in rows)
        slowdown = [time_of(row) / min(map(time_of, others.values())) for row, others in rows]
        return not wins, geometric_mean(slowdown)

    return tuple(sorted(names, key=key))


def _stretch(part: _Part, sizes: Sizes, measured: Mapping[int, Sequence[SummaryRow]]) -> Stretch:
    """The stretch of the leaders of a part; `measured`: all rows by size, ranked or not."""
    first = part.names[0]
    won = [nbytes for nbytes in part.sizes if first in sizes[nbytes] and sizes[nbytes][first]["standing"] == FASTEST]
    shown = won or [nbytes for nbytes in part.sizes if first in sizes[nbytes]]
    rows_shown = {nbytes: sizes[nbytes] for nbytes in shown}
    standings = {rows[name]["standing"] for rows in rows_shown.values() for name in part.names if name in rows}
    names = dict.fromkeys(competitor_of(row) for rows in measured.values() for row in rows)
    return Stretch(
        shown[0],
        shown[-1],
        (first,) if won else part.names,
        is_won=bool(won),
        is_equal=not won and len(part.names) > 1 and UNCLEAR not in standings,
        exceptions=tuple(nbytes for nbytes in measured if shown[0] < nbytes < shown[-1] and nbytes not in shown),
        advantage=_advantage((first,) if won else part.names, rows_shown),
        time_s=time_of(sizes[shown[-1]][first]),
        absent=tuple(name for name in names if any(name not in rows for rows in rows_shown.values())),
    )


def _advantage(names: tuple[str, ...], sizes: Sizes) -> Advantage | None:
    """The advantage over native, or over the next algorithm if native leads; None if the launches do not show it."""
    first = names[0]
    rivals = dict.fromkeys(name for rows in sizes.values() for name in rows if name not in names)
    common = {name: [rows for rows in sizes.values() if name in rows and first in rows] for name in rivals}
    scores = {
        name: geometric_mean([time_of(rows[name]) / time_of(rows[first]) for rows in shared])
        for name, shared in common.items()
        if shared
    }
    native = native_beside(next(rows[first].get("executor") for rows in sizes.values() if first in rows))
    if not scores or native in names[1:]:
        return None
    rival = native if native in scores else min(scores, key=scores.__getitem__)
    both = [(rows[rival], rows[first]) for rows in common[rival]]
    factor = factor_of([(row["launch_medians"], leader["launch_medians"]) for row, leader in both])
    if factor.low is None or factor.high is None or min(factor.low, _least_mean(both)) <= 1:
        return None
    times_s = tuple((time_of(row), time_of(leader)) for row, leader in both)
    return Advantage(rival, times_s, factor.low, factor.high, factor.launches)


def _least_mean(pairs: Sequence[tuple[SummaryRow, SummaryRow]]) -> float:
    """What the ratio of the first to the second is at least, by its means over the sizes of single launches (95 %).

    Of 3 launches that is more cautious than the interval of their medians. All pairs have MIN_LAUNCHES in common.
    """
    ratios = [launch_ratios(*pair) for pair in pairs]
    launches = [launch for launch in ratios[0] if all(launch in of_size for of_size in ratios)]
    return log_interval([geometric_mean([of_size[launch] for of_size in ratios]) for launch in launches])[0]


def _together(contests: Mapping[int, Contest], leaders: Collection[str] = ()) -> Stretch | None:
    """All sizes as one stretch, with a leader that is shown to be faster than each other algorithm in the mean.

    And seems to be in the mean over either half of the sizes; one of `leaders`, where there are any. In at most
    telling.ERROR_SHARE of tables of equals.
    """
    sizes = {nbytes: contest.rows for nbytes, contest in contests.items() if contest.is_open}
    ranked = list(sizes)
    if len(ranked) < LEAST_TOGETHER:
        return None
    names = _by_time({name for rows in sizes.values() for name in rows}, ranked, sizes)
    first = min(names, key=lambda name: (any(name not in rows for rows in sizes.values()), names.index(name)))
    parts = (ranked, ranked[: len(ranked) // 2], ranked[len(ranked) // 2 :])
    others = [name for name in names if name != first]
    told = told_means(contests, [(name, first, part) for part in parts for name in others])
    seems = all(difference and difference.ratio > NEGLIGIBLE for difference in told)
    if not seems or max(difference.p_value for difference in told[: len(others)] if difference) > ERROR_SHARE:
        return None
    if leaders and first not in leaders:
        return None
    last = max(nbytes for nbytes, rows in sizes.items() if first in rows)
    advantage, time_s = _advantage((first,), sizes), time_of(sizes[last][first])
    return Stretch(ranked[0], ranked[-1], (first,), False, False, (), advantage, time_s, ())


def _lack(rows: Mapping[str, SummaryRow]) -> str:
    """FEW_LAUNCHES or FEW_CALLS if two ranked algorithms or more have too few of them; else empty."""
    if min(row["launches"] for row in rows.values()) < MIN_LAUNCHES:
        return FEW_LAUNCHES
    return "" if all(map(has_enough_calls, rows.values())) else FEW_CALLS


def _why_nothing_is_told(contests: Mapping[int, Contest], grade: str) -> str:
    if not contests:
        return ONE
    if grade == NOT_RELIABLE:
        return UNRELIABLE
    lacks = [_lack(contest.rows) for contest in contests.values()]
    if all(lacks):
        return FEW_LAUNCHES if FEW_LAUNCHES in lacks else FEW_CALLS
    if not any(contest.is_open for contest in contests.values()):
        return DOUBTED
    equal = all(row["standing"] in (EQUAL, SLOWER) for contest in contests.values() for row in contest.rows.values())
    return ALL_EQUAL if equal else NOISE
