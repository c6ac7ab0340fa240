"""Detection of cells whose launches are in two states, series by series over a run. Standard library and numpy.

A launch is slow by noise, or because something puts it into another state (a timer, a path, the placement of pages),
and then it is so at one size after another. The noise of launches is heavy-tailed and shared by all sizes of a launch,
so that neither a wide spread nor one bad launch is a second state. Two states are a gap that is large against the
spread within both of them.

The rule. At each size the logarithms of the launches' times are cut at their largest gap. The statistic is the gap over
the larger range of the two sides, which is at least RESOLUTION. Its p-value is the share of samples of as many launches
whose largest gap leaves as many launches on the smaller side and whose statistic is as large, in the worst of four
unimodal families with heavy tails (FAMILIES, simulated: the statistic is free of scale and position). Since a gap can
lie in several places, half of the rate is that of a single launch apart, and the places further inside share the other
half. All sizes of all series are judged together by the step-up procedure of Benjamini and Hochberg (J. R. Statist.
Soc. B 57, 1995), valid under positive dependence, as of times of the same launches (Benjamini and Yekutieli, Ann. Stat.
29, 2001). So at most ALARM of all sets of series without two states are said to have some, and on average at most the
same share of the sizes named is wrong. Further conditions only lower these rates: the gap is at least LEAST_GAP; the
rarer state is met LEAST_MET times (launches times sizes), since one bad moment is no state; and, as a state is a
property of launches, where several sizes are found the same launches are in it at more of them than chance explains if
launches were drawn anew at each size (COINCIDENCE).

The same time at every size is evidence by itself: where the same launches take it at LEAST_CONSTANT sizes or more,
while the others grow by LEAST_GROWTH, noise would have to cancel the size each time. Then three launches are enough,
however wide their spread.

tests/studies/two_states.py measures both rates.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import comb
from typing import Any, NamedTuple

import numpy as np

from .environment import differences
from .summary_row import LaunchStates, SummaryRow, cell_of

# the rule
ALARM = 0.02  # false alarm rate: sets of series without two states that are said to have some, at most
FEWEST_LAUNCHES = 5  # below, a large gap is as often noise
LEAST_GAP = 1.3  # the slow state's fastest launch over the fast state's slowest: a gap that matters
LEAST_MET = 3  # how often the rarer state is met: launches times sizes
LEAST_SIZES = 3  # to tell the kind of gap
COINCIDENCE = 0.1  # chance that launches drawn anew at each size agree at so many of them
LEAST_CONSTANT, LEAST_GROWTH, CONSTANT = 5, 2.0, 0.1  # sizes; a factor; relative deviation from one time
FEWEST_OF_CONSTANT = 3  # launches
RESOLUTION = 0.01  # relative: the least spread of a state, however near its launches are to each other
DRAWS, SEED = 100_000, 1  # of each family
FAMILIES: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {  # of logarithms of times
    "Student's t, 3 degrees": lambda random, shape: random.standard_t(3, shape),
    "one side of it": lambda random, shape: np.abs(random.standard_t(3, shape)),
    "exponential": lambda random, shape: random.exponential(size=shape),
    "lognormal": lambda random, shape: random.lognormal(size=shape),
}

SUSPECT_GAP, SUSPECT_RATIO = 2.0, 10.0  # of fewer launches, at LEAST_SIZES sizes, to be suspected

# kinds of gaps
CONSTANT_TIME = "constant time"  # times of the slow state are the same at every size
CONSTANT_DELAY = "constant delay"  # the slow state takes longer by the same time at every size
CONSTANT_RATIO = "constant ratio"  # the slow state takes longer by the same factor at every size
CHANGING = "changing"  # none of these fits
UNKNOWN = "unknown"  # the sizes do not tell
MISFIT = 0.15  # relative: the largest deviation of the slow state from what CONSTANT_... predicts
CLEARLY = 2.0  # times the misfit that the next best kind must have

Series = Hashable  # identifies the series of a cell; the cells of a series differ in size only
CellOfSeries = tuple[Series, int]  # with the size, bytes
Division = tuple[bool, bytes]  # see `Gaps.division`


class TwoStates(NamedTuple):
    """A series whose launches are in two states at some sizes."""

    differs: np.ndarray  # bool [size]: where they are
    slow: np.ndarray  # bool [launch, size]: launches in the slow state; False elsewhere and where nothing was measured
    low_s: np.ndarray  # float64 [size]: median of the fast state's launches, seconds; NaN elsewhere
    high_s: np.ndarray  # float64 [size]: of the slow state's
    gap: str  # CONSTANT_TIME, CONSTANT_DELAY, CONSTANT_RATIO, CHANGING or UNKNOWN


class TooFewLaunches(NamedTuple):
    """A series that looks like two states and has too few launches to decide."""

    launches: int
    suspected: np.ndarray  # bool [size]


class Gaps(NamedTuple):
    """The cut of each size at the largest gap among the logarithms of its launches' times."""

    known: np.ndarray  # bool [launch, size]: the launch measured it
    gap: np.ndarray  # float64 [size]; 0 below two launches
    spread: np.ndarray  # float64 [size]: the larger range of the two sides
    above: np.ndarray  # bool [launch, size]: the launch lies above the gap

    @property
    def launches(self) -> np.ndarray:
        """int [size]: launches that measured it."""
        return self.known.sum(axis=0)

    @property
    def smaller(self) -> np.ndarray:
        """int [size]: launches on the smaller side."""
        above = self.above.sum(axis=0)
        return np.minimum(above, self.launches - above)

    def division(self, size: int) -> Division:
        """Return a key that is equal at sizes that divide launches alike: those of the smaller side, and which side."""
        above, below = self.above[:, size], self.known[:, size] & ~self.above[:, size]
        is_above = bool(above.sum() < below.sum())
        return is_above, (above if is_above else below).tobytes()

    @property
    def matters(self) -> np.ndarray:
        """bool [size]: the gap is large enough to matter, and larger than the range of either side."""
        return (self.gap >= np.log(LEAST_GAP)) & (self.gap > self.spread)


