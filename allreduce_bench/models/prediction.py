"""Predictions of a machine's models at numbers of ranks and sizes.

From declared costs alone: no schedule is enumerated, except for the bytes through the port of a node (`port_share`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from math import ceil, inf, log
from typing import NamedTuple

import numpy as np

from ..algorithms import USUAL, builtin, why_unknown
from ..evaluation.grade import NOT_RELIABLE
from ..runs.plan import DEFAULT_SEGMENT_NBYTES
from ..schedule import elements
from ..schedule.algorithm import Algorithm, AlgorithmError, Topology
from ..units import format_size
from .alpha_beta import BETA, BETWEEN, coefficient, replace_beta
from .anchor import Anchored
from .bounds import Bounds, bounds
from .intervals import FAR, MOST_SIZE, distance, factors
from .intervals import USUAL as USUAL_FACTOR
from .known_algorithms import known_as
from .machine import Machine, MachineError, add_algorithms
from .model import UNKNOWN, Model, cell_columns, price_of, worst
from .terms import equal_parts, terms

# Limits
LIMITS = "latency", "bandwidth"  # bounds, in the order of `Bounds`
PORT = "port"
NOTED = 0.01  # of a time: a port that adds less is not mentioned
ONE_NODE, ALL_NODES = 8_192, 2_048  # counted steps, empty ones included: of one node, and of several together


# Segments
BEST = "best"  # segment with which the model is fastest

EQUAL = 1e-9  # relative difference of sums of the same terms in another order


class Layout(NamedTuple):
    """Layout of ranks on nodes and of segments, where the models leave it open, and links that were not measured."""

    ranks_per_node: int | None = None  # None: as measured
    segment: int | str | None = None  # bytes, or BEST; None: as measured, else the default
    itemsize: int | None = None  # bytes of an element, where nothing was measured
    nic_bytes_per_s: float | None = None  # rate of a single port per node, shared by its ranks; None: ignored
    extrapolate: bool = False  # also far beyond the measured ranks and sizes, and by models that are of no use
    beta_s_per_byte: float | None = None  # of links between nodes instead of the fitted one; None: as measured
    gamma_s_per_byte: float = 0.0  # beside that


AS_MEASURED = Layout()


class Predicted(NamedTuple):
    """Time of a series on so many ranks for a vector; `time_s` None: there is none, and `cannot` says why.

    `limit` is what makes the time longer than in the model alone: `latency` and `bandwidth`, the bounds of all models
    together, to which it was raised; `port`, the bytes of this algorithm through the port of a node, for which its
    ranks wait. `no_port`: the port counts, but this algorithm's bytes through it are unknown.
    """

    series: str
    ranks: int
    nodes: int | None
    size_bytes: int
    segment_nbytes: int | None = None
    time_s: float | None = None
    low_s: float | None = None  # ends of the 90 % interval; None: measured or of given prices, or too far for one
    high_s: float | None = None
    is_measured: bool = False
    is_speculative: bool = False  # too far from what was measured for an interval
    is_cut: bool = False  # at the time of a larger size
    limit: str = ""
    no_port: bool = False
    cannot: str = ""
    is_refused: bool = False  # it could run there, in a time of which nothing is known

    def delay(self, waits_s: float) -> "Predicted":
        """Return it with all its times longer by `waits_s`."""
        times_s = [None if time_s is None else time_s + waits_s for time_s in (self.time_s, self.low_s, self.high_s)]
        return self._replace(time_s=times_s[0], low_s=times_s[1], high_s=times_s[2])


class Fastest(NamedTuple):
    """The series that is named the fastest."""

    predicted: Predicted
    is_sure: bool  # False: by its prediction alone, against the winner at the nearest measured ranks


def competing_models(
    machine: Machine, algorithms: Iterable[str] = (), layout: Layout = AS_MEASURED
) -> "list[CompetingModels]":
    """Group the models of `machine` that compete, only of `algorithms` if given.

    A name is ours or the log's. Raises AlgorithmError for an unknown name, MachineError for an algorithm that was not
    fitted.
    """
    names = list(algorithms)
    machine = add_algorithms(machine, names)
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
        size = layout.itemsize
        sized = [replace(model, itemsize=size) if size and not model.cells else model for model in models]
        self.models = dict(zip(_labels(models), sized))
        self.layout = layout
        self._kept: dict[tuple[str, int, int], Predicted] = {}
        self._repriced: dict[str, Anchored] = {}

    @property
    def where(self) -> str:
        """Return what its series share: `monday, float32 sum`; empty if nothing was measured."""
        first = next(iter(self.models.values()))
        placement = "" if self.placement in ("", UNKNOWN) else f"placement {self.placement}"
        return ", ".join(filter(None, [first.run, f"{first.dtype} {first.op}".strip(), first.conditions, placement]))

    @property
    def grade(self) -> str:
        """Return the worst grade of the fitted times; empty if nothing was measured."""
        measured = [model.grade for model in self.models.values() if model.cells]
        return worst(measured) if measured else ""

    @property
    def placement(self) -> str:
        """Return where vectors lay when the times were measured, common to all; empty if nothing was measured."""
        first = next(iter(self.models.values()))
        return first.placement if first.cells else ""

    @property
    def step(self) -> int:
        """Return the divisor of all numbers of ranks that fill whole nodes."""
        return max(self._ranks_per_node(model) or 1 for model in self.models.values())

    def _ranks_per_node(self, model: Model) -> int | None:
        return self.layout.ranks_per_node or (ceil(model.ranks_per_node) if model.ranks_per_node else None)

    def predict(self, series: str, ranks: int, size_bytes: int) -> Predicted:
        """Return the time of `series` on `ranks` for a vector of `size_bytes`: measured, or never below a bound.

        Raises MachineError if the model separates links within and between nodes and the ranks per node are unknown.
        """
        key = series, ranks, size_bytes
        if key not in self._kept:
            alone = self._predict_alone(series, ranks, size_bytes)
            is_final = alone.time_s is None or alone.is_measured
            self._kept[key] = (
                alone if is_final else _raise_to_bounds(alone, self.bounds(ranks, size_bytes), self._port_s(alone))
            )
        return self._kept[key]

    def bounds(self, ranks: int, size_bytes: int) -> Bounds:
        """Return the lower bounds of any all-reduce there, by the prices of all these models and a node's port.

        A bound that a measured time undercuts is none: it is lowered to what no measured time is below.
        """
        nodes = next(iter(self.models.values())).nodes_at(ranks, self.layout.ranks_per_node)
        by_prices, shares = bounds(list(self._priced.values()), ranks, nodes, size_bytes), self._shares
        latency_s, bandwidth_s = (bound_s * share for bound_s, share in zip(by_prices, shares))
        return Bounds(latency_s, max(bandwidth_s, self._port_s(Predicted("", ranks, nodes, size_bytes))))

    def _port_s(self, where: Predicted) -> float:
        """Return the bound by the port of a node, whose rate was given; 0 without one."""
        rate = self.layout.nic_bytes_per_s
        return bounds((), where.ranks, where.nodes, where.size_bytes, rate).bandwidth_s

    @cached_property
    def _priced(self) -> dict[str, Model]:
        """Return the models at the prices that were asked for."""
        beta, gamma = self.layout.beta_s_per_byte, self.layout.gamma_s_per_byte
        if beta is None:
            return self.models
        return {
            series: replace(model, parameters=replace_beta(model.parameters, beta, gamma))
            for series, model in self.models.items()
        }

    @cached_property
    def _shares(self) -> Bounds:
        """Return the shares of the bounds that no measured time is below."""
        models, shares = list(self.models.values()), [1.0, 1.0]
        for ranks, nodes, size_bytes, time_s in {cell for model in models for cell in model.cells if cell.ranks > 1}:
            for place, bound_s in enumerate(bounds(models, ranks, nodes or None, size_bytes)):
                shares[place] = min(shares[place], time_s / bound_s if bound_s else 1.0)
        return Bounds(*shares)

    def _predict_alone(self, series: str, ranks: int, size_bytes: int) -> Predicted:
        """Predict one series, ignoring the bounds. Raises MachineError, as `at`."""
        model, priced, layout = self.models[series], self._priced[series], self.layout
        nodes = model.nodes_at(ranks, layout.ranks_per_node)
        if nodes is None and any(one.link for one in model.parameters):
            raise MachineError(
                f"{series}: its model distinguishes links within and between nodes; add --ranks-per-node"
            )
        algorithm = model.schedule
        predicted = Predicted(series, ranks, nodes, size_bytes)
        is_measured = bool(model.cells) and model.anchored.is_measured(ranks, nodes or 0, size_bytes)
        if not is_measured and (why := unmet(algorithm, ranks, nodes)):
            return predicted._replace(cannot=why)
        segment = self._segment(priced, ranks, nodes, size_bytes) if algorithm.segmented else None
        predicted = predicted._replace(segment_nbytes=segment and segment * model.itemsize)
        if not model.cells:
            timed = predicted._replace(time_s=model.price_s(ranks, nodes, size_bytes, segment))
        else:
            is_other = layout.beta_s_per_byte is not None or (algorithm.segmented and layout.segment)
            anchored = self._reprice(series) if is_other else model.anchored
            timed = self._predict_by_anchor(model, anchored, predicted)
        return timed if timed.time_s is None else self._add_port(priced, timed)

    def _predict_by_anchor(self, model: Model, anchored: Anchored, predicted: Predicted) -> Predicted:
        """Return the measured time, or the prediction with its interval, or why there is none."""
        ranks, size_bytes = predicted.ranks, predicted.size_bytes
        timed = anchored.predict(ranks, predicted.nodes or 0, size_bytes)
        if timed.is_measured:
            return predicted._replace(time_s=timed.time_s, is_measured=True)
        times = distance(ranks, model.ranks), distance(size_bytes, model.sizes)
        if not self.layout.extrapolate and (why := _why_refused(model, *times)):
            return predicted._replace(cannot=f"{predicted.series}: {why}, unless --extrapolate", is_refused=True)
        found = predicted._replace(time_s=timed.time_s, is_cut=timed.is_cut)
        ends = factors(model.range_by_times, *times, ranks in model.ranks)
        if ends is None:
            return found._replace(is_speculative=True)
        return found._replace(low_s=timed.time_s * ends[0], high_s=timed.time_s * ends[1])

    def _reprice(self, series: str) -> Anchored:
        """Return the times by the links and the segment that were asked for: they change as their prices do."""
        if series not in self._repriced:
            model, priced = self.models[series], self._priced[series]

            def price_s(ranks: int, nodes: int, size_bytes: int) -> float:
                where = ranks, nodes or None, size_bytes
                return priced.price_s(*where, self._segment(priced, *where) if self.layout.segment else model.segment)

            before = cell_columns(model.cells)
            factor = [
                price_s(ranks, nodes, size_bytes) / model.price_s(ranks, nodes or None, size_bytes, model.segment)
                for ranks, nodes, size_bytes, _ in model.cells
            ]
            cells = before._replace(time_s=before.time_s * np.array(factor))
            unchanged = cells.time_s == before.time_s
            self._repriced[series] = Anchored(cells, price_s, model.is_library, unchanged)
        return self._repriced[series]

    def _add_port(self, model: Model, timed: Predicted) -> Predicted:
        """Return the time with what the port of the busiest node needs longer than the critical path for its bytes.

        Nothing is added for a library's own algorithm, whose bytes are unknown: the bound of all algorithms holds.
        """
        rate, ranks, nodes = self.layout.nic_bytes_per_s, timed.ranks, timed.nodes or timed.ranks
        algorithm = model.schedule
        if not rate or nodes == 1 or timed.is_measured:
            return timed
        if algorithm.name != known_as(model.algorithm, builtin()):
            return timed._replace(no_port=True)
        path = terms(algorithm, ranks, timed.nodes, timed.size_bytes, model.itemsize)
        beta = price_of(model, BETA, BETWEEN)
        crossing = [(BETA, BETWEEN)] if any(one.between for one in path.messages) else []
        on_path_s = sum(coefficient(one, path) for one in crossing) * (beta.value if beta else 0.0)
        port_s = port_share(algorithm, ranks, nodes) * timed.size_bytes / rate
        waits_s = port_s - on_path_s
        if waits_s <= EQUAL * port_s:
            return timed
        later = timed.delay(waits_s)
        return later._replace(limit=PORT if waits_s > NOTED * _time_s(later) else "")

    def _segment(self, model: Model, ranks: int, nodes: int | None, size_bytes: int) -> int:
        """Return the elements of a segment; the best one is a power of two, of equals the shortest.

        The time is nearly flat around its minimum (Sanders, Speck and Träff, 2009): powers of two are within 3 % of it.
        """
        if self.layout.segment == BEST:
            powers = [1 << power for power in range(max(1, size_bytes // model.itemsize).bit_length() + 1)]
            return min(powers, key=lambda segment: model.price_s(ranks, nodes, size_bytes, segment))
        if self.layout.segment is None and model.segment:
            return model.segment
        return max(1, int(self.layout.segment or DEFAULT_SEGMENT_NBYTES) // model.itemsize)

    def fastest(self, ranks: int, size_bytes: int) -> Fastest | None:
        """Return the fastest there, or None if none is known.

        Where something was measured: the winner at the nearest number of ranks that was measured of all, unless the
        predicted time of another is below its interval; it is not told of times that are not reliable. By given prices
        the least time; among equals, such as a ring and one on nodes of one rank, a usual algorithm, then the shortest
        name.
        """
        every = [self.predict(series, ranks, size_bytes) for series in self.models]
        timed = [one for one in every if one.time_s is not None and not self._lacks_port(one)]
        if not timed:
            return None
        least = min(map(_time_s, timed))
        equal = [one for one in timed if _time_s(one) <= least * (1 + EQUAL)]
        first = min(equal, key=lambda one: (one.series not in USUAL, len(one.series)))
        if not self.common_ranks:
            is_given = not any(model.cells for model in self.models.values())
            return Fastest(first, is_given or len(self.models) == 1)
        nearest = min(self.common_ranks, key=lambda count: abs(log(count / ranks)))
        before = {one.series: self.predict(one.series, nearest, size_bytes).time_s or inf for one in timed}
        kept = min(timed, key=lambda one: before[one.series])
        if before[kept.series] == inf:
            return Fastest(first, False)
        least_s = _time_s(kept) / USUAL_FACTOR[FAR] if kept.is_speculative else kept.low_s or 0.0
        if _time_s(first) < least_s:
            return Fastest(first, False)
        return Fastest(kept, self.grade != NOT_RELIABLE)

    @cached_property
    def common_ranks(self) -> list[int]:
        """Return the numbers of ranks that were measured of all models."""
        return sorted(set.intersection(*(set(model.ranks) for model in self.models.values())))

    def is_lower_bound(self, predicted: Predicted) -> bool:
        """Return whether the time is only a lower bound: raised to a common bound, or without its port's share."""
        return predicted.limit in LIMITS or self._lacks_port(predicted)

    def _lacks_port(self, predicted: Predicted) -> bool:
        """Return whether its port's share is unknown, and adds to the times of others."""
        return predicted.no_port and any(
            self.predict(rival, predicted.ranks, predicted.size_bytes).limit == PORT for rival in self.models
        )


