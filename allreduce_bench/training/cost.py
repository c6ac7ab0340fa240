"""The time of an all-reduce by its bytes: by models of a machine, or from timed all-reduces.

`doubts_of` lists the all-reduces of a step with speculative times, and why; `any_lower_bound`, whether some have only a
lower bound.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from ..algorithms import USUAL
from ..models.intervals import FAR, distance
from ..models.machine import Machine, MachineError
from ..models.prediction import BEST, EQUAL, CompetingModels, Layout, competing_models
from ..units import format_size
from .time_line import Transfer

FASTEST = "fastest"  # for each bucket the fastest algorithm at its size


LONGER = 2.0  # times the longest measured all-reduce, beyond which a time is doubted


class CostError(ValueError):
    """An all-reduce of unknown time, in words."""


class Costs:
    """The times of all-reduces by algorithm, and where they are from."""

    algorithms: tuple[str, ...]  # names
    ranks: Sequence[int] = (2, 4, 8)  # that are shown unless others are asked for
    source = network = ""  # of the times, in a sentence; the same as a phrase: `10 Gbit/s`
    grade: str | None = None  # of the times that models were fitted to; None: no models of measured times
    placement: str | None = None  # of the vectors of these times

    def time_s(self, algorithm: str, ranks: int, size_bytes: int) -> float | None:
        """Return seconds; None: see `cannot`. Raises CostError, MachineError if unknown."""
        raise NotImplementedError

    def cannot(self, algorithm: str, ranks: int, size_bytes: int) -> str:
        """Return why there is no time, to follow the name of the algorithm."""
        raise NotImplementedError

    def doubt(self, algorithm: str, ranks: int, size_bytes: int) -> str:
        """Return why the time is speculative, to follow `are`; empty: near the measurements, or nothing was
        measured.
        """
        raise NotImplementedError

    def fastest(self, ranks: int, size_bytes: int) -> str:
        """Return the algorithm that is named the fastest; empty: the least time counts."""
        return ""

    def is_lower_bound(self, algorithm: str, ranks: int, size_bytes: int) -> bool:
        """Return whether the time is only a lower bound."""
        return False


class Choice(NamedTuple):
    """An algorithm and its time, seconds."""

    algorithm: str
    time_s: float


def choose(costs: Costs, ranks: int, size_bytes: int, algorithm: str = FASTEST) -> Choice:
    """Return the time of `algorithm`, or the fastest of all. Raises CostError: none has a time.

    A lower bound does not compete with a known time. Among equals a usual algorithm.
    """
    named = costs.fastest(ranks, size_bytes) if algorithm == FASTEST else algorithm
    names = (named,) if named else costs.algorithms
    timed = [(costs.time_s(name, ranks, size_bytes), name) for name in names]
    possible = [Choice(name, time_s) for time_s, name in timed if time_s is not None]
    if not possible:
        raise CostError("; ".join(dict.fromkeys(costs.cannot(name, ranks, size_bytes) for name in names)))
    known = [choice for choice in possible if not costs.is_lower_bound(choice.algorithm, ranks, size_bytes)]
    least_s = min(choice.time_s for choice in known or possible)
    equal = [choice for choice in known or possible if choice.time_s <= least_s * (1 + EQUAL)]
    return min(equal, key=lambda choice: (choice.algorithm not in USUAL, choice.time_s))


class ModelledCosts(Costs):
    """Costs by fitted models, or by alpha and beta alone. One rank needs no all-reduce."""

    def __init__(self, models: CompetingModels):
        self.models, self.algorithms = models, tuple(models.models)
        self.grade, self.placement = models.grade or None, models.placement or None

    def time_s(self, algorithm: str, ranks: int, size_bytes: int) -> float | None:
        """Return seconds; None: the algorithm cannot run on so many ranks, or its model lacks a price. Raises
        MachineError.
        """
        if ranks == 1:
            return 0.0
        return self.models.predict(algorithm, ranks, size_bytes).time_s

    def fastest(self, ranks: int, size_bytes: int) -> str:
        """Return the series that the models name the fastest, unless its time is only a lower bound."""
        found = self.models.fastest(ranks, size_bytes) if ranks > 1 else None
        return found.predicted.series if found and not self.models.is_lower_bound(found.predicted) else ""

    def cannot(self, algorithm: str, ranks: int, size_bytes: int) -> str:
        """Return what the algorithm needs, or what its model lacks."""
        return self.models.predict(algorithm, ranks, size_bytes).cannot

    def is_lower_bound(self, algorithm: str, ranks: int, size_bytes: int) -> bool:
        """Return whether the model alone is below a bound of all algorithms."""
        return ranks > 1 and self.models.is_lower_bound(self.models.predict(algorithm, ranks, size_bytes))

    def doubt(self, algorithm: str, ranks: int, size_bytes: int) -> str:
        """Return the doubt: others whose times are unknown there, one of which may be the fastest; too far from what
        was measured, or beyond the measured sizes.
        """
        if ranks == 1:
            return ""
        unknown = [name for name in self.algorithms if self.models.predict(name, ranks, size_bytes).is_refused]
        if unknown:
            return f"by the fastest algorithm with a time there, and nothing is known of {', '.join(unknown)} there"
        model, predicted = self.models.models[algorithm], self.models.predict(algorithm, ranks, size_bytes)
        if not model.cells:
            return ""
        if predicted.is_speculative and distance(ranks, model.ranks) > FAR:
            either = "more" if ranks > model.ranks[-1] else "fewer"
            return f"on many {either} ranks than were measured ({model.ranks[0]} to {model.ranks[-1]})"
        if too_long := _too_long(size_bytes, model.sizes[-1]):
            return too_long
        if not model.sizes[0] <= size_bytes <= model.sizes[-1]:
            smallest, largest = map(format_size, (model.sizes[0], model.sizes[-1]))
            return f"beyond the measured sizes ({smallest} to {largest})"
        return ""


def modelled_costs(
    machine: Machine, algorithms: Iterable[str] = (), itemsize: int = 4, extrapolate: bool = False
) -> ModelledCosts:
    """Return the competing models of `machine`; with the best segments if nothing was measured.

    `extrapolate`: far beyond what was measured, too. Raises AlgorithmError, MachineError, also for several groups.
    """
    layout = Layout(segment=BEST if machine.bare else None, itemsize=itemsize, extrapolate=extrapolate)
    groups = competing_models(machine, algorithms, layout)
    if len(groups) > 1:
        named = "; ".join(group.where for group in groups)
        raise MachineError(f"the machine file has models of {len(groups)} runs or types ({named}); fit one of them")
    return ModelledCosts(groups[0])


class Timed(NamedTuple):
    """A timed all-reduce."""

    algorithm: str
    ranks: int
    size_bytes: int
    time_s: float


class LoggedCosts(Costs):
    """Costs by timed all-reduces: the median of each size, linear interpolation between sizes.

    Below the smallest size its time is constant; above the largest its rate.
    """

    def __init__(self, points: Iterable[Timed], file: str):
        """`file` names the log in errors. Raises CostError: there is no point."""
        times: dict[tuple[str, int], dict[int, list[float]]] = {}
        for point in points:
            cells = times.setdefault((point.algorithm, point.ranks), {})
            cells.setdefault(point.size_bytes, []).append(point.time_s)
        if not times:
            raise CostError(f"{file}: contains no all-reduce with a time and a number of ranks; add -n to the import")
        self.file = file
        self._lines = {
            key: [(size_bytes, median(cells[size_bytes])) for size_bytes in sorted(cells)]
            for key, cells in times.items()
        }
        self.algorithms = tuple(dict.fromkeys(algorithm for algorithm, _ in self._lines))
        self.ranks = sorted({ranks for _, ranks in self._lines})

    def cannot(self, algorithm: str, ranks: int, size_bytes: int) -> str:
        """Return that it was not timed on so many ranks."""
        return f"{algorithm}: not timed on {ranks} ranks"

    def doubt(self, algorithm: str, ranks: int, size_bytes: int) -> str:
        """Return the doubt if it is much longer than what was timed."""
        return _too_long(size_bytes, self._lines[algorithm, ranks][-1][0]) if ranks > 1 else ""

    def time_s(self, algorithm: str, ranks: int, size_bytes: int) -> float | None:
        """Return seconds; None: this algorithm was not timed on so many ranks. Raises CostError: none was."""
        if ranks == 1:
            return 0.0
        if ranks not in self.ranks:
            measured = ", ".join(map(str, self.ranks))
            raise CostError(f"{self.file}: contains no all-reduce of {ranks} ranks; it has {measured}")
        line = self._lines.get((algorithm, ranks))
        return interpolate(line, size_bytes) if line else None


def _too_long(size_bytes: int, longest: int) -> str:
    """Return the doubt about a time at `size_bytes`, if the longest measured all-reduce had `longest`."""
    words = f"more than {LONGER:g} times as long as the longest that was measured ({format_size(longest)})"
    return words if size_bytes > LONGER * longest else ""


def interpolate(line: Sequence[tuple[int, float]], size_bytes: int) -> float:
    """Return the time at `size_bytes`, interpolate linearly between ascending (bytes, seconds)."""
    place = bisect_left(line, (size_bytes, 0.0))
    if place == 0:
        return line[0][1]
    if place == len(line):
        largest, time_s = line[-1]
        return time_s * size_bytes / largest if largest else time_s
    (low, low_s), (high, high_s) = line[place - 1], line[place]
    return low_s + (high_s - low_s) * (size_bytes - low) / (high - low)


def doubts_of(costs: "Costs", ranks: int, transfers: tuple[Transfer, ...]) -> tuple[str, ...]:
    """Return `3 of 5 all-reduces are more than 2 times as long as …`, a sentence's beginning for each reason.

    `transfers` have the names of their algorithms, and times by `costs` on `ranks`.
    """
    reasons = (
        Counter(costs.doubt(one.algorithm, ranks, one.size_bytes) for one in transfers) if ranks > 1 else Counter()
    )
    return tuple(f"{number} of {len(transfers)} all-reduces are {why}" for why, number in reasons.items() if why)


def any_lower_bound(costs: "Costs", ranks: int, transfers: tuple[Transfer, ...]) -> bool:
    """Return whether the time of one of `transfers` is only a lower bound; see `doubts_of`."""
    return any(costs.is_lower_bound(one.algorithm, ranks, one.size_bytes) for one in transfers if ranks > 1)