class Suspicion(NamedTuple):
    """A cell with launches that may be in two states but are too few to decide."""

    launches: int


class StatesOfSeries(NamedTuple):
    """The facts about one series with launches in two states, detected or suspected."""

    rows: tuple[SummaryRow, ...]  # of the sizes at which they are, ascending
    sizes: tuple[int, ...]  # bytes: all of the series that have a time, ascending

    @property
    def suspected(self) -> bool:
        """True if there are too few launches to decide."""
        return not self.rows[0].get("launch_states")


def add_states(rows: Sequence[SummaryRow], attempts: Iterable[Mapping[str, Any]] = ()) -> None:
    """Add the states of launches to the rows of one run: columns of SUMMARY, and facts.

    `attempts`: the facts of each launch, in which the cause may be found.
    """
    facts_of = {facts["launch"]: facts for facts in attempts if "launch" in facts}
    timed = {(_series_of(row), row["size_bytes"]): row for row in rows if row["time_s"] is not None}
    for cell, said in find_states({cell: row["launch_medians"] for cell, row in timed.items()}).items():
        row = timed[cell]
        if isinstance(said, Suspicion):
            row["suspected_states"] = said.launches
        else:
            causes = differences(facts_of, said.low_launches, said.high_launches)
            row["launch_states"] = said._replace(differences=tuple(causes))
            row["states"] = f"low:{len(said.low_launches)},high:{len(said.high_launches)}"
            row["state_low_s"], row["state_high_s"] = said.low_s, said.high_s


def _series_of(row: SummaryRow) -> Series:
    """Return the series of a row: its ranks and its cell without the size."""
    cell = cell_of(row)
    segment = None if cell.competitor.is_pipelined else cell.segment  # each size may be cut in another way
    return row["ranks"], replace(cell, size_bytes=0, segment=segment).key


