"""What the standings of one number of ranks say: who is the fastest over which sizes, and the crossovers between them.

A stretch is a range of neighbouring sizes with a common leader, an algorithm that is nowhere slower. It ends only where
another one is shown to be faster, so that noise does not split it. It extends from the first to the last size at which
it is shown; undecided sizes in between are its exceptions. A winner is the fastest at two neighbouring sizes, unless
the table has but one: of two equal algorithms at 12 sizes one is called the fastest at some size in half of the tables,
at two neighbours in less than 3 %. An algorithm without a time at a size may be the fastest. Between two stretches lies
a crossover (`hand_over`).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import exp, log, sqrt
from typing import NamedTuple

from ..runs.competitor import Competitor
from ..runs.schema import EQUAL, FASTEST, SLOWER, UNCLEAR
from ..stats import geometric_mean
from .competing import tables
from .grade import NOT_RELIABLE
from .rounds import FEWEST_ROUNDS, ratios_by_round
from .single_algorithm import Performance, performance
from .standings import Contest, contest_of, probably_fastest
from .summary_row import SummaryRow, time_of

# reasons for no verdict
ONE = "one algorithm"  # at most one was ranked at any size
FEW_LAUNCHES = "few launches"
ALL_EQUAL = "all equal"
UNRELIABLE = "not reliable"  # as the grade says
DOUBTED = "doubted times"  # those that may be lower than all others cannot be ranked
NOISE = "noise"  # launches differ by more than algorithms do
ALONE = "single sizes"  # none is the fastest at two neighbouring sizes

FEWEST_SIZES = 2  # of a stretch, unless a table has fewer

Sizes = Mapping[
    int, Mapping[str, SummaryRow]
]  # size_bytes, ascending -> algorithm -> its row, of those that are ranked


class HandOver(NamedTuple):
    """The crossover of two algorithms: the first is faster below it, the second above it."""

    before: str
    after: str
    low: int  # bytes: the last size at which the second one is shown to be slower
    high: int  # the first size at which the first one is shown to be slower
    size_bytes: float  # in between: where the times of both, straight lines between sizes (log-log), are equal


class Advantage(NamedTuple):
    """How many times as fast the first leader of a stretch is as a rival: at each size the ratio of their times."""

    rival: str  # empty: the second fastest at each size, not the same at all of them
    times_s: tuple[tuple[float, float], ...]  # of the rival and of the leader, at each size at which both are ranked
    worst: float  # the least ratio in any round of any of these sizes
    launches: int  # rounds that both have


class Stretch(NamedTuple):
    """Neighbouring sizes with the same leaders."""

    low: int  # bytes
    high: int
    leaders: tuple[str, ...]  # nowhere shown to be slower than the lowest time, by ascending time; a winner first
    is_won: bool  # the first of them is shown to be the fastest, from low to high but for the exceptions
    is_equal: bool  # of several leaders: they are shown to be as fast as each other
    exceptions: tuple[int, ...]  # sizes between low and high at which this is not shown
    advantage: Advantage | None  # over native called alike, else the second fastest; None: one leader that has not won
    absent: tuple[str, ...]  # algorithms without a ranked time at some size that is no exception


class Probable(NamedTuple):
    """Neighbouring sizes at which an algorithm is probably the fastest, as few launches say."""

    name: str
    low: int  # bytes
    high: int


class Verdict(NamedTuple):
    """The verdict on one number of ranks."""

    ranks: int
    stretches: tuple[Stretch, ...]
    # from each stretch to the next, between their first leaders; None: not shown
    hand_overs: tuple[HandOver | None, ...]
    unclear: tuple[int, ...]  # sizes outside of the stretches without a fastest algorithm
    grade: str  # of the times: a name of grade.GRADES
    reason: str = ""  # why there is no stretch
    probable: tuple[Probable, ...] = ()  # where few launches are the reason
    alone: Performance | None = None  # of the only algorithm, if there is but one
    single: tuple[tuple[int, str], ...] = ()  # sizes outside of the stretches, and the fastest there
    sizes: tuple[int, ...] = ()  # at which at least two are ranked, ascending; bytes


def verdicts(rows: Sequence[SummaryRow]) -> list[Verdict]:
    """Return one verdict per number of ranks above 1; rows have a `standing`."""
    return [
        _verdict(ranks, {size_bytes: rows for size_bytes, rows in sizes.items() if size_bytes})
        for ranks, sizes in sorted(tables(rows).items())
        if ranks > 1 and any(sizes)
    ]


def verdict_rows(rows: Sequence[SummaryRow]) -> list[SummaryRow]:
    """Return `verdict` of all rows, which have a `standing`: what the verdict on their ranks says of their size."""
    of_ranks = tables(rows)
    said = {
        (verdict.ranks, size_bytes): _verdict_at(verdict, size_bytes, of_size)
        for verdict in verdicts(rows)
        for size_bytes, of_size in of_ranks[verdict.ranks].items()
    }
    return [{"verdict": said.get((row["ranks"], row["size_bytes"]))} for row in rows]


def _verdict_at(verdict: Verdict, size_bytes: int, rows: Sequence[SummaryRow]) -> str | None:
    """Return `ring`, `ring or tree`, `probably ring` or `no winner: noise`; None: fewer than two rows are ranked."""
    for stretch in verdict.stretches:
        if stretch.low <= size_bytes <= stretch.high and size_bytes not in stretch.exceptions:
            if not stretch.is_won and len(stretch.leaders) == 1:
                return f"no winner: {stretch.leaders[0]} is nowhere slower"
            return " or ".join(stretch.leaders)
    for probable in verdict.probable:
        if probable.low <= size_bytes <= probable.high:
            return f"probably {probable.name}"
    contest = contest_of(rows)
    if contest is None:
        return None
    return dict(verdict.single).get(size_bytes) or f"no winner: {_why_nothing_is_told({0: contest}, verdict.grade)}"


def _verdict(ranks: int, rows_by_size: Mapping[int, Sequence[SummaryRow]]) -> Verdict:
    grade = next(row["grade"] for rows in rows_by_size.values() for row in rows)
    contests = {size_bytes: contest for size_bytes, rows in rows_by_size.items() if (contest := contest_of(rows))}
    sizes = {size_bytes: contest.rows for size_bytes, contest in contests.items()}
    names = {row["competitor"] for rows in rows_by_size.values() for row in rows}
    leaders = {
        size_bytes: _leaders(contest.rows, names) for size_bytes, contest in contests.items() if _is_told(contest)
    }
    fewest = min(FEWEST_SIZES, len(contests))
    groups = _cut(leaders, sizes) if leaders else ()
    parts = [part for group in groups if len((part := _part(*group, sizes, fewest)).shown) >= fewest]
    if not parts:
        reason = ALONE if leaders else _why_nothing_is_told(contests, grade)
        probable = tuple(_probable(contests)) if reason == FEW_LAUNCHES else ()
        single, unclear = _rest(sizes, ())
        alone = performance(ranks, rows_by_size)
        return Verdict(ranks, (), (), unclear, grade, reason, probable, alone, single=single, sizes=tuple(sizes))
    overs = [
        hand_over(sizes, leaders, (before.names[0], before.sizes), (after.names[0], after.sizes))
        for before, after in zip(parts, parts[1:])
    ]
    stretches = tuple(_stretch(part, sizes, rows_by_size) for part in parts)
    single, unclear = _rest(sizes, stretches)
    return Verdict(ranks, stretches, tuple(overs), unclear, grade, single=single, sizes=tuple(sizes))


def _rest(sizes: Sizes, stretches: Sequence[Stretch]) -> tuple[tuple[tuple[int, str], ...], tuple[int, ...]]:
    """Return the sizes with a fastest algorithm that no stretch names, with it, and the undecided ones outside."""
    told = [stretch for stretch in stretches if stretch.is_won or len(stretch.leaders) > 1]
    untold = [n for n in sizes if not any(stretch.low <= n <= stretch.high for stretch in told)]
    fastest = {n: name for n in untold for name, row in sizes[n].items() if row["standing"] == FASTEST}
    outside = [n for n in untold if not any(stretch.low <= n <= stretch.high for stretch in stretches)]
    return tuple(fastest.items()), tuple(n for n in outside if n not in fastest)


def _is_told(contest: Contest) -> bool:
    """Return whether any algorithm is slower than another one."""
    return contest.is_open and any(row["standing"] == SLOWER for row in contest.rows.values())


def _why_nothing_is_told(contests: Mapping[int, Contest], grade: str) -> str:
    """Return the weightiest of the reasons why no size is decided."""
    if not contests:
        return ONE
    if grade == NOT_RELIABLE:
        return UNRELIABLE
    if all(min(row["launches"] for row in contest.rows.values()) < FEWEST_ROUNDS for contest in contests.values()):
        return FEW_LAUNCHES
    if not any(contest.is_open for contest in contests.values()):
        return DOUBTED
    equal = all(row["standing"] in (EQUAL, SLOWER) for contest in contests.values() for row in contest.rows.values())
    return ALL_EQUAL if equal else NOISE


def _probable(contests: Mapping[int, Contest]) -> Iterator[Probable]:
    """Yield who is probably the fastest at as many neighbouring sizes as a stretch has."""
    fewest = min(FEWEST_SIZES, len(contests))
    names = [(size_bytes, probably_fastest(contest)) for size_bytes, contest in contests.items()]
    for name, group in groupby(names, lambda size_and_name: size_and_name[1]):
        sizes = [size_bytes for size_bytes, _ in group]
        if name and len(sizes) >= fewest:
            yield Probable(name, sizes[0], sizes[-1])


def _leaders(rows: Mapping[str, SummaryRow], names: Iterable[str]) -> frozenset[str]:
    """Return those of `names` that are not shown to be slower; algorithms that are not ranked are included."""
    return frozenset(name for name in names if name not in rows or rows[name]["standing"] != SLOWER)


class _Part(NamedTuple):
    """Decided sizes with common leaders."""

    sizes: list[int]
    names: tuple[str, ...]  # of the leaders, as in Stretch
    shown: list[int]  # the sizes at which the first of them is the fastest; without a winner, those where it is ranked
    is_won: bool


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


def _part(group: list[int], common: Iterable[str], sizes: Sizes, fewest: int) -> _Part:
    """Return the part of a group of sizes; a winner is the fastest at `fewest` neighbouring ones.

    Sizes at which it is shown to be equal to another one do not part neighbours.
    """
    names = _by_time(common, group, sizes)
    ranked = [size_bytes for size_bytes in group if names[0] in sizes[size_bytes]]
    won = [size_bytes for size_bytes in ranked if sizes[size_bytes][names[0]]["standing"] == FASTEST]
    apart = [n for n, rows in sizes.items() if names[0] not in rows or rows[names[0]]["standing"] != EQUAL]
    is_won = any({*near} <= {*won} for near in zip(*(apart[k:] for k in range(fewest))))
    return _Part(group, names[:1] if is_won else names, won if is_won else ranked, is_won)


def _stretch(part: _Part, sizes: Sizes, measured: Mapping[int, Sequence[SummaryRow]]) -> Stretch:
    """Return the stretch of the leaders of a part; `measured`: all rows by size, ranked or not."""
    shown = part.shown
    rows_shown = {size_bytes: sizes[size_bytes] for size_bytes in shown}
    standings = {rows[name]["standing"] for rows in rows_shown.values() for name in part.names if name in rows}
    names = dict.fromkeys(row["competitor"] for rows in measured.values() for row in rows)
    is_equal = not part.is_won and len(part.names) > 1 and UNCLEAR not in standings
    return Stretch(
        shown[0],
        shown[-1],
        part.names,
        is_won=part.is_won,
        is_equal=is_equal,
        exceptions=tuple(
            size_bytes for size_bytes in measured if shown[0] < size_bytes < shown[-1] and size_bytes not in shown
        ),
        advantage=_advantage(part.names, rows_shown) if part.is_won or len(part.names) > 1 else None,
        absent=tuple(name for name in names if any(name not in rows for rows in rows_shown.values())),
    )


def _advantage(names: tuple[str, ...], sizes: Sizes) -> Advantage | None:
    """Return the advantage over native called alike; if native leads or was not measured, over the second fastest.

    None: there is no rival, or it has a lower time at some size.
    """
    first, native = names[0], Competitor(names[0]).native_beside
    if native in names[1:]:
        return None
    shared = [
        {name: row for name, row in rows.items() if name == first or name not in names} for rows in sizes.values()
    ]
    is_over_native = any(first in rows and native in rows for rows in shared if native != first)
    pairs = []
    for rows in (rows for rows in shared if first in rows):
        rivals = [row for name, row in rows.items() if (name == native if is_over_native else name != first)]
        pairs += [(rival, rows[first]) for rival in sorted(rivals, key=time_of)[:1]]
    times_s = tuple((time_of(rival), time_of(leader)) for rival, leader in pairs)
    ratios = [ratios_by_round(rival["launch_medians"], leader["launch_medians"]) for rival, leader in pairs]
    rounds = {name for of_size in ratios for name in of_size}
    if not rounds or any(rival_s <= leader_s for rival_s, leader_s in times_s):
        return None
    named = {rival["competitor"] for rival, _ in pairs}
    worst = min(min(of_size.values()) for of_size in ratios if of_size)
    return Advantage(named.pop() if len(named) == 1 else "", times_s, worst, len(rounds))


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