def _why_refused(model: Model, ranks_times: float, size_times: float) -> str:
    """Return why no time is predicted so far from what was measured; empty: one is."""
    if model.is_useless and model.held_out:
        return f"do not use this model: a tenth of the held-out times are off by {model.held_out.p90:.0%} or more"
    if size_times > MOST_SIZE:
        measured = f"{format_size(model.sizes[0])} to {format_size(model.sizes[-1])}"
        return f"no time beyond {MOST_SIZE:g} times the measured sizes ({measured})"
    if ranks_times > FAR:
        return f"no time beyond {FAR:g} times the measured ranks ({model.ranks[0]} to {model.ranks[-1]})"
    return ""


def _labels(models: Sequence[Model]) -> list[str]:
    """Return a distinct name for each: the algorithm, and what else distinguishes it."""
    labels = [model.competitor for model in models]
    for more in (lambda model: str(model.segment), lambda model: ""):
        labels = [
            f"{label} {more(model)}".strip() if labels.count(label) > 1 else label
            for label, model in zip(labels, models)
        ]
    return [label if labels.count(label) == 1 else f"{label} #{place + 1}" for place, label in enumerate(labels)]


def _raise_to_bounds(predicted: Predicted, least: Bounds, port_s: float) -> Predicted:
    """Raise `predicted` to the bounds, and the ends of its interval to the port's bound: the others are estimates."""
    lowest_s, time_s = max(least), _time_s(predicted)
    is_below = time_s < lowest_s * (1 - EQUAL)
    low_s = None if predicted.low_s is None else min(max(predicted.low_s, port_s), max(time_s, lowest_s))
    high_s = None if predicted.high_s is None else max(predicted.high_s, lowest_s if is_below else time_s)
    limit = LIMITS[least.index(lowest_s)] if is_below else predicted.limit
    return predicted._replace(time_s=lowest_s if is_below else time_s, low_s=low_s, high_s=high_s, limit=limit)


def _time_s(predicted: Predicted) -> float:
    assert predicted.time_s is not None
    return predicted.time_s


def unmet(algorithm: Algorithm, ranks: int, nodes: int | None) -> str:
    """Return what the algorithm needs and lacks on so many ranks and nodes; empty: nothing."""
    if not algorithm.needs and not algorithm.unfit:
        return ""
    return algorithm.unmet(ranks, Topology.filled(ranks, ceil(ranks / (nodes or ranks)))) or ""


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
