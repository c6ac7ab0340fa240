"""What a user can set: where an algorithm of the library is faster than the library's default.

The control is native:default, measured in the same forced launches; where it was not measured, native. An algorithm
gains at a size where it is as fast as the library's fastest, takes 10 % less than the control in the medians, and 5 %
less in every round of every run. A gain is one algorithm over neighbouring sizes: the longest stretch is taken first,
so that two algorithms that are equal do not take turns from size to size.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..runs.competitor import FORCED_DEFAULT, NATIVE, Competitor
from ..runs.plan import ImportedPlan, Plan
from ..runs.schema import SLOWER
from ..stats import geometric_mean
from ..units import as_printed
from .competing import competing
from .doubts import OTHER_DEFAULT, REFERENCE
from .grade import NOT_RELIABLE
from .rounds import FEWEST_ROUNDS, ratios_by_round, relation, times_by_round
from .summary_row import SummaryRow, time_of
from .verdict import FEWEST_SIZES

SOUND = (None, OTHER_DEFAULT, REFERENCE)  # doubts that do not stand against a comparison within forced launches
IN_MEDIANS, IN_EACH_ROUND = 1.10, 1.05  # how many times as fast as the control an algorithm is that gains


class Gain(NamedTuple):
    """Neighbouring sizes at which one algorithm of the library is faster than the control."""

    name: str
    sizes: tuple[int, ...]  # bytes, ascending
    least: float  # how many times as fast as the control, at the size and in the run where it gains least
    most: float
    worst: float  # the least in any round of any of these sizes
    launches: int  # rounds that both have, over all runs


class Settable(NamedTuple):
    """What the algorithms of the library gain over its default on one number of ranks."""

    control: str
    tried: int  # algorithms
    gains: tuple[Gain, ...]
    alone: tuple[tuple[int, str], ...] = ()  # sizes without a gain, and what is faster there: no neighbour agrees


class _Sizes(NamedTuple):
    """One run: its control and the algorithms of the library, by size."""

    control: Mapping[int, SummaryRow]
    forced: Mapping[int, Mapping[str, SummaryRow]]


def find_settable(runs: Sequence[Iterable[SummaryRow]]) -> Settable | None:
    """Return what gains in every run; each run is its rows of one number of ranks.

    None: no algorithm of the library was measured in some run, or no control.
    """
    tables = [_sizes_of(rows) for rows in runs]
    if not all(table.forced for table in tables):
        return None
    shared = sorted(set.intersection(*({*table.control} for table in tables)))
    faster = {size_bytes: _names_faster(tables, size_bytes) for size_bytes in shared}
    gains = tuple(_gain(name, sizes, tables) for name, sizes in _longest_first(faster, tables))
    covered = {size_bytes for gain in gains for size_bytes in gain.sizes}
    alone = tuple(
        (size_bytes, name) for size_bytes, names in faster.items() if size_bytes not in covered for name in names[:1]
    )
    tried = {name for table in tables for names in table.forced.values() for name in names}
    control = next(iter(tables[0].control.values()))["competitor"] if tables[0].control else FORCED_DEFAULT
    return Settable(control, len(tried), tuple(sorted(gains, key=lambda gain: gain.sizes)), alone)


def lacks_settable(plan: Plan, rows: Sequence[SummaryRow]) -> bool:
    """Return whether native was measured beside others, but no algorithm of the library that a user could set."""
    names = {row["competitor"] for row in competing(rows)}
    is_rival = len(names) > 1 and any(Competitor(name).is_native for name in names)
    return is_rival and not isinstance(plan, ImportedPlan) and not any(Competitor(name).is_forced for name in names)


def _sizes_of(rows: Iterable[SummaryRow]) -> _Sizes:
    """Return the timed rows of a run as _Sizes."""
    timed = [row for row in rows if row["time_s"] and row["size_bytes"] and row.get("doubt") in SOUND]
    name = FORCED_DEFAULT if any(row["competitor"] == FORCED_DEFAULT for row in timed) else NATIVE
    forced: dict[int, dict[str, SummaryRow]] = {}
    for row in timed:
        if Competitor(row["competitor"]).is_forced and row["competitor"] != FORCED_DEFAULT:
            forced.setdefault(row["size_bytes"], {})[row["competitor"]] = row
    return _Sizes({row["size_bytes"]: row for row in timed if row["competitor"] == name}, forced)


def _names_faster(tables: Sequence[_Sizes], size_bytes: int) -> list[str]:
    """Return the algorithms that gain at a size in every run, the fastest of all runs first."""
    of_runs = [_gaining(table.control[size_bytes], table.forced.get(size_bytes, {})) for table in tables]
    names = [name for name in of_runs[0] if all(name in names for names in of_runs)]
    return sorted(names, key=lambda name: geometric_mean([time_of(one.forced[size_bytes][name]) for one in tables]))


def _gaining(control: SummaryRow, forced: Mapping[str, SummaryRow]) -> list[str]:
    """Return the algorithms that gain at one size of one run."""
    if control["grade"] == NOT_RELIABLE or not forced:
        return []
    fastest = min(forced.values(), key=time_of)
    return [
        name
        for name, row in forced.items()
        if _is_gain(control, row)
        and relation(times_by_round(row["launch_medians"]), times_by_round(fastest["launch_medians"])) != SLOWER
    ]


def _is_gain(control: SummaryRow, row: SummaryRow) -> bool:
    ratios = ratios_by_round(control["launch_medians"], row["launch_medians"]).values()
    is_shown = len(ratios) >= FEWEST_ROUNDS and min(ratios) >= IN_EACH_ROUND
    return is_shown and time_of(control) >= IN_MEDIANS * time_of(row)


def _longest_first(faster: Mapping[int, Sequence[str]], tables: Sequence[_Sizes]) -> Iterator[tuple[str, list[int]]]:
    """Yield algorithms and their stretches, the longest first; of equally long ones the one that gains most.

    `faster`: bytes, ascending -> the algorithms that gain there.
    """
    fewest, left = min(FEWEST_SIZES, len(faster)), dict(faster)
    while stretches := [stretch for stretch in _stretches(left) if len(stretch[1]) >= fewest]:
        name, sizes = max(
            stretches, key=lambda stretch: (len(stretch[1]), geometric_mean(_factors(stretch[0], stretch[1], tables)))
        )
        yield name, sizes
        left |= dict.fromkeys(sizes, ())


def _stretches(faster: Mapping[int, Sequence[str]]) -> Iterator[tuple[str, list[int]]]:
    """Yield each algorithm with each of its longest ranges of neighbouring sizes."""
    for name in dict.fromkeys(name for names in faster.values() for name in names):
        sizes: list[int] = []
        for size_bytes, names in [*faster.items(), (0, ())]:
            if name in names:
                sizes.append(size_bytes)
            elif sizes:
                yield name, sizes
                sizes = []


def _factors(name: str, sizes: Sequence[int], tables: Sequence[_Sizes]) -> list[float]:
    """Return how many times as fast as the control, at each size of each run, from the times as tables print them."""
    pairs = [(table.control[size], table.forced[size][name]) for table in tables for size in sizes]
    return [as_printed(time_of(control)) / as_printed(time_of(row)) for control, row in pairs]


def _gain(name: str, sizes: Sequence[int], tables: Sequence[_Sizes]) -> Gain:
    """Return the gain of an algorithm at these sizes."""
    factors, worst, launches = _factors(name, sizes, tables), [], 0
    for table in tables:
        of_sizes = [
            ratios_by_round(table.control[size]["launch_medians"], table.forced[size][name]["launch_medians"])
            for size in sizes
        ]
        worst += [ratio for ratios in of_sizes for ratio in ratios.values()]
        launches += len({launch for ratios in of_sizes for launch in ratios})
    return Gain(name, tuple(sizes), min(factors), max(factors), min(worst), launches)
