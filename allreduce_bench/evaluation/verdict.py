"""The fastest algorithm: at each size, over ranges of sizes, and the crossovers between them.

First `add_standings`: every row gets its `standing`, which table, map, page and JSON show. Only times without a `doubt`
are ranked. A table is the sizes of one number of ranks; in at most 5 % of tables of equal algorithms
any is called the fastest:

* The one with the lowest time is the fastest if every other one is shown to be slower, by a ratio whose estimate
  exceeds a margin. The largest of their p-values is that of the size, since all of them have to be slower at once
  (intersection-union test; Berger, Technometrics 24, 1982).
* Neighbouring sizes are further tests: the size and REACHES of them below, and the size and as many above. The ratio of
  two times is monotonic in the size, at least among neighbours; so it lies between its means over both sides, and an
  algorithm shown to be slower in both is slower at the size. The noise of a mean is less than that of a size.
* Holm's procedure (`stats.holm`) corrects for the tests at all sizes.
* No algorithm is the fastest where a doubted time may be lower (in some launch it is below the lowest ranked time), or
  where the grade of the times is "not reliable".

An algorithm that is not shown to be the fastest may still be shown to be faster than some: again by Holm's procedure
over all pairs of the table, each p-value times half the number of algorithms, since the lowest time was selected.

Then `verdicts`, from the standings: a stretch is a range of neighbouring sizes with a common leader, an algorithm that
is nowhere shown to be slower. It ends only where the data show it, so that noise does not split it. It extends from the
first to the last size at which that is shown; undecided sizes in between are its exceptions. An algorithm without a
time at a size may be the fastest. Between two stretches lies a crossover (`hand_over`).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from math import exp, log, sqrt
from statistics import fmean
from typing import NamedTuple

from ..runs.competitor import Competitor
from ..runs.schema import EQUAL, FASTEST, SLOWER, UNCLEAR
from ..stats import LEAST_FOR_INTERVAL, geometric_mean, log_interval
from .cell_times import APART, MIN_LAUNCHES, tables
from .grade import NOT_RELIABLE
from .single_algorithm import Performance, performance
from .spread import (
    ERROR_SHARE,
    NEGLIGIBLE,
    Difference,
    clipped_logarithms,
    differences,
    factor_of,
    launch_ratios,
    significant,
)
from .summary_row import SummaryRow, time_of

# how the fastest are found
FAR = 3.0  # a ratio of times that every launch exceeds: an algorithm so much slower is not "perhaps as fast"
NEIGHBOUR = 4  # the largest ratio of two neighbouring sizes
REACHES = (2, 5)  # neighbours on each side
LEAST_TOGETHER = 4  # sizes: fewer add little when taken together

# reasons for no verdict
ONE = "one algorithm"  # at most one was ranked at any size
FEW_LAUNCHES, FEW_CALLS = "few launches", "few calls"
ALL_EQUAL = "all equal"
UNRELIABLE = "not reliable"  # as the grade says
DOUBTED = "doubted times"  # those that may be lower than all others cannot be ranked
NOISE = "noise"  # launches differ by more than algorithms do

Pair = tuple[int, str, str]  # size_bytes, algorithm of the numerator, algorithm of the denominator
Question = tuple[str, str, Sequence[int]]  # algorithms of numerator and denominator, sizes taken together
Sizes = Mapping[
    int, Mapping[str, SummaryRow]
]  # size_bytes, ascending -> algorithm -> its row, of those that are ranked


class Contest(NamedTuple):
    """The ranked rows of one size."""

    rows: Mapping[str, SummaryRow]  # by algorithm
    lowest: str  # the algorithm of the lowest time
    is_open: bool  # times are reliable, and no doubted one may be lower

    @property
    def others(self) -> list[str]:
        """All algorithms but the one of the lowest time."""
        return [name for name in self.rows if name != self.lowest]


class HandOver(NamedTuple):
    """The crossover of two algorithms: the first is faster below it, the second above it."""

    before: str
    after: str
    low: int  # bytes: the last size at which the second one is shown to be slower
    high: int  # the first size at which the first one is shown to be slower
    size_bytes: float  # in between: where the times of both, straight lines between sizes (log-log), are equal


class Advantage(NamedTuple):
    """The ratio of the times of a rival and of the first leader of a stretch; see `spread.Factor`."""

    rival: str
    times_s: tuple[tuple[float, float], ...]  # of the rival and of the leader, at each size at which both are ranked
    low: float  # ends of the interval over launches
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
    advantage: Advantage | None  # over native called alike, or of native over the next; None: no rival, or not shown
    time_s: float  # of the first leader at the largest size
    absent: tuple[str, ...]  # algorithms without a ranked time at some size that is no exception


class Change(NamedTuple):
    """Where the library's own all-reduce changes its algorithm, as far as that was identified."""

    before: tuple[str, ...]  # one of these ran up to `low`
    after: tuple[str, ...]  # and one of these from `high` on
    low: int  # bytes
    high: int


