"""What an all-reduce of so many bytes takes: by models of a machine, or from all-reduces that were timed before.

`doubts_of` says which all-reduces of a step have speculative times, and why; `any_lower_bound`, whether some have but a
lower bound.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple, Protocol

from ..message import Refused, say
from ..models.machine import Machine, MachineError
from ..models.model import FAR
from ..models.prediction import BEST, CompetingModels, Layout, competing_models
from ..units import format_size
from .time_line import Transfer

FASTEST = "fastest"  # for each bucket the algorithm that is fastest at its size


class CostError(Refused, ValueError):
    """An all-reduce whose time nobody can tell, in words."""


class Costs(Protocol):
    """The times of all-reduces by algorithm."""

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Their names."""

    def time_s(self, algorithm: str, ranks: int, nbytes: int) -> float | None:
        """Seconds; None: see `cannot`. Raises CostError, MachineError where nobody knows."""

    def cannot(self, algorithm: str, ranks: int, nbytes: int) -> str:
        """Why there is no time, with the name of the algorithm before it."""

    def is_lower_bound(self, algorithm: str, ranks: int, nbytes: int) -> bool:
        """Return whether this time is only known to be that or more."""

    def doubt(self, algorithm: str, ranks: int, nbytes: int) -> str:
        """Why this time is speculative, behind `are`; empty: it lies near what was measured, or nothing was."""


class Choice(NamedTuple):
    """An algorithm and its time, seconds."""

    algorithm: str
    time_s: float


def choose(costs: Costs, ranks: int, nbytes: int, algorithm: str = FASTEST) -> Choice:
    """The time of `algorithm`, or the fastest of all. Raises CostError: none has a time.

    What is only known to take so long or more is no rival of an algorithm whose time is known.
    """
    names = costs.algorithms if algorithm == FASTEST else (algorithm,)
    timed = [(costs.time_s(name, ranks, nbytes), name) for name in names]
    possible = [Choice(name, time_s) for time_s, name in timed if time_s is not None]
    if not possible:
        raise CostError("as_said", words="; ".join(dict.fromkeys(costs.cannot(name, ranks, nbytes) for name in names)))
    known = [choice for choice in possible if not costs.is_lower_bound(choice.algorithm, ranks, nbytes)]
    return min(known or possible, key=lambda choice: choice.time_s)


class ModelledCosts:
    """By models that were fitted, or by alpha and beta alone. One rank needs no all-reduce."""

    def __init__(self, models: CompetingModels):
        self.models = models

    @property
    def algorithms(self) -> tuple[str, ...]:
        """As the models name them."""
        return tuple(self.models.models)

    def time_s(self, algorithm: str, ranks: int, nbytes: int) -> float | None:
        """Seconds; None: the algorithm cannot run on so many ranks, or its model does not tell. Raises MachineError."""
        if ranks == 1:
            return 0.0
        prediction = self.models.at(algorithm, ranks, nbytes).prediction
        return prediction.time_s if prediction else None

    def cannot(self, algorithm: str, ranks: int, nbytes: int) -> str:
        """Return what the algorithm needs, or what its model does not tell."""
        return self.models.at(algorithm, ranks, nbytes).cannot

    def is_lower_bound(self, algorithm: str, ranks: int, nbytes: int) -> bool:
        """Return whether the model alone is below a bound of all algorithms."""
        return ranks > 1 and self.models.is_lower_bound(self.models.at(algorithm, ranks, nbytes))

    def doubt(self, algorithm: str, ranks: int, nbytes: int) -> str:
        """Many more or many fewer ranks than were measured, or much longer; a model that does not tell its price."""
        if ranks == 1:
            return ""
        model, prediction = self.models.models[algorithm], self.models.at(algorithm, ranks, nbytes).prediction
        if prediction and prediction.speculative:
            most, least = max(model.ranks), min(model.ranks)
            return say(
                "training.many_ranks_measured", either="more" if ranks > most else "fewer", least=least, most=most
            )
        if prediction and prediction.unidentified:
            return say("training.model_whose_not_identified", unidentified=prediction.unidentified)
        return _too_long(nbytes, max(model.nbytes, default=nbytes))