def series_in_states(rows: Sequence[SummaryRow]) -> Iterator[StatesOfSeries]:
    """Return the series of a run with two states, detected or suspected, in the order of `rows`; see `add_states`."""
    rows_of: dict[Series, list[SummaryRow]] = defaultdict(list)
    for row in rows:
        if row["time_s"] is not None:
            rows_of[_series_of(row)].append(row)
    for of_series in rows_of.values():
        ascending = sorted(of_series, key=lambda row: row["size_bytes"])
        if told := tuple(row for row in ascending if row.get("launch_states") or row.get("suspected_states")):
            yield StatesOfSeries(told, tuple(row["size_bytes"] for row in ascending))


def find_states(medians: Mapping[CellOfSeries, Mapping[str, float]]) -> dict[CellOfSeries, LaunchStates | Suspicion]:
    """Find the cells of one run with two states, detected or suspected.

    `medians`: launch -> seconds above 0, of every cell that has a time.
    """
    if not any(max(launches.values()) >= LEAST_GAP * min(launches.values()) for launches in medians.values()):
        return {}
    sizes_of: dict[Series, list[int]] = defaultdict(list)
    for series, size in sorted(medians, key=lambda cell: cell[1]):
        sizes_of[series].append(size)
    names = [_launches(medians[series, size] for size in sizes) for series, sizes in sizes_of.items()]
    tables = [
        np.array([[medians[series, size].get(launch, np.nan) for size in sizes] for launch in launches])
        for (series, sizes), launches in zip(sizes_of.items(), names)
    ]
    return {
        (series, size): said
        for (series, sizes), launches, states in zip(sizes_of.items(), names, two_states(tables))
        for index, size in enumerate(sizes)
        if (said := _of_cell(states, index, launches, medians[series, size]))
    }


def _launches(cells: Iterable[Mapping[str, float]]) -> list[str]:
    """Return the launches that measured any of the cells, each once."""
    return list(dict.fromkeys(launch for cell in cells for launch in cell))


def _of_cell(
    states: TwoStates | TooFewLaunches | None, size: int, launches: Sequence[str], medians: Mapping[str, float]
) -> LaunchStates | Suspicion | None:
    """Return the states of a series at its size number `size`."""
    if isinstance(states, TooFewLaunches):
        return Suspicion(states.launches) if states.suspected[size] else None
    if states is None or not states.differs[size]:
        return None
    slow = {launch for launch, is_slow in zip(launches, states.slow[:, size]) if is_slow}
    return LaunchStates(
        low_s=float(states.low_s[size]),
        high_s=float(states.high_s[size]),
        low_launches=tuple(launch for launch in medians if launch not in slow),
        high_launches=tuple(launch for launch in medians if launch in slow),
        gap=states.gap,
    )


def two_states(series: Sequence[np.ndarray], alarm: float = ALARM) -> list[TwoStates | TooFewLaunches | None]:
    """Classify each series of a run: in two states, suspected with too few launches, or neither (None).

    `series`: float64 [launch, size] each, seconds above 0; NaN where a launch did not measure a size. The rule, and
    the rate `alarm`: see the module.
    """
    gaps_of = [largest_gaps(np.log(times_s)) for times_s in series]
    p_values = [_p_values(gaps) for gaps in gaps_of]
    level = _level(np.concatenate([*p_values, []]), alarm)
    differing = [
        _differing(gaps, _agreeing(gaps, p <= level) | _constant(times_s, gaps), p <= level)
        for times_s, gaps, p in zip(series, gaps_of, p_values)
    ]
    return [
        _described(times_s, gaps, differs) if differs.any() else _suspicion(gaps)
        for times_s, gaps, differs in zip(series, gaps_of, differing)
    ]


def largest_gaps(logs: np.ndarray) -> Gaps:
    """Cut each size at its largest gap.

    `logs`: float64 [launch, size], NaN where a launch did not measure a size; one launch or more.
    """
    ordered = np.sort(logs, axis=0)  # NaN last
    known, size = ~np.isnan(logs), np.arange(logs.shape[1])
    steps = np.nan_to_num(np.diff(ordered, axis=0, append=np.nan), nan=0.0)
    at = steps.argmax(axis=0)
    highest_below, lowest_above = ordered[at, size], ordered[np.minimum(at + 1, len(logs) - 1), size]
    last = ordered[np.maximum(known.sum(axis=0) - 1, 0), size]
    spread = np.nan_to_num(np.fmax(highest_below - ordered[0], last - lowest_above))
    return Gaps(known, steps[at, size], spread, logs > highest_below)