class Verdict(NamedTuple):
    """The verdict on one number of ranks."""

    ranks: int
    stretches: tuple[Stretch, ...]
    # from each stretch to the next, between their first leaders; None: not shown
    hand_overs: tuple[HandOver | None, ...]
    unclear: tuple[int, ...]  # sizes outside of the stretches
    grade: str  # of the times: a name of grade.GRADES
    together: Stretch | None = None  # all sizes, if no stretch is won and all together show the fastest
    reason: str = ""  # why there is no stretch
    alone: Performance | None = None  # of the only algorithm, if there is but one
    changes: tuple[Change, ...] = ()  # of native
    native: tuple[str, ...] = ()  # one of these native ran at every size looked at; empty: it changes, or is unknown


def add_standings(rows: Sequence[SummaryRow]) -> None:
    """Set `standing` of all rows, which have a `doubt` and a `grade`; None: not ranked, or no rival is."""
    for row in rows:
        row["standing"] = None
    for sizes in tables(rows).values():
        contests = {
            size_bytes: contest
            for size_bytes, of_size in sizes.items()
            if size_bytes and (contest := contest_of(of_size))
        }
        _add_standings_of_table(contests)


def _add_standings_of_table(contests: Mapping[int, Contest]) -> None:
    """Set `standing` of the ranked rows of one table; `contests`: by size in bytes."""
    told = compared_pairs(contests)
    winning = _sizes_with_winner(contests, told)
    slower = _shown_slower(contests, told)
    for size_bytes, contest in contests.items():
        standings = {}
        for name in contest.others:
            difference = told.get((size_bytes, name, contest.lowest))
            if size_bytes in winning:
                standings[name] = SLOWER
            elif difference and difference.is_equal:
                standings[name] = EQUAL
            elif (size_bytes, name) in slower or _is_far(contest, name):
                standings[name] = SLOWER
            else:
                standings[name] = UNCLEAR
        is_equal = EQUAL in standings.values() and contest.is_open
        standings[contest.lowest] = FASTEST if size_bytes in winning else EQUAL if is_equal else UNCLEAR
        for name, standing in standings.items():
            contest.rows[name]["standing"] = standing


def _sizes_with_winner(contests: Mapping[int, Contest], told: Mapping[Pair, Difference]) -> set[int]:
    """Return the sizes at which the lowest time is shown to be the fastest."""
    tries = [(size_bytes, _p_value_of_size(size_bytes, contest, told)) for size_bytes, contest in contests.items()]
    for reach in REACHES:
        tries += _tries_with_neighbours(contests, reach)
    answered = significant([p_value for _, p_value in tries])
    return {size_bytes for (size_bytes, _), is_answered in zip(tries, answered) if is_answered}


def _p_value_of_size(size_bytes: int, contest: Contest, told: Mapping[Pair, Difference]) -> float:
    """Return the p-value of the lowest time being the fastest; 1 if unknown."""
    if not contest.is_open:
        return 1.0
    return _largest_p_value([told.get((size_bytes, name, contest.lowest)) for name in contest.others])


