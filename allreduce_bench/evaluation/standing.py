"""The fastest algorithm at each size, its equals, and those that cannot be distinguished: the one place to decide.

Table, verdict, map, page and JSON read the column `standing` that is made here. Only times that nothing speaks against
(`doubt`) are ranked. A table is the sizes of one number of ranks and cache; in at most 5 % of tables of equal
algorithms any is called the fastest:

* The one with the lowest time is the fastest if every other one is shown to be slower, and is so by more than a margin
  as far as one can say. The largest of their p-values is that of the size, since all of them have to be slower at once
  (intersection-union test; Berger, Technometrics 24, 1982).
* Neighbouring sizes are further tries: the size and REACHES of them below, and the size and as many above. The ratio of
  two times grows or falls with the size, or at least it does among neighbours; so it lies between its means over both
  sides, and who is shown to be slower in both is slower at the size. The noise of a mean is less than that of a size.
* No algorithm is the fastest where a doubted time may be lower (in some launch it is below the lowest ranked time), or
  where the grade of the times is "not reliable".
  * Holm's procedure (`telling.holm`) corrects for the tests at all sizes.

One that is not shown to be the fastest may still be shown to be faster than some: again by Holm's procedure over all
pairs of the table, each p-value times half the number of algorithms, since whoever has the lowest time was chosen.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from .competitors import tables, ways_of
from .contest import Contest, Pair, contest_of, told_means, told_pairs
from .summary_row import SummaryRow
from .telling import NEGLIGIBLE, Difference, holm, launch_ratios

FASTEST = "fastest"
EQUAL = "equal"  # within telling.NEGLIGIBLE of the lowest time; the lowest too, where another one is
UNCLEAR = "unclear"  # it cannot be distinguished from the lowest time; the lowest too, if there is no fastest
SLOWER = "slower"
FAR = 3.0  # a ratio of times that every launch exceeds: an algorithm so much slower is not "perhaps as fast"
NEIGHBOUR = 4  # the largest ratio of two sizes that are taken to be neighbours
REACHES = (2, 5)  # how many neighbours on each side


def add_standings(rows: Sequence[SummaryRow]) -> None:
    """Set `standing` of all rows, which have a `doubt` and a `grade`; None: not ranked, or no rival is."""
    for row in rows:
        row["standing"] = None
    for sizes in (sizes for way in ways_of(rows) for sizes in tables(rows, *way).values()):
        contests = {nbytes: contest for nbytes, of_size in sizes.items() if nbytes and (contest := contest_of(of_size))}
        _add_standings_of_table(contests)


def _add_standings_of_table(contests: Mapping[int, Contest]) -> None:
    told = told_pairs(contests)
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
        is_equal = EQUAL in standings.values() and contest.is_open
        standings[contest.lowest] = FASTEST if nbytes in winning else EQUAL if is_equal else UNCLEAR
        for name, standing in standings.items():
            contest.rows[name]["standing"] = standing


def _sizes_with_winner(contests: Mapping[int, Contest], told: Mapping[Pair, Difference]) -> set[int]:
    """The sizes at which the lowest time is shown to be the fastest."""
    tries = [(nbytes, _p_value_of_size(nbytes, contest, told)) for nbytes, contest in contests.items()]
    for reach in REACHES:
        tries += _tries_with_neighbours(contests, reach)
    answered = holm([p_value for _, p_value in tries])
    return {nbytes for (nbytes, _), is_answered in zip(tries, answered) if is_answered}


def _p_value_of_size(nbytes: int, contest: Contest, told: Mapping[Pair, Difference]) -> float:
    """The p-value of the lowest time being the fastest; 1 if unknown."""
    if not contest.is_open:
        return 1.0
    return _largest_p_value([told.get((nbytes, name, contest.lowest)) for name in contest.others])


def _largest_p_value(known: Sequence[Difference | None]) -> float:
    return max((told.p_value if told and told.ratio > NEGLIGIBLE else 1.0 for told in known), default=1.0)


def _tries_with_neighbours(contests: Mapping[int, Contest], reach: int) -> Iterator[tuple[int, float]]:
    """The p-values of sizes with `reach` neighbours on each side, as far as these are near and the table goes."""
    sizes = list(contests)
    asked: list[tuple[int, Sequence[int], Sequence[int]]] = []
    for i, nbytes in enumerate(sizes):
        below, above = sizes[max(0, i - reach) : i + 1], sizes[i : i + reach + 1]
        near = all(later <= NEIGHBOUR * earlier for earlier, later in pairwise([*below, *above[1:]]))
        if near and contests[nbytes].is_open and len(below) == len(above) == reach + 1:
            asked.append((nbytes, below, above))
    questions = [
        (name, contests[nbytes].lowest, side)
        for nbytes, *sides in asked
        for name in contests[nbytes].others
        for side in sides
    ]
    told = iter(told_means(contests, questions))
    for nbytes, *_ in asked:
        yield nbytes, _largest_p_value([next(told) for _ in range(2 * len(contests[nbytes].others))])


def _shown_slower(contests: Mapping[int, Contest], told: Mapping[Pair, Difference]) -> set[tuple[int, str]]:
    """(nbytes, algorithm) of those that are shown to be slower than the lowest time."""
    questions, p_values = [], []
    for nbytes, contest in contests.items():
        for name in contest.others:
            if difference := told.get((nbytes, name, contest.lowest)):
                questions.append((nbytes, name))
                is_beyond = difference.ratio > NEGLIGIBLE
                p_values.append(difference.p_value * max(1.0, len(contest.rows) / 2) if is_beyond else 1.0)
    return {question for question, is_answered in zip(questions, holm(p_values)) if is_answered}


def _is_far(contest: Contest, name: str) -> bool:
    """Whether it is slower than the lowest time by FAR in every launch, however few there are."""
    ratios = launch_ratios(contest.rows[name], contest.rows[contest.lowest]).values()
    return min(ratios, default=0.0) > FAR
