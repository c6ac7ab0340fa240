"""Who is fastest at each size, who is as fast, and of whom nothing can be told: the one place that says so.

Table, verdict, map, page and JSON read the column `standing` that is made here. Only times that nothing speaks against
(`doubt`) are ranked. A table is the sizes of one number of ranks and cache; in at most 5 % of tables of equal
algorithms any is called the fastest:

* The one with the lowest time is the fastest if every other one is shown to be slower, and is so by more than a margin
  as far as one can say. The largest of their p-values is that of the size, since all of them have to be slower at once
  (intersection-union test; Berger, Technometrics 24, 1982).
* Where the same one has the lowest time at both neighbouring sizes, the mean over the three is a second try: times
  change little from one size to the next, and the noise of three sizes is less than that of one.
* Nobody is the fastest where a doubted time may be lower: one that some launch has below the lowest ranked one.
* Nobody is the fastest where the grade of the times is "not reliable".
* The tries of all sizes are paid for by Holm's procedure (`telling.holm`).

One that is not shown to be the fastest may still be shown to be faster than some: again by Holm's procedure over all
pairs of the table, each p-value times half the number of algorithms, since whoever has the lowest time was chosen.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from ..stats import LEAST_FOR_INTERVAL, geometric_mean
from .competitors import tables
from .grade import NOT_RELIABLE
from .summary_row import SummaryRow, time_of
from .telling import NEGLIGIBLE, Difference, differences, holm, launch_ratios

FASTEST = "fastest"
EQUAL = "equal"  # within telling.NEGLIGIBLE of the lowest time; the lowest too, where no other one is unclear
UNCLEAR = "unclear"  # it cannot be told from the lowest time; the lowest too, where nobody is the fastest
SLOWER = "slower"
FAR = 3.0  # a ratio of times that no launch comes below: whoever is so much slower is not "perhaps as fast"
NEIGHBOUR = 4  # the largest ratio of two sizes whose times are taken to change little
IMPORTED = "imported"  # the executor of rows whose repetitions are means of many calls

Pair = tuple[int, str, str]  # nbytes, whose time over whose


class Contest(NamedTuple):
    """The ranked rows of one size."""

    rows: Mapping[str, SummaryRow]  # by algorithm
    lowest: str  # the algorithm of the lowest time
    is_open: bool  # times are reliable, and no doubted one may be lower

    @property
    def others(self) -> list[str]:
        """All algorithms but the one of the lowest time."""
        return [name for name in self.rows if name != self.lowest]


def add_standings(rows: Sequence[SummaryRow]) -> None:
    """Set `standing` of all rows, which have a `doubt` and a `grade`; None: not ranked, or nobody else is."""
    for row in rows:
        row["standing"] = None
    for sizes in tables(rows).values():
        contests = {nbytes: contest for nbytes, of_size in sizes.items() if nbytes and (contest := contest_of(of_size))}
        _add_standings_of_table(contests)


def contest_of(rows: Sequence[SummaryRow]) -> Contest | None:
    """The contest between the measured rows of one size; None: fewer than two can be ranked."""
    ranked = {row["algorithm"]: row for row in rows if row["doubt"] is None}
    if len(ranked) < 2:
        return None
    lowest = min(ranked.values(), key=time_of)
    doubted = [row for row in rows if row["doubt"] is not None]
    is_lowest = all(min(row["launch_medians"].values()) > time_of(lowest) for row in doubted)
    return Contest(ranked, lowest["algorithm"], is_lowest and lowest["grade"] != NOT_RELIABLE)


def _add_standings_of_table(contests: Mapping[int, Contest]) -> None:
    told = _told_pairs(contests)
    winning = _sizes_with_winner(contests, told)
    slower = _shown_slower(contests, told)
    for nbytes, contest in contests.items():
        standings = {}
        for name in contest.others:
            difference = told.get((nbytes, name, contest.lowest))
            if nbytes in winning:
                standings[name] = SLOWER
            elif difference and difference.is_equal:
                standings[name] = EQUAL
            elif (nbytes, name) in slower or _is_far(contest, name):
                standings[name] = SLOWER
            else:
                standings[name] = UNCLEAR
        is_equal = EQUAL in standings.values() and UNCLEAR not in standings.values() and contest.is_open
        standings[contest.lowest] = FASTEST if nbytes in winning else EQUAL if is_equal else UNCLEAR
        for name, standing in standings.items():
            contest.rows[name]["standing"] = standing


def _told_pairs(contests: Mapping[int, Contest]) -> dict[Pair, Difference]:
    """What is known of the pairs of each size, both ways; all of them lend each other their spread."""
    ratios = {
        (nbytes, first, second): list(launch_ratios(contest.rows[first], contest.rows[second]).values())
        for nbytes, contest in contests.items()
        for first, second in combinations(contest.rows, 2)
        if has_enough_calls(contest.rows[first]) and has_enough_calls(contest.rows[second])
    }
    told: dict[Pair, Difference] = {}
    for (nbytes, first, second), difference in zip(ratios, differences(list(ratios.values()))):
        if difference:
            told |= {(nbytes, first, second): difference, (nbytes, second, first): difference.inverse}
    return told


def has_enough_calls(row: SummaryRow) -> bool:
    """Whether its launches have medians worth the name."""
    return row["executor"] == IMPORTED or row["repetitions"] >= LEAST_FOR_INTERVAL * row["launches"]


def _sizes_with_winner(contests: Mapping[int, Contest], told: Mapping[Pair, Difference]) -> set[int]:
    """The sizes at which the lowest time is shown to be the fastest."""
    tries = [(nbytes, _p_value_of_size(nbytes, contest, told)) for nbytes, contest in contests.items()]
    tries += _tries_with_neighbours(contests)
    answered = holm([p_value for _, p_value in tries])
    return {nbytes for (nbytes, _), is_answered in zip(tries, answered) if is_answered}


def _p_value_of_size(nbytes: int, contest: Contest, told: Mapping[Pair, Difference]) -> float:
    """Of the lowest time being the fastest; 1 where that cannot be told."""
    if not contest.is_open:
        return 1.0
    return _largest_p_value([told.get((nbytes, name, contest.lowest)) for name in contest.others])


def _largest_p_value(known: Sequence[Difference | None]) -> float:
    return max((told.p_value if told and told.ratio > NEGLIGIBLE else 1.0 for told in known), default=1.0)


def _tries_with_neighbours(contests: Mapping[int, Contest]) -> Iterator[tuple[int, float]]:
    """The p-values of sizes together with both neighbours, of those whose lowest time is of the same algorithm."""
    ratios: dict[tuple[int, str], list[float]] = {}
    middles = []
    for sizes in zip(contests, list(contests)[1:], list(contests)[2:]):
        trio = [contests[nbytes] for nbytes in sizes]
        near = all(later <= NEIGHBOUR * earlier for earlier, later in zip(sizes, sizes[1:]))
        if near and trio[1].is_open and len({contest.lowest for contest in trio}) == 1:
            middles.append(sizes[1])
            for name in trio[1].others:
                ratios[sizes[1], name] = _mean_ratios(name, trio)
    known = dict(zip(ratios, differences(list(ratios.values()))))
    for nbytes in middles:
        yield nbytes, _largest_p_value([known[nbytes, name] for name in contests[nbytes].others])


def _mean_ratios(name: str, trio: Sequence[Contest]) -> list[float]:
    """The time of `name` over the lowest, the geometric mean over three sizes, of each launch that has all of them."""
    ratios_of_sizes = [
        launch_ratios(contest.rows[name], contest.rows[contest.lowest])
        for contest in trio
        if name in contest.rows and all(map(has_enough_calls, (contest.rows[name], contest.rows[contest.lowest])))
    ]
    if len(ratios_of_sizes) < len(trio):
        return []
    common = [launch for launch in ratios_of_sizes[0] if all(launch in ratios for ratios in ratios_of_sizes)]
    return [geometric_mean([ratios[launch] for ratios in ratios_of_sizes]) for launch in common]


def _shown_slower(contests: Mapping[int, Contest], told: Mapping[Pair, Difference]) -> set[tuple[int, str]]:
    """(nbytes, algorithm) of those that are shown to be slower than the lowest time."""
    questions, p_values = [], []
    for nbytes, contest in contests.items():
        for name in contest.others:
            if (difference := told.get((nbytes, name, contest.lowest))) and difference.ratio > NEGLIGIBLE:
                questions.append((nbytes, name))
                p_values.append(difference.p_value * max(1.0, len(contest.rows) / 2))
    return {question for question, is_answered in zip(questions, holm(p_values)) if is_answered}


def _is_far(contest: Contest, name: str) -> bool:
    """Whether it is slower than the lowest time by FAR in every launch, however few there are."""
    ratios = launch_ratios(contest.rows[name], contest.rows[contest.lowest]).values()
    return min(ratios, default=time_of(contest.rows[name]) / time_of(contest.rows[contest.lowest])) > FAR