def _tries_with_neighbours(contests: Mapping[int, Contest], reach: int) -> Iterator[tuple[int, float]]:
    """Return the p-values of sizes with `reach` neighbours on each side, where these are near and within the table."""
    sizes = list(contests)
    asked: list[tuple[int, Sequence[int], Sequence[int]]] = []
    for i, size_bytes in enumerate(sizes):
        below, above = sizes[max(0, i - reach) : i + 1], sizes[i : i + reach + 1]
        near = all(later <= NEIGHBOUR * earlier for earlier, later in pairwise([*below, *above[1:]]))
        if near and contests[size_bytes].is_open and len(below) == len(above) == reach + 1:
            asked.append((size_bytes, below, above))
    questions = [
        (name, contests[size_bytes].lowest, side)
        for size_bytes, *sides in asked
        for name in contests[size_bytes].others
        for side in sides
    ]
    told = iter(compared_means(contests, questions))
    for size_bytes, *_ in asked:
        yield size_bytes, _largest_p_value([next(told) for _ in range(2 * len(contests[size_bytes].others))])


def _largest_p_value(known: Sequence[Difference | None]) -> float:
    """Return the p-value of all being slower at once; one that is unknown or within NEGLIGIBLE counts as 1."""
    return max((told.p_value if told and told.ratio > NEGLIGIBLE else 1.0 for told in known), default=1.0)


def _shown_slower(contests: Mapping[int, Contest], told: Mapping[Pair, Difference]) -> set[tuple[int, str]]:
    """Return (size_bytes, algorithm) of those that are shown to be slower than the lowest time."""
    questions, p_values = [], []
    for size_bytes, contest in contests.items():
        for name in contest.others:
            if difference := told.get((size_bytes, name, contest.lowest)):
                questions.append((size_bytes, name))
                is_beyond = difference.ratio > NEGLIGIBLE
                p_values.append(difference.p_value * max(1.0, len(contest.rows) / 2) if is_beyond else 1.0)
    return {question for question, is_answered in zip(questions, significant(p_values)) if is_answered}


def _is_far(contest: Contest, name: str) -> bool:
    """Return whether an algorithm is slower than the lowest time by FAR in every launch, however few there are."""
    ratios = launch_ratios(contest.rows[name], contest.rows[contest.lowest]).values()
    return min(ratios, default=0.0) > FAR


def contest_of(rows: Sequence[SummaryRow]) -> Contest | None:
    """Return the contest between the measured rows of one size; None: fewer than two can be ranked."""
    ranked = {row["competitor"]: row for row in rows if row["doubt"] is None}
    if len(ranked) < 2:
        return None
    lowest = min(ranked.values(), key=time_of)
    doubted = [row for row in rows if row["doubt"] not in (None, *APART)]
    is_lowest = all(min(row["launch_medians"].values()) > time_of(lowest) for row in doubted)
    return Contest(ranked, lowest["competitor"], is_lowest and lowest["grade"] != NOT_RELIABLE)


def has_enough_calls(row: SummaryRow) -> bool:
    """Return whether the launches of a row have enough calls for a median."""
    return row.get("imported", False) or row["repetitions"] >= LEAST_FOR_INTERVAL * row["launches"]


def compared_pairs(contests: Mapping[int, Contest]) -> dict[Pair, Difference]:
    """Compare the pairs of each size, both ways; all pairs share their prior."""
    ratios = _ratios_of_pairs(contests)
    told: dict[Pair, Difference] = {}
    for (size_bytes, first, second), difference in zip(
        ratios, differences([list(of.values()) for of in ratios.values()])
    ):
        if difference:
            told |= {(size_bytes, first, second): difference, (size_bytes, second, first): difference.inverse}
    return told


def compared_means(contests: Mapping[int, Contest], questions: Sequence[Question]) -> list[Difference | None]:
    """Compare two algorithms by the mean ratio over the sizes of a question at which both are ranked.

    None: too few launches have all of these. Outliers of disturbed launches are clipped before the mean is taken.
    """
    ratios = _ratios_of_pairs(contests)
    drawn = {pair: (list(ratios[pair]), logs) for pair, logs in zip(ratios, clipped_logarithms(list(ratios.values())))}
    means, kept = [], []
    for name, other, sizes in questions:
        signs_and_pairs = [
            (sign, (n, *names)) for n in sizes for sign, names in ((1, (name, other)), (-1, (other, name)))
        ]
        of_sizes = [(sign, *drawn[pair]) for sign, pair in signs_and_pairs if pair in drawn]
        by_launch = [dict(zip(launches, sign * logs.values)) for sign, launches, logs in of_sizes]
        common = [launch for launch in by_launch[0] if all(launch in of for of in by_launch)] if by_launch else []
        means.append([exp(fmean(of[launch] for of in by_launch)) for launch in common])
        kept.append(fmean(logs.kept for *_, logs in of_sizes) if of_sizes else 1.0)
    return differences(means, kept)


