"""The fastest algorithms at other placements of vectors and under late arrivals, which verdicts leave out.

A placement changes times, and may change which all-reduce is the fastest. An arrival pattern changes completions: the
time from the last entry to the last exit. The ratio to the completion of the same algorithm without delays is that of
the two numbers that a table shows (`spread.factor_of`). Below 1 the algorithm has done a part before the last rank
came. The algorithm that suffers least is decided from the ratios within launches, in which what slows down a whole
launch cancels.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..runs.schema import NO_ARRIVAL
from ..stats import median
from .cell_times import arrivals_of, placement_of, tables
from .spread import NEGLIGIBLE, Medians, differences, factor_of, significant
from .summary_row import SummaryRow
from .verdict import FASTEST


class PlacedTime(NamedTuple):
    """The time of one algorithm at another placement."""

    algorithm: str
    time_s: float
    standing: str | None  # among the algorithms of this placement, as in SUMMARY
    usual_s: float | None  # at the placement that is judged; None: it has none there, or it is doubted here or there


class PlacementLine(NamedTuple):
    """The algorithms at one size and one further placement."""

    ranks: int
    cache: str
    nbytes: int
    placement: str
    times: tuple[PlacedTime, ...]
    judged: str  # the fastest at the placement that is judged; empty: none is shown to be
    fastest: str  # at this placement, likewise


def placement_winners(rows: Sequence[SummaryRow]) -> list[PlacementLine]:
    """Return a line per number of ranks, cache, further placement and size, ordered; none if there is one placement.

    `rows` are those of `summarise`.
    """
    names = list(dict.fromkeys(map(placement_of, rows)))
    if len(names) < 2:
        return []
    judged, *others = names
    usual = tables(rows, placement=judged)
    return [
        _line_of_placement(placement, key, nbytes, of_size, usual.get(key, {}).get(nbytes, []))
        for placement in others
        for key, sizes in tables(rows, placement=placement).items()
        for nbytes, of_size in sizes.items()
    ]


def _line_of_placement(
    placement: str, key: tuple[int, str], nbytes: int, rows: Sequence[SummaryRow], judged: Sequence[SummaryRow]
) -> PlacementLine:
    time_of = {row["competitor"]: row["time_s"] for row in judged if not row.get("doubt")}
    times = tuple(
        PlacedTime(name, row["time_s"] or 0.0, row.get("standing"), None if row.get("doubt") else time_of.get(name))
        for row in rows
        for name in [row["competitor"]]
    )
    return PlacementLine(*key, nbytes, placement, times, _fastest(judged), _fastest(rows))


def _fastest(rows: Sequence[SummaryRow]) -> str:
    return next((row["competitor"] for row in rows if row.get("standing") == FASTEST), "")


Ratios = Mapping[str, float]  # launch -> completion over that without delays


class PatternTime(NamedTuple):
    """The completion of one algorithm under one pattern."""

    algorithm: str
    completion_s: float
    standing: str | None  # among the algorithms under this pattern, as in SUMMARY
    usual_s: float | None  # its completion without delays; None: unknown
    ratio: float | None  # completion_s over usual_s
    ratio_low: float | None  # ends of its interval over launches, see `spread.factor_of`; None: too few of them
    ratio_high: float | None


class PatternLine(NamedTuple):
    """The algorithms under one pattern at one size."""

    ranks: int
    cache: str
    nbytes: int
    arrival: str  # NO_ARRIVAL: no delays
    late_by_s: float | None  # the largest delay
    times: tuple[PatternTime, ...]
    fastest: str  # shortest completion; empty: unclear
    least: str  # lowest ratio; empty: unclear, or no delays


def arrival_winners(rows: Sequence[SummaryRow]) -> list[PatternLine]:
    """Return a line per number of ranks, cache, size and pattern, ordered; none if no rank was delayed.

    `rows` are those of `summarise`.
    """
    patterns = arrivals_of(rows)
    if patterns in ([NO_ARRIVAL], []):
        return []
    usual: dict[tuple, SummaryRow] = {}
    lines: list[PatternLine] = []
    ratios_of_lines: list[dict[str, Ratios]] = []
    for arrival in sorted(patterns, key=lambda name: (name != NO_ARRIVAL, patterns.index(name))):
        for (ranks, cache), sizes in tables(rows, arrival).items():
            for nbytes, of_size in sizes.items():
                known = [row for row in of_size if row["completion_s"]]
                if arrival == NO_ARRIVAL:
                    usual |= {(ranks, cache, nbytes, row["competitor"]): row for row in known}
                both = {
                    name: _completions(row, usual.get((ranks, cache, nbytes, name)))
                    for row in known
                    for name in [row["competitor"]]
                    if arrival != NO_ARRIVAL
                }
                if known:
                    lines.append(_line_of_pattern(known, arrival, both))
                    ratios_of_lines.append({name: _ratios(*of_name) for name, of_name in both.items()})
    told = _with_least(lines, ratios_of_lines)
    return sorted(told, key=lambda line: (line.ranks, line.cache != "warm", line.nbytes))


def _completions(row: SummaryRow, usual: SummaryRow | None) -> tuple[Medians, Medians]:
    """Return completions by launch of a cell under a pattern and without delays; none where either is doubted."""
    if usual is None or row.get("doubt") or usual.get("doubt"):
        return {}, {}
    return row["completion_medians"], usual["completion_medians"]


def _ratios(own: Medians, others: Medians) -> Ratios:
    """Return the ratios of the launches that know both completions."""
    return {launch: own[launch] / others[launch] for launch in own if others.get(launch) and own[launch]}


def _line_of_pattern(
    rows: Sequence[SummaryRow], arrival: str, both: Mapping[str, tuple[Medians, Medians]]
) -> PatternLine:
    first = rows[0]
    times = tuple(_completion_under(row, *both.get(row["competitor"], ({}, {}))) for row in rows)
    late_by = [late_by_s for row in rows if (late_by_s := row.get("late_by_s"))]
    fastest = next((time.algorithm for time in times if time.standing == FASTEST), "")
    late_by_s = max(late_by, default=None)
    return PatternLine(first["ranks"], first["cache"], first["nbytes"], arrival, late_by_s, times, fastest, "")


def _completion_under(row: SummaryRow, own: Medians, usual: Medians) -> PatternTime:
    is_known = bool(own and usual) and all([*own.values(), *usual.values()])
    ratio, low, high = factor_of([(own, usual)])[:3] if is_known else (None, None, None)
    usual_s = median(usual.values()) if is_known else None
    return PatternTime(row["competitor"], row["completion_s"] or 0.0, row.get("standing"), usual_s, ratio, low, high)


def _with_least(lines: Sequence[PatternLine], ratios_of_lines: Sequence[Mapping[str, Ratios]]) -> list[PatternLine]:
    """Set `least` of the lines: the algorithm shown to suffer less than each other (Holm over the lines)."""
    lowest = [_lowest(line) for line in lines]
    asked = [
        (number, name)
        for number, ratios in enumerate(ratios_of_lines)
        for name in ratios
        if lowest[number] and name != lowest[number]
    ]
    told = differences([_over(ratios_of_lines[number], name, lowest[number]) for number, name in asked])
    p_values = {number: 0.0 for number, _ in asked}
    for (number, _), difference in zip(asked, told):
        p_value = difference.p_value if difference and difference.ratio > NEGLIGIBLE else 1.0
        p_values[number] = max(p_values[number], p_value)  # all others have to be shown to suffer more
    answered = dict(zip(p_values, significant(list(p_values.values()))))
    return [line._replace(least=lowest[number] if answered.get(number) else "") for number, line in enumerate(lines)]


def _lowest(line: PatternLine) -> str:
    """Return the algorithm of the lowest ratio; empty: fewer than two have one."""
    known = [(time.ratio, time.algorithm) for time in line.times if time.ratio is not None]
    return min(known)[1] if len(known) > 1 else ""


def _over(ratios: Mapping[str, Ratios], name: str, other: str) -> list[float]:
    """Return the ratio of one over that of another, in the launches that have both."""
    return [value / ratios[other][launch] for launch, value in ratios[name].items() if launch in ratios[other]]
