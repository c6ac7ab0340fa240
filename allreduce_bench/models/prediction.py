"""Predictions of a machine's models at numbers of ranks and sizes.

From declared costs alone: no schedule is enumerated, except for the bytes through the port of a node (`port_share`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from math import ceil, exp, log
from typing import NamedTuple

import numpy as np

from ..algorithms import USUAL, builtin, builtin_of, why_unknown
from ..runs.plan import DEFAULT_SEGMENT_NBYTES
from ..schedule import elements
from ..schedule.algorithm import Algorithm, AlgorithmError, Topology
from ..units import format_size
from .known_algorithms import known_as
from .machine import Machine, MachineError, with_parameters
from .model import (
    MOST_SIZE,
    UNKNOWN,
    Bounds,
    Model,
    ModelPart,
    Prediction,
    bounds,
    bytes_between_s,
    seconds,
    worst,
)
from .terms import Terms, equal_parts, terms

# Limits
LIMITS = "latency", "bandwidth"  # bounds, in the order of `Bounds`
PORT = "port"
NOTED = 0.01  # of a time: a port that adds less is not mentioned
ONE_NODE, ALL_NODES = 8_192, 2_048  # counted steps, empty ones included: of one node, and of several together


# Segments
BEST = "best"  # segment with which the model is fastest

EQUAL = 1e-9  # relative difference of sums of the same terms in another order


class Layout(NamedTuple):
    """Layout of ranks on nodes and of segments, where the models leave it open."""

    ranks_per_node: int | None = None  # None: as measured
    segment: int | str | None = None  # bytes, or BEST; None: as measured, else the default
    itemsize: int | None = None  # bytes of an element; None: as measured
    nic_bytes_per_s: float | None = None  # rate of a single port per node, shared by its ranks; None: ignored
    extrapolate: bool = False  # also beyond MOST_SIZE times the measured sizes


AS_MEASURED = Layout()


class Predicted(NamedTuple):
    """Predicted time; `prediction` is None if there is none, and `cannot` says why.

    `limit` is what makes the time longer than in the model alone: `latency` and `bandwidth`, the bounds of all models
    together, to which it was raised; `port`, the bytes of this algorithm through the port of a node, for which its
    ranks wait. `no_port`: the port counts, but this algorithm's bytes through it are unknown. If `prediction` is None
    with a limit, the model is below that bound, and the time above it is unknown; so it is if it is `too_far` from the
    measured sizes.
    """

    series: str
    ranks: int
    nodes: int | None
    size_bytes: int
    segment_nbytes: int | None
    prediction: Prediction | None
    cannot: str = ""
    limit: str = ""
    no_port: bool = False
    too_far: bool = False

    @property
    def is_unknown(self) -> bool:
        """Return whether it could run there, in a time of which nothing is known."""
        return self.prediction is None and (bool(self.limit) or self.too_far)


def predict(
    machine: Machine,
    ranks: Sequence[int],
    sizes: Sequence[int],
    ranks_per_node: int | None = None,
    algorithms: Iterable[str] = (),
    itemsize: int | None = None,
    segment: int | str | None = None,
    nic_bytes_per_s: float | None = None,
) -> list[Predicted]:
    """Predict all models of `machine`, or those of `algorithms`, at each of `ranks` and `sizes` (bytes).

    Raises as `competing_models` and `CompetingModels.at`.
    """
    competitors = competing_models(machine, algorithms, Layout(ranks_per_node, segment, itemsize, nic_bytes_per_s))
    return [
        group.at(series, number, size_bytes)
        for group in competitors
        for number in ranks
        for size_bytes in sizes
        for series in group.models
    ]


def competing_models(
    machine: Machine, algorithms: Iterable[str] = (), layout: Layout = AS_MEASURED
) -> "list[CompetingModels]":
    """Group the models of `machine` that compete, only those of `algorithms` if given.

    A name is ours or the log's. Raises AlgorithmError for an unknown name, MachineError for an algorithm that was not
    fitted.
    """
    names = list(algorithms)
    machine = with_parameters(machine, names)
    for name in names:
        if not any(_is_named(model, name) for model in machine.models):
            raise _not_fitted(machine, name)
    competitors: dict[tuple, list[Model]] = {}
    for model in machine.models:
        if not names or any(_is_named(model, name) for name in names):
            competitors.setdefault(model.alike, []).append(model)
    if not competitors:
        raise MachineError("the machine file holds no model; fit runs with more sizes and ranks")
    return [CompetingModels(models, layout) for models in competitors.values()]


def _is_named(model: Model, name: str) -> bool:
    return (
        name in (model.algorithm, model.competitor)
        or known_as(model.algorithm, builtin()) == known_as(name, builtin()) is not None
    )


def _not_fitted(machine: Machine, name: str) -> ValueError:
    fitted = list(dict.fromkeys(model.competitor for model in machine.models))
    if machine.bare:
        if name == "native":
            return MachineError(
                "native: the library's algorithm is unknown without measurements; fit a run that includes native"
            )
        return why_unknown(name)
    if known_as(name, builtin()) or name == "native":
        return MachineError(f"{name} was not fitted; this machine file has {', '.join(fitted) or 'no model at all'}")
    return AlgorithmError(f"unknown algorithm '{name}'; this machine file has {', '.join(fitted) or 'no model at all'}")


class CompetingModels:
    """Competing models: of one run, dtype and op. Predictions are cached."""

    def __init__(self, models: Sequence[Model], layout: Layout = AS_MEASURED):
        self.models = dict(zip(_labels(models), models))
        self.layout = layout
        self._kept: dict[tuple[str, int, int], Predicted] = {}
        self._bounds_of_a_byte: dict[tuple[int, int | None, bool], Bounds] = {}

    @property
    def where(self) -> str:
        """Return what its series share: `monday, float32 sum, warm cache`; empty if nothing was measured."""
        first = next(iter(self.models.values()))
        cache = f"{first.cache} cache" if first.run else ""
        placement = "" if self.placement in ("", UNKNOWN) else f"placement {self.placement}"
        return ", ".join(filter(None, [first.run, f"{first.dtype} {first.op}".strip(), cache, placement]))

    @property
    def grade(self) -> str:
        """Return the worst grade of the fitted times; empty if nothing was measured."""
        measured = [model.grade for model in self.models.values() if model.ranks]
        return worst(measured) if measured else ""

    @property
    def placement(self) -> str:
        """Return where vectors lay when the times were measured, common to all; empty if nothing was measured."""
        first = next(iter(self.models.values()))
        return first.placement if first.ranks else ""

    @property
    def step(self) -> int:
        """Return the divisor of all numbers of ranks that fill whole nodes."""
        return max(_ranks_per_node(model, self.layout) or 1 for model in self.models.values())

    def at(self, series: str, ranks: int, size_bytes: int) -> Predicted:
        """Predict the time of `series` on `ranks` for a vector of `size_bytes`, never below a bound.

        Raises MachineError if the model separates links within and between nodes and the ranks per node are unknown.
        """
        key = series, ranks, size_bytes
        if key not in self._kept:
            model = self.models[series]
            alone = _predicted(series, model, ranks, size_bytes, self.layout)
            least, low_end = (self._bounds(ranks, alone.nodes, size_bytes, is_low) for is_low in (False, True))
            self._kept[key] = _not_below(alone, least, low_end)
        return self._kept[key]

    def bounds(self, ranks: int, size_bytes: int, at_low_ends: bool = False) -> Bounds:
        """Return the lower bounds of any all-reduce there, by the parameters of all these models and a node's port.

        By estimates, or by the lower ends of their intervals, which limit the lower ends of predicted intervals.
        """
        per_node = _ranks_per_node(next(iter(self.models.values())), self.layout)
        return self._bounds(ranks, ceil(ranks / per_node) if per_node else None, size_bytes, at_low_ends)

    @cached_property
    def _bounding(self) -> list[Model]:
        """Return the models with the prices that give bounds: the identified ones.

        If a model predicts less than these bounds within its measured range, its own prices are lower: then all of them
        count, identified or not.
        """
        models = list(self.models.values())
        return [_with_all_prices(model) if self._is_below_at_its_ends(model, models) else model for model in models]

    def _is_below_at_its_ends(self, model: Model, models: list[Model]) -> bool:
        """Return whether `model` is below the bounds at its extreme ranks and sizes."""
        ends = [(ranks, size_bytes) for ranks in _ends(model.ranks) for size_bytes in _ends(model.size_bytes)]
        alone = [_predicted("", model, ranks, size_bytes, self.layout) for ranks, size_bytes in ends]
        return any(
            one.prediction.time_s < max(bounds(models, one.ranks, one.nodes, one.size_bytes)) * (1 - EQUAL)
            for one in alone
            if one.prediction
        )

    @cached_property
    def _measured_share(self) -> Bounds:
        """Return the shares of the bounds by prices that hold: 1, or what models are off whose times undercut them.

        Measured times at the ends of the sizes: what undercuts an estimated bound shows that it is too high.
        """
        shares = [1.0, 1.0]
        for model in self.models.values():
            for place, (ends, size_bytes) in enumerate(((model.smallest, min), (model.largest, max))):
                for ranks, off_log, _ in ends:
                    at_end = _predicted("", model, ranks, size_bytes(model.size_bytes), self.layout)
                    bound_s = bounds(self._bounding, ranks, at_end.nodes, at_end.size_bytes)[place]
                    if at_end.prediction and at_end.prediction.time_s * exp(off_log) < bound_s:
                        shares[place] = min(shares[place], exp(off_log))
        return Bounds(*shares)

    def _bounds(self, ranks: int, nodes: int | None, size_bytes: int, at_low_ends: bool) -> Bounds:
        key = ranks, nodes, at_low_ends
        if key not in self._bounds_of_a_byte:
            priced, shares = bounds(self._bounding, ranks, nodes, 1, None, at_low_ends), self._measured_share
            latency_s, byte_s = (bound_s * share for bound_s, share in zip(priced, shares))
            if rate := self.layout.nic_bytes_per_s:
                byte_s = max(byte_s, bounds((), ranks, nodes, 1, rate).bandwidth_s)
            self._bounds_of_a_byte[key] = Bounds(latency_s, byte_s)
        latency_s, byte_s = self._bounds_of_a_byte[key]
        return Bounds(latency_s, byte_s * size_bytes)

    def fastest(self, ranks: int, size_bytes: int) -> Predicted | None:
        """Return the least time of all series, or None if none has one; or the winner that is kept (`keeps_winner`),
        whose time may be unknown.

        Among equals, such as a ring and one on nodes of one rank, a usual algorithm, then the shortest name. `winner`
        tells whether it is known to be the fastest.
        """
        if self.keeps_winner(ranks):
            measured_s = self.measured_s(size_bytes)
            return self.at(min(measured_s, key=lambda series: measured_s[series]), ranks, size_bytes)
        every = [self.at(series, ranks, size_bytes) for series in self.models]
        possible = [predicted for predicted in every if predicted.prediction]
        least = min(map(_time_s, possible), default=0.0)
        equal = [predicted for predicted in possible if _time_s(predicted) <= least * (1 + EQUAL)]
        return min(equal, key=lambda one: (one.series not in USUAL, len(one.series)), default=None)

    def is_lower_bound(self, predicted: Predicted) -> bool:
        """Return whether the time is only a lower bound: raised to a common bound, or without its port's share.

        The port's share is missing if it adds to the times of others, and is unknown for this one.
        """
        if predicted.prediction is None:
            return False
        return predicted.limit in LIMITS or (
            predicted.no_port
            and any(self.at(rival, predicted.ranks, predicted.size_bytes).limit == PORT for rival in self.models)
        )

    def winner(self, ranks: int, size_bytes: int) -> Predicted | None:
        """Return the fastest series, or None if the models do not tell.

        They do not if the least time is only a lower bound, if it depends on an unidentified alpha or beta, or if
        another series may take less for such a one, or has no time so far from its sizes. Others may be `equals`.
        """
        fastest = self.fastest(ranks, size_bytes)
        if fastest is None or fastest.prediction is None:
            return None
        if self.keeps_winner(ranks):
            is_unknown = any(self.at(series, ranks, size_bytes).too_far for series in self.models)
            return None if is_unknown else fastest
        if fastest.prediction.unidentified or self.is_lower_bound(fastest):
            return None
        rivals = [self.at(series, ranks, size_bytes) for series in self.models if series != fastest.series]
        return None if any(_may_take_less(rival, fastest.prediction.time_s) for rival in rivals) else fastest

    @cached_property
    def largest_common(self) -> int | None:
        """Return the largest measured number of ranks; None: not that of all series, or their times are not known."""
        largest = {max(model.ranks, default=0) if model.at_most_ranks else 0 for model in self.models.values()}
        return max(largest) or None if len(largest) == 1 else None

    def keeps_winner(self, ranks: int) -> bool:
        """Return whether on `ranks` the winner at the largest measured number of ranks is kept as the fastest.

        As far as `series.kept_to` found, where ranks are laid out as measured. Powers of two tell nothing of other
        numbers, at which some algorithms fold, nor these of powers.
        """
        largest, layout = self.largest_common, self.layout
        if largest is None or ranks <= largest or len(self.models) < 2:
            return False
        per_node = {layout.ranks_per_node or one.ranks_per_node for one in self.models.values()}
        as_measured = layout.segment is None and layout.nic_bytes_per_s is None
        as_measured &= per_node == {one.ranks_per_node for one in self.models.values()}
        same_kind = (ranks & (ranks - 1) == 0) == (largest & (largest - 1) == 0)
        return as_measured and same_kind and all(ranks <= model.winner_kept_to for model in self.models.values())

    def measured_s(self, size_bytes: int) -> dict[str, float]:
        """Return the times at the largest measured number of ranks, interpolated between sizes."""
        times = {}
        for series, model in self.models.items():
            logs = np.log(np.array(model.at_most_ranks, dtype=float))
            times[series] = float(np.exp(np.interp(log(size_bytes), logs[:, 0], logs[:, 1])))
        return times

    def equals(self, ranks: int, size_bytes: int) -> list[str]:
        """Return the series that the winner is not shown to be faster than; empty without a winner."""
        winner = self.winner(ranks, size_bytes)
        if winner is None or self.keeps_winner(ranks):
            return []
        return [series for series in self.models if series != winner.series and self.is_open(series, winner)]

    def is_open(self, series: str, other: Predicted) -> bool:
        """Return whether the order of two series at the place of `other` is within their intervals.

        Each time lies in the other's interval. Times without an interval, of given prices, are known.
        """
        one, two = self.at(series, other.ranks, other.size_bytes).prediction, other.prediction
        if one is None or two is None or self.keeps_winner(other.ranks):
            return False
        return _holds(one, two.time_s) and _holds(two, one.time_s)


def _holds(prediction: Prediction, time_s: float) -> bool:
    low_s, high_s = prediction.low_s, prediction.high_s
    return low_s is not None and high_s is not None and low_s <= time_s <= high_s


def _labels(models: Sequence[Model]) -> list[str]:
    """Return a distinct name for each: the algorithm, and what else distinguishes it."""
    labels = [model.competitor for model in models]
    for more in (lambda model: str(model.segment), lambda model: ""):
        labels = [
            f"{label} {more(model)}".strip() if labels.count(label) > 1 else label
            for label, model in zip(labels, models)
        ]
    return [label if labels.count(label) == 1 else f"{label} #{place + 1}" for place, label in enumerate(labels)]


def _ends(numbers: Sequence[int]) -> set[int]:
    return {min(numbers), max(numbers)} if numbers else set()


def _with_all_prices(model: Model) -> Model:
    """Return `model` with all its prices above 0 marked as identified; of a trend, those that it grows by."""
    parts = [
        part._replace(
            parameters=tuple(
                one._replace(identified=one.value > 0, low=one.low if one.identified else 0.0)
                for one in part.parameters
            )
        )
        for part in model.parts
    ]
    return replace(model, parts=tuple(parts), trend=())


def _not_below(predicted: Predicted, least: Bounds, low_end: Bounds) -> Predicted:
    """Raise `predicted` to the bounds if its model is below them, or drop its time if it is not identified.

    The bounds `least` are estimates; its interval reaches down to `low_end`, the bounds at the lower ends of theirs.
    """
    modelled, lowest_s = predicted.prediction, max(least)
    if modelled is None:
        return predicted
    limit = predicted.limit
    if modelled.time_s < lowest_s * (1 - EQUAL):
        limit = LIMITS[least.index(lowest_s)]
        if modelled.unidentified:
            return predicted._replace(
                prediction=None,
                cannot=f"{predicted.series}: {modelled.unidentified} not identified, and its model below the bound",
                limit=limit,
            )
    raised = modelled.changed(lambda time_s: max(time_s, lowest_s))
    low_s = None if modelled.low_s is None else max(modelled.low_s, max(low_end))
    return predicted._replace(prediction=raised._replace(low_s=low_s), limit=limit)


def _time_s(predicted: Predicted) -> float:
    assert predicted.prediction is not None
    return predicted.prediction.time_s


def _may_take_less(rival: Predicted, time_s: float) -> bool:
    """Return whether `rival` may be below `time_s`: its parameters are not identified, or nothing is known of it."""
    if rival.prediction is None:
        return rival.is_unknown
    return bool(rival.prediction.unidentified) and rival.prediction.least_s < time_s


def _predicted(series: str, model: Model, ranks: int, size_bytes: int, layout: Layout) -> Predicted:
    """Predict one series alone, ignoring the bounds. Raises MachineError, as `CompetingModels.at`."""
    per_node = _ranks_per_node(model, layout)
    if per_node is None and any(part.form.levels == 2 for part in model.parts):
        raise MachineError(f"{series}: its model distinguishes links within and between nodes; add --ranks-per-node")
    nodes = ceil(ranks / per_node) if per_node else None
    itemsize = layout.itemsize or model.itemsize
    parts = [part for part in model.parts if not _unmet(part, ranks, nodes)]
    if not parts:
        return Predicted(series, ranks, nodes, size_bytes, None, None, _unmet(model.parts[0], ranks, nodes) or "")
    end = model.size_end(size_bytes)
    if not end / MOST_SIZE <= size_bytes <= end * MOST_SIZE and not layout.extrapolate:
        return Predicted(series, ranks, nodes, size_bytes, None, None, _too_far(series, model), too_far=True)
    segment = _segment_elements(model, parts, ranks, nodes, size_bytes, layout, itemsize)
    part_terms = [_declared_terms(part, ranks, nodes, size_bytes, itemsize, segment) for part in parts]
    able = replace(model, parts=tuple(parts))
    if end == size_bytes:
        prediction = able.predict(ranks, size_bytes, part_terms)
    else:
        end_terms = [_declared_terms(part, ranks, nodes, end, itemsize, segment) for part in parts]
        prediction = able.beyond(ranks, size_bytes, part_terms, end_terms)
    prediction = prediction._replace(least_s=_least_s(series, model, prediction, ranks, size_bytes, layout))
    is_port_counted = bool(layout.nic_bytes_per_s) and (nodes or ranks) > 1
    no_port = is_port_counted and not _is_known_schedule(model)
    waits_s = _port_waits_s(model, part_terms, ranks, nodes or ranks, size_bytes, layout.nic_bytes_per_s)
    prediction = prediction.changed(lambda time_s: time_s + waits_s)
    segment_nbytes, limit = segment * itemsize if segment else None, PORT if waits_s > NOTED * prediction.time_s else ""
    return Predicted(series, ranks, nodes, size_bytes, segment_nbytes, prediction, limit=limit, no_port=no_port)


def _too_far(series: str, model: Model) -> str:
    measured = f"{format_size(min(model.size_bytes))} to {format_size(max(model.size_bytes))}"
    return f"{series}: no time beyond {MOST_SIZE:g} times the measured sizes ({measured}) unless --extrapolate is given"


def _ranks_per_node(model: Model, layout: Layout) -> int | None:
    return layout.ranks_per_node or (ceil(model.ranks_per_node) if model.ranks_per_node else None)


def _unmet(part: ModelPart, ranks: int, nodes: int | None) -> str | None:
    algorithm = builtin_of(part.priced_as)
    if not algorithm.needs and not algorithm.unfit:
        return None
    return algorithm.unmet(ranks, Topology.filled(ranks, ceil(ranks / (nodes or ranks))))


def _declared_terms(
    part: ModelPart, ranks: int, nodes: int | None, size_bytes: int, itemsize: int, segment: int | None
) -> Terms:
    return terms(builtin_of(part.priced_as), ranks, nodes, size_bytes, itemsize, segment, enumerated=0)


def _least_s(series: str, model: Model, prediction: Prediction, ranks: int, size_bytes: int, layout: Layout) -> float:
    """Return a lower bound of the time for any values of unidentified parameters.

    At measured points it is the lower end of the interval. With more ranks or bytes it does not fall unless the model
    says so (four ranks need not fold as three do), and with fewer bytes than measured at most proportionally.
    """
    is_far_below = not model.ranks or not model.size_bytes or ranks < min(model.ranks)
    if not prediction.unidentified or is_far_below:
        return prediction.least_s
    nearest = min(ranks, max(model.ranks)), min(max(size_bytes, min(model.size_bytes)), max(model.size_bytes))
    if nearest == (ranks, size_bytes):
        return max(prediction.least_s, prediction.low_s or 0.0)
    measured = _predicted(series, model, *nearest, layout).prediction
    if measured is None:
        return prediction.least_s
    share = min(1.0, size_bytes / nearest[1], prediction.time_s / measured.time_s)
    return max(prediction.least_s, measured.least_s * share)


def _is_known_schedule(model: Model) -> bool:
    """Return whether the executed algorithm is known; otherwise its model is that of the best fitting one."""
    first, *others = model.parts
    return not others and builtin_of(first.priced_as).name == model.algorithm


def _port_waits_s(
    model: Model, part_terms: Sequence[Terms], ranks: int, nodes: int, size_bytes: int, rate: float | None
) -> float:
    """Return how much longer the ports need for all bytes of the busiest node than the critical path for its own.

    0 for a library's own algorithm, whose bytes are unknown: the bound of all algorithms holds. `rate`: of a port, in
    bytes per second; None: ports are ignored.
    """
    first, own_terms = model.parts[0], part_terms[0]
    if not rate or nodes == 1 or not _is_known_schedule(model):
        return 0.0
    port_s = port_share(builtin_of(first.priced_as), ranks, nodes) * size_bytes / rate
    waits_s = port_s - bytes_between_s(first, own_terms, ranks)
    return waits_s if waits_s > EQUAL * port_s else 0.0


@lru_cache(maxsize=20_000)
def port_share(algorithm: Algorithm, ranks: int, nodes: int) -> float:
    """Return the bytes through the port of the busiest node in one direction, relative to a long vector's.

    All ranks of a node share its port, which sends and receives at the same time. A critical path alone ignores that
    they wait for each other: of eight ranks that exchange halves with another node at the same time it counts one. At
    least 2(N-1)/N, a bound of all algorithms (Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009).

    Nodes are filled one after the other. Of long schedules only some nodes are counted, evenly spread, which may miss
    the busiest. If a single node has more than ONE_NODE steps, none is counted.
    """
    least = 2 * (nodes - 1) / nodes
    per_node = ceil(ranks / nodes)
    topology = Topology.filled(ranks, per_node)
    ranks_of = topology.nodes
    parts = equal_parts(ranks, per_node)
    steps_of_node = per_node * max(_steps(algorithm, rank, ranks, topology, parts) for rank in {0, ranks - 1})
    if steps_of_node > ONE_NODE:
        return least
    number = min(len(ranks_of), max(1, ALL_NODES // max(1, steps_of_node)))
    spread = {round(place * (len(ranks_of) - 1) / max(1, number - 1)) for place in range(number)}
    return max(least, *(_crossing(algorithm, ranks_of[node], topology, parts) / parts for node in spread))


def _steps(algorithm: Algorithm, rank: int, ranks: int, topology: Topology, count: int) -> int:
    """Count the steps of a rank, up to ONE_NODE + 1."""
    steps = algorithm.generate(rank, ranks, topology, count, count)
    return sum(1 for _, _ in zip(range(ONE_NODE + 1), steps))


def _crossing(algorithm: Algorithm, of_node: tuple[int, ...], topology: Topology, count: int) -> int:
    """Return the elements that the ranks `of_node` send to other nodes, or receive from them, if that is more."""
    node_of, sent, received = topology.node_of, 0, 0
    node = node_of[of_node[0]]
    for rank in of_node:
        for step in algorithm.generate(rank, len(node_of), topology, count, count):
            sent += elements(step.send) if step.dest is not None and node_of[step.dest] != node else 0
            received += elements(step.recv) if step.source is not None and node_of[step.source] != node else 0
    return max(sent, received)


def _segment_elements(
    model: Model, parts: list[ModelPart], ranks: int, nodes: int | None, size_bytes: int, layout: Layout, itemsize: int
) -> int | None:
    """Return the elements of a segment, or None if nothing is segmented."""
    segmented = [part for part in parts if builtin_of(part.priced_as).segmented]
    if not segmented:
        return None
    if layout.segment == BEST:
        return _best_segment(segmented[0], ranks, nodes, size_bytes, itemsize)
    fitted = model.segment * model.itemsize if model.segment else DEFAULT_SEGMENT_NBYTES
    return max(1, int(layout.segment or fitted) // itemsize)


def _best_segment(part: ModelPart, ranks: int, nodes: int | None, size_bytes: int, itemsize: int) -> int:
    """Return the elements, a power of two, of the segment with which `part` is fastest; among equals the shortest.

    The time is nearly flat around its minimum (Sanders, Speck and Träff, 2009): powers of two come within 3 % of it.
    """
    count = max(1, size_bytes // itemsize)

    def cost(segment: int) -> float:
        counted = _declared_terms(part, ranks, nodes, size_bytes, itemsize, segment)
        return float(seconds(part, [counted], [ranks])[0])

    return min((2**power for power in range(count.bit_length() + 1)), key=cost)