def _ratios_of_pairs(contests: Mapping[int, Contest]) -> dict[Pair, dict[str, float]]:
    """Return the ratios of each pair with enough calls, in one order: launch -> ratio."""
    return {
        (size_bytes, first, second): launch_ratios(contest.rows[first], contest.rows[second])
        for size_bytes, contest in contests.items()
        for first, second in combinations(contest.rows, 2)
        if has_enough_calls(contest.rows[first]) and has_enough_calls(contest.rows[second])
    }


def verdicts(rows: Sequence[SummaryRow]) -> list[Verdict]:
    """Return one verdict per number of ranks above 1; rows have a `standing`."""
    return [
        _verdict(ranks, {size_bytes: rows for size_bytes, rows in sizes.items() if size_bytes})._replace(
            changes=tuple(_changes(sizes)), native=_ran_throughout(sizes)
        )
        for ranks, sizes in sorted(tables(rows).items())
        if ranks > 1 and any(sizes)
    ]


def _changes(sizes: Mapping[int, Sequence[SummaryRow]]) -> Iterator[Change]:
    """Yield where what native ran at one size fits nothing that it can have run at the next one."""
    for (low, before), (high, after) in pairwise(_native_by_size(sizes).items()):
        if not {*before} & {*after}:
            yield Change(before, after, low, high)


def _ran_throughout(sizes: Mapping[int, Sequence[SummaryRow]]) -> tuple[str, ...]:
    """Return what native can have run at all sizes that were looked at."""
    known = [*_native_by_size(sizes).values()]
    return tuple(name for name in known[0] if all(name in names for names in known)) if known else ()


def _native_by_size(sizes: Mapping[int, Sequence[SummaryRow]]) -> dict[int, tuple[str, ...]]:
    """Return what native can have run, by size, also between those of the run; left out: where that is unknown."""
    natives = (row for rows in sizes.values() for row in rows if Competitor(row["competitor"]).is_native)
    ran = (one for row in natives for one in (*row.get("ran_below", ()), row.get("ran")))
    return {one.size_bytes: one.names for one in ran if one and one.names}


def _verdict(ranks: int, rows_by_size: Mapping[int, Sequence[SummaryRow]]) -> Verdict:
    grade = next(row["grade"] for rows in rows_by_size.values() for row in rows)
    contests = {size_bytes: contest for size_bytes, rows in rows_by_size.items() if (contest := contest_of(rows))}
    sizes = {size_bytes: contest.rows for size_bytes, contest in contests.items()}
    names = {row["competitor"] for rows in rows_by_size.values() for row in rows}
    leaders = {
        size_bytes: _leaders(contest.rows, names) for size_bytes, contest in contests.items() if _is_told(contest)
    }
    if not leaders:
        reason = _why_nothing_is_told(contests, grade)
        alone = performance(ranks, rows_by_size)
        return Verdict(ranks, (), (), tuple(sizes), grade, _together(contests), reason, alone)
    parts = [_Part(group, _by_time(common, group, sizes)) for group, common in _cut(leaders, sizes)]
    overs = [
        hand_over(sizes, leaders, (before.names[0], before.sizes), (after.names[0], after.sizes))
        for before, after in zip(parts, parts[1:])
    ]
    stretches = tuple(_stretch(part, sizes, rows_by_size) for part in parts)
    won = any(stretch.is_won for stretch in stretches)
    unclear = [n for n in sizes if not any(stretch.low <= n <= stretch.high for stretch in stretches)]
    together = None if won or len(stretches) > 1 else _together(contests, stretches[0].leaders)
    return Verdict(ranks, stretches, tuple(overs), tuple(unclear), grade, together)