def _p_values(gaps: Gaps) -> np.ndarray:
    """float64 [size]; 1 where the gap does not matter, NaN where launches are too few for a test."""
    p = np.where(gaps.launches < FEWEST_LAUNCHES, np.nan, 1.0)
    ratios = gaps.gap / np.maximum(gaps.spread, RESOLUTION)
    for size in np.flatnonzero((gaps.gap >= np.log(LEAST_GAP)) & (gaps.launches >= FEWEST_LAUNCHES)):
        p[size] = p_value(int(gaps.launches[size]), int(gaps.smaller[size]), float(ratios[size]))
    return p


def p_value(launches: int, smaller: int, ratio: float) -> float:
    """Return an upper bound of the p-value of so large a gap among launches of one state; see the module.

    `smaller`: launches on the smaller side of the gap; `ratio`: the gap over the larger range of its two sides.
    """
    beyond = max(len(ratios) - np.searchsorted(ratios, ratio) for ratios in _ratios_of_noise(launches)[smaller - 1])
    places = 1 if smaller == 1 else launches // 2 - 1
    return min(1.0, 2 * places * (int(beyond) + 1) / (DRAWS + 1))


@lru_cache(maxsize=32)
def _ratios_of_noise(launches: int) -> list[list[np.ndarray]]:
    """Return the sorted ratios of samples by the size of their smaller side: [smaller - 1][family]."""
    found: list[list[np.ndarray]] = [[] for _ in range(launches // 2)]
    for draw in FAMILIES.values():
        gaps = largest_gaps(draw(np.random.default_rng(SEED), (launches, DRAWS)))
        ratios, smaller = gaps.gap / gaps.spread, gaps.smaller
        for side, of_side in enumerate(found, start=1):
            of_side.append(np.sort(ratios[smaller == side]))
    return found


def _level(p_values: np.ndarray, alarm: float) -> float:
    """Return the largest p-value that is significant by Benjamini and Hochberg; below 0: none is."""
    ordered = np.sort(p_values[~np.isnan(p_values)])
    passed = ordered[ordered <= alarm * np.arange(1, len(ordered) + 1) / len(ordered)]
    return float(passed[-1]) if len(passed) else -1.0


def _agreeing(gaps: Gaps, found: np.ndarray) -> set[Division]:
    """Return the divisions of launches that recur: met often enough, and at more sizes than chance explains."""
    at = np.flatnonzero(found).tolist()
    sizes_of = Counter(gaps.division(size) for size in at)
    agreeing = set()
    for size in at:
        smaller, sizes = int(gaps.smaller[size]), sizes_of[gaps.division(size)]
        by_chance = coincidence(int(gaps.launches[size]), smaller, sizes, len(at)) if len(at) > 1 else 0.0
        if smaller * sizes >= LEAST_MET and by_chance <= COINCIDENCE:
            agreeing.add(gaps.division(size))
    return agreeing


def coincidence(launches: int, smaller: int, sizes: int, of: int) -> float:
    """Return an upper bound of the chance that at `sizes` of `of` sizes the same `smaller` launches are drawn."""
    return min(1.0, comb(of, sizes) / comb(launches, smaller) ** (sizes - 1))


def _constant(times_s: np.ndarray, gaps: Gaps) -> set[Division]:
    """Return the divisions in which one side takes the same time at every size, while the other grows."""
    sizes_of: dict[Division, list[int]] = defaultdict(list)
    for size in np.flatnonzero(gaps.matters & (gaps.launches >= FEWEST_OF_CONSTANT)).tolist():
        sizes_of[gaps.division(size)].append(size)
    found = set()
    for division, at in sizes_of.items():
        low, high = (
            np.array([np.median(times_s[of_side[:, size], size]) for size in at])
            for of_side in (gaps.known & ~gaps.above, gaps.above)
        )
        is_near = np.abs(np.log(high / high[:, None])) <= np.log1p(CONSTANT)
        same = is_near[is_near.sum(axis=1).argmax()]  # of all times the one that most sizes share
        if same.sum() >= LEAST_CONSTANT and low[same].max() >= LEAST_GROWTH * low[same].min():
            found.add(division)
    return found


def _differing(gaps: Gaps, states: set[Division], found: np.ndarray) -> np.ndarray:
    """bool [size]: sizes whose gap matters and divides the launches as a state does.

    A median across states is meaningless, whether or not noise hides the gap at one size. Of sizes that were found also
    those at which one launch more, or less, is slow: a launch may change its state.
    """
    differs = gaps.matters & np.array([gaps.division(size) in states for size in range(len(gaps.gap))], dtype=bool)
    slow = gaps.above[:, differs].T
    for size in np.flatnonzero(found & gaps.matters & ~differs) if len(slow) else ():
        differs[size] = (slow != gaps.above[:, size]).sum(axis=1).min() <= 1
    return differs


def _described(times_s: np.ndarray, gaps: Gaps, differs: np.ndarray) -> TwoStates:
    """Describe the two states of a series; `differs`: bool [size], where it has them."""
    slow = gaps.above & differs
    low_s, high_s = np.full((2, len(differs)), np.nan)
    for size in np.flatnonzero(differs):
        low_s[size] = np.nanmedian(times_s[~slow[:, size], size])
        high_s[size] = np.median(times_s[slow[:, size], size])
    return TwoStates(differs, slow, low_s, high_s, kind_of_gap(low_s[differs], high_s[differs]))


def kind_of_gap(low_s: np.ndarray, high_s: np.ndarray) -> str:
    """Return the kind of gap, of CONSTANT_..., that fits best at all sizes.

    A ratio has to fit clearly better than a time or a delay, or clearly worse; these two are much the same where the
    fast state is far faster. `low_s`, `high_s`: float64 [size], seconds of both states. UNKNOWN below LEAST_SIZES
    sizes, and where the fast state takes nearly the same at all of them, so that several kinds fit.
    """
    if len(low_s) < LEAST_SIZES:
        return UNKNOWN
    ratios = np.log(high_s / low_s)
    off = {
        CONSTANT_TIME: np.log(high_s / np.median(high_s)),
        CONSTANT_DELAY: np.log(high_s / (low_s + np.median(high_s - low_s))),
        CONSTANT_RATIO: ratios - np.median(ratios),
    }
    misfit = {kind: float(np.sqrt(np.square(of_kind).mean())) for kind, of_kind in off.items()}
    best = min(off, key=lambda kind: misfit[kind])
    rivals = [kind for kind in off if (kind == CONSTANT_RATIO) != (best == CONSTANT_RATIO)]
    second = min(rivals, key=lambda kind: misfit[kind])
    if np.abs(off[best]).max() > np.log1p(MISFIT):
        return CHANGING
    return best if misfit[second] > CLEARLY * max(misfit[best], RESOLUTION) else UNKNOWN


def _suspicion(gaps: Gaps) -> TooFewLaunches | None:
    """Return a suspicion if launches are too few for a test, and yet the same ones are apart at several sizes."""
    launches = int(gaps.launches.max(initial=0))
    ratios = gaps.gap / np.maximum(gaps.spread, RESOLUTION)
    apart = (gaps.gap >= np.log(SUSPECT_GAP)) & (ratios >= SUSPECT_RATIO)
    divisions = Counter(gaps.division(size) for size in np.flatnonzero(apart).tolist())
    most = divisions.most_common(1)[0][0] if divisions else None
    apart &= np.array([gaps.division(size) == most for size in range(len(apart))], dtype=bool)
    return TooFewLaunches(launches, apart) if launches < FEWEST_LAUNCHES and apart.sum() >= LEAST_SIZES else None