def modelled_costs(
    machine: Machine,
    algorithms: Iterable[str] = (),
    ranks_per_node: int | None = None,
    itemsize: int = 4,
    nic_bytes_per_s: float | None = None,
) -> ModelledCosts:
    """The first of the competing models of `machine`; segments are best where nothing was measured.

    `nic_bytes_per_s`: of the port that the ranks of a node share; None: no port is counted.
    Raises AlgorithmError, MachineError.
    """
    layout = Layout(ranks_per_node, BEST if machine.bare else None, itemsize, nic_bytes_per_s)
    groups = competing_models(machine, algorithms, layout)
    if len(groups) > 1:
        named = "; ".join(group.where for group in groups)
        raise MachineError("training.machine_file_models_runs", group_count=len(groups), named=named)
    return ModelledCosts(groups[0])


class Timed(NamedTuple):
    """An all-reduce that was timed."""

    algorithm: str
    ranks: int
    nbytes: int
    time_s: float


class LoggedCosts:
    """From timed all-reduces: the median of each size, straight lines between sizes.

    Below the smallest size its time counts; above the largest its rate.
    """

    def __init__(self, points: Iterable[Timed], source: str):
        """`source` names the log in errors. Raises CostError: there is no point."""
        times: dict[tuple[str, int], dict[int, list[float]]] = {}
        for point in points:
            cells = times.setdefault((point.algorithm, point.ranks), {})
            cells.setdefault(point.nbytes, []).append(point.time_s)
        if not times:
            raise CostError("training.contains_no_reduce_time", source=source)
        self.source = source
        self._lines = {
            key: [(nbytes, median(cells[nbytes])) for nbytes in sorted(cells)] for key, cells in times.items()
        }

    @property
    def algorithms(self) -> tuple[str, ...]:
        """As the log names them."""
        return tuple(dict.fromkeys(algorithm for algorithm, _ in self._lines))

    @property
    def ranks(self) -> list[int]:
        """The numbers of ranks that were measured."""
        return sorted({ranks for _, ranks in self._lines})

    def cannot(self, algorithm: str, ranks: int, nbytes: int) -> str:
        """It was not timed on so many ranks."""
        return say("training.not_timed_ranks", algorithm=algorithm, ranks=ranks)

    def is_lower_bound(self, algorithm: str, ranks: int, nbytes: int) -> bool:
        """Never: it was timed."""
        return False

    def doubt(self, algorithm: str, ranks: int, nbytes: int) -> str:
        """Much longer than what was timed."""
        return _too_long(nbytes, self._lines[algorithm, ranks][-1][0]) if ranks > 1 else ""

    def time_s(self, algorithm: str, ranks: int, nbytes: int) -> float | None:
        """Seconds; None: this algorithm was not timed on so many ranks. Raises CostError: no algorithm was."""
        if ranks == 1:
            return 0.0
        if ranks not in self.ranks:
            measured = ", ".join(map(str, self.ranks))
            raise CostError("training.contains_no_reduce_ranks", source=self.source, ranks=ranks, measured=measured)
        line = self._lines.get((algorithm, ranks))
        return interpolated(line, nbytes) if line else None


def _too_long(nbytes: int, longest: int) -> str:
    """The doubt about a time at `nbytes`, where the longest all-reduce that was measured had `longest`."""
    words = say("training.more_times_long_longest", far=FAR, longest=format_size(longest))
    return words if nbytes > FAR * longest else ""


def interpolated(line: Sequence[tuple[int, float]], nbytes: int) -> float:
    """The time at `nbytes` on straight lines between (bytes, seconds), which ascend."""
    place = bisect_left(line, (nbytes, 0.0))
    if place == 0:
        return line[0][1]
    if place == len(line):
        largest, time_s = line[-1]
        return time_s * nbytes / largest if largest else time_s
    (low, low_s), (high, high_s) = line[place - 1], line[place]
    return low_s + (high_s - low_s) * (nbytes - low) / (high - low)


def doubts_of(costs: "Costs", ranks: int, transfers: tuple[Transfer, ...]) -> tuple[str, ...]:
    """`3 of 5 all-reduces are more than 2 times as long as …`, a sentence's beginning for each reason.

    `transfers` have the names of their algorithms, and times that `costs` says of `ranks`.
    """
    reasons = Counter(costs.doubt(one.algorithm, ranks, one.nbytes) for one in transfers) if ranks > 1 else Counter()
    return tuple(
        say("training.reduces", number=number, transfer_count=len(transfers), why=why)
        for why, number in reasons.items()
        if why
    )


def any_lower_bound(costs: "Costs", ranks: int, transfers: tuple[Transfer, ...]) -> bool:
    """Return whether one of `transfers` is only known to take its time or more; see `doubts_of`."""
    return any(costs.is_lower_bound(one.algorithm, ranks, one.nbytes) for one in transfers if ranks > 1)