def _is_told(contest: Contest) -> bool:
    """Return whether any algorithm is shown to be slower than the lowest time, with enough launches and calls."""
    standings = {row["standing"] for row in contest.rows.values()}
    return contest.is_open and (FASTEST in standings or (SLOWER in standings and not _lack(contest.rows)))


def _lack(rows: Mapping[str, SummaryRow]) -> str:
    """Return FEW_LAUNCHES or FEW_CALLS if any ranked algorithm has too few of them; else empty."""
    if min(row["launches"] for row in rows.values()) < MIN_LAUNCHES:
        return FEW_LAUNCHES
    return "" if all(map(has_enough_calls, rows.values())) else FEW_CALLS


def _why_nothing_is_told(contests: Mapping[int, Contest], grade: str) -> str:
    """Return the weightiest of the reasons why no size is decided."""
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


def _leaders(rows: Mapping[str, SummaryRow], names: Iterable[str]) -> frozenset[str]:
    """Return those of `names` that are not shown to be slower; algorithms that are not ranked are included."""
    return frozenset(name for name in names if name not in rows or rows[name]["standing"] != SLOWER)


class _Part(NamedTuple):
    """Decided sizes with common leaders."""

    sizes: list[int]
    names: tuple[str, ...]  # of the leaders, as in Stretch


def _cut(leaders: Mapping[int, frozenset[str]], sizes: Sizes) -> Iterator[tuple[list[int], frozenset[str]]]:
    """Cut the sizes into the fewest groups of neighbours with common leaders, from the smallest size on.

    Yields sizes and leaders. An algorithm that is not ranked at a size may lead there, but a leader must be ranked at
    some size of the group.
    """
    group: list[int] = []
    common: frozenset[str] = frozenset()
    for size_bytes, names in leaders.items():
        if group and not common & names:
            yield group, common
            group = []
        ranked = names & sizes[size_bytes].keys()
        common = common & names if group else ranked
        group.append(size_bytes)
    yield group, common


def _by_time(names: Iterable[str], group: Sequence[int], sizes: Sizes) -> tuple[str, ...]:
    """Sort algorithms: those that are the fastest at some size first, then by the geometric mean over their sizes."""

    def key(name: str) -> tuple[bool, float]:
        rows = [(sizes[size_bytes][name], sizes[size_bytes]) for size_bytes in group if name in sizes[size_bytes]]
        wins = any(row["standing"] == FASTEST for row, _ in rows)
        slowdown = [time_of(row) / min(map(time_of, others.values())) for row, others in rows]
        return not wins, geometric_mean(slowdown)

    return tuple(sorted(names, key=key))


def _stretch(part: _Part, sizes: Sizes, measured: Mapping[int, Sequence[SummaryRow]]) -> Stretch:
    """Return the stretch of the leaders of a part; `measured`: all rows by size, ranked or not."""
    first = part.names[0]
    won = [
        size_bytes
        for size_bytes in part.sizes
        if first in sizes[size_bytes] and sizes[size_bytes][first]["standing"] == FASTEST
    ]
    shown = won or [size_bytes for size_bytes in part.sizes if first in sizes[size_bytes]]
    rows_shown = {size_bytes: sizes[size_bytes] for size_bytes in shown}
    standings = {rows[name]["standing"] for rows in rows_shown.values() for name in part.names if name in rows}
    names = dict.fromkeys(row["competitor"] for rows in measured.values() for row in rows)
    return Stretch(
        shown[0],
        shown[-1],
        (first,) if won else part.names,
        is_won=bool(won),
        is_equal=not won and len(part.names) > 1 and UNCLEAR not in standings,
        exceptions=tuple(
            size_bytes for size_bytes in measured if shown[0] < size_bytes < shown[-1] and size_bytes not in shown
        ),
        advantage=_advantage((first,) if won else part.names, rows_shown),
        time_s=time_of(sizes[shown[-1]][first]),
        absent=tuple(name for name in names if any(name not in rows for rows in rows_shown.values())),
    )


def _advantage(names: tuple[str, ...], sizes: Sizes) -> Advantage | None:
    """Return the advantage over native, or over the next algorithm if native leads; None if launches do not show it."""
    first = names[0]
    rivals = dict.fromkeys(name for rows in sizes.values() for name in rows if name not in names)
    common = {name: [rows for rows in sizes.values() if name in rows and first in rows] for name in rivals}
    scores = {
        name: geometric_mean([time_of(rows[name]) / time_of(rows[first]) for rows in shared])
        for name, shared in common.items()
        if shared
    }
    native = Competitor(first).native_beside
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
    """Return the lower end of the 95 % interval of first over second, by the means over sizes of single launches.

    With 3 launches that is more cautious than the interval of their medians. All pairs have MIN_LAUNCHES in common.
    """
    ratios = [launch_ratios(*pair) for pair in pairs]
    launches = [launch for launch in ratios[0] if all(launch in of_size for of_size in ratios)]
    return log_interval([geometric_mean([of_size[launch] for of_size in ratios]) for launch in launches])[0]


def hand_over(
    sizes: Mapping[int, Mapping[str, SummaryRow]],
    leaders: Mapping[int, Collection[str]],
    before: tuple[str, Sequence[int]],
    after: tuple[str, Sequence[int]],
) -> HandOver | None:
    """Return the crossover of two neighbouring stretches, each an algorithm and its sizes in bytes.

    None: one of the two is not shown to be slower in the other's stretch, so there is no crossover.

    `sizes`: bytes -> algorithm -> its row, of those that are ranked; `leaders`: algorithms not shown to be slower at
    the sizes of stretches.
    """
    (earlier, its_sizes), (later, later_sizes) = before, after
    low = max((size_bytes for size_bytes in its_sizes if later not in leaders[size_bytes]), default=None)
    high = min((size_bytes for size_bytes in later_sizes if earlier not in leaders[size_bytes]), default=None)
    if low is None or high is None:
        return None
    logs = {
        size_bytes: log(time_of(rows[earlier]) / time_of(rows[later]))
        for size_bytes, rows in sizes.items()
        if low <= size_bytes <= high and earlier in rows and later in rows
    }
    return HandOver(earlier, later, low, high, _crossing(logs) if len(logs) > 1 else sqrt(low * high))


def _crossing(logs: Mapping[int, float]) -> float:
    """Return where the log ratio, first below 0, crosses 0: between the two sizes whose order fits best."""
    sizes = list(logs)
    scores = [sum(-logs[n] if n <= last else logs[n] for n in sizes) for last in sizes[:-1]]
    last = scores.index(max(scores))
    left, right = sizes[last], sizes[last + 1]
    if not logs[left] < 0 < logs[right]:
        return sqrt(left * right)
    share = -logs[left] / (logs[right] - logs[left])
    return exp(log(left) + share * (log(right) - log(left)))


def _together(contests: Mapping[int, Contest], leaders: Collection[str] = ()) -> Stretch | None:
    """Return all sizes as one stretch, with a leader that is shown to be faster on average than each other algorithm.

    And both halves of the sizes agree; one of `leaders`, if there are any. In at most ERROR_SHARE of tables of equals.
    """
    sizes = {size_bytes: contest.rows for size_bytes, contest in contests.items() if contest.is_open}
    ranked = list(sizes)
    if len(ranked) < LEAST_TOGETHER:
        return None
    names = _by_time({name for rows in sizes.values() for name in rows}, ranked, sizes)
    first = min(names, key=lambda name: (any(name not in rows for rows in sizes.values()), names.index(name)))
    parts = (ranked, ranked[: len(ranked) // 2], ranked[len(ranked) // 2 :])
    others = [name for name in names if name != first]
    told = compared_means(contests, [(name, first, part) for part in parts for name in others])
    seems = all(difference and difference.ratio > NEGLIGIBLE for difference in told)
    if not seems or max(difference.p_value for difference in told[: len(others)] if difference) > ERROR_SHARE:
        return None
    if leaders and first not in leaders:
        return None
    last = max(size_bytes for size_bytes, rows in sizes.items() if first in rows)
    advantage, time_s = _advantage((first,), sizes), time_of(sizes[last][first])
    return Stretch(ranked[0], ranked[-1], (first,), False, False, (), advantage, time_s, ())
