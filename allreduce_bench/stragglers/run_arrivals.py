"""Arrivals of the ranks of a run at its calls, from the stamps of --compute and --arrival, and the state of its nodes.

Cells and launches with the same ranks are joined. `machine.core_load` explains the counters of the nodes' kernels
(throttling, clocks, other processes).
"""

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..evaluation.stamps import stamps_of
from ..machine.core_load import DISTURBED, LOW_CLOCK, core_use
from ..runs.folder import RunFolder
from ..runs.injected import Slowdown, slowdown_of
from ..runs.rows import Row
from ..runs.schema import CALLS, STAMPS, names
from ..units import in_ranks
from .arrivals import Arrivals


class NodeState(NamedTuple):
    """The worst state of one node over all launches."""

    throttled: int = 0  # how often clocks were lowered for heat or power, the most of a core
    clock: float = 1.0  # of a busy core, over its highest
    others: float = 0.0  # share of the hardware threads that other processes used
    stolen: float = 0.0  # share that the hypervisor took

    @property
    def is_noteworthy(self) -> bool:
        """Whether it explains slow ranks."""
        return bool(self.throttled) or self.clock < LOW_CLOCK or max(self.others, self.stolen) >= DISTURBED


class Injected(NamedTuple):
    """The delays that a run injected."""

    slowdowns: tuple[Slowdown, ...] = ()  # ranks whose phase of work was longer
    compute_s: float = 0.0  # the phase of work of the others
    pattern: str = ""  # by which ranks entered late


class ArrivalSource(NamedTuple):
    """Arrivals and their source."""

    what: str  # description: `8 ranks, --arrival ramp`, a communicator; empty: everything
    arrivals: Arrivals
    machines: tuple[NodeState, ...] = ()  # of each node; empty: not known
    injected: Injected = Injected()
    path: str = ""  # the first of its files
    kind: str = ""


def parts_of_run(folder: RunFolder) -> list[ArrivalSource]:
    """Return the arrivals of a run, joined over cells and launches with the same ranks. Raises RunError.

    Empty: the run was measured without --compute and --arrival.
    """
    plan = folder.plan()
    slowdowns = tuple(map(slowdown_of, plan.inject_slowdown))
    pattern = plan.arrival_name
    groups: dict[tuple, list[tuple[Row, Arrivals]]] = defaultdict(list)
    for cell, arrivals in arrivals_of_run(folder):
        groups[arrivals.node_of, arrivals.nodes].append((cell, arrivals))
    return [
        ArrivalSource(
            ", ".join(filter(None, [in_ranks([len(node_of)]), pattern and f"--arrival {pattern}"])),
            join_arrivals(of_group),
            node_states((facts for facts in folder.attempts() if facts["ranks"] == len(node_of)), node_of),
            Injected(slowdowns, plan.compute_s, pattern),
        )
        for (node_of, _), of_group in groups.items()
    ]


def join_arrivals(parts: Sequence[tuple[Row, Arrivals]]) -> Arrivals:
    """Join the steps of cells, launch by launch, in the order of their beginnings; each launch has its own clock.

    Steps of unknown length are left out.
    """
    first, launches = parts[0][1], list(dict.fromkeys(cell["launch"] for cell, _ in parts))
    every = [(each.ready_s, each.step_s, each.begin_s) for _, each in parts]
    ready_s, step_s, begin_s = (np.concatenate(values) for values in zip(*every))
    launch = np.concatenate([np.full(len(each.step_s), launches.index(cell["launch"])) for cell, each in parts])
    known = np.flatnonzero(np.isfinite(step_s) & np.isfinite(begin_s))
    order = known[np.lexsort((begin_s[known], launch[known]))]
    ready_s, step_s, begin_s, launch = ready_s[order], step_s[order], begin_s[order], launch[order]
    end_s = 0.0
    for number in np.unique(launch):
        own = launch == number
        begin_s[own] = begin_s[own] - begin_s[own][0] + end_s
        end_s = begin_s[own][-1] + step_s[own][-1]
    clock_error_s = max(each.clock_error_s for _, each in parts)
    return Arrivals(ready_s, step_s, clock_error_s, first.node_of, first.nodes, begin_s)


def arrivals_of_run(folder: RunFolder) -> list[tuple[Row, Arrivals]]:
    """Return the marks of all finished cells that have arrivals, and these, in the order of measurement.

    A step is one timed call; it begins when the first rank begins its work and ends when the last rank leaves the call,
    since between calls the ranks check results and decide how to go on. Empty for a run without --compute and
    --arrival: its stamps begin after the common start. Raises RunError.
    """
    facts_of = {(facts["launch"], str(facts["attempt"])): facts for facts in folder.attempts()}
    found = []
    for mark, rows in folder.calls():
        if not mark["stamps"]:
            continue
        stamps = stamps_of(folder, mark)
        if len(stamps) == len(STAMPS):
            facts = facts_of.get((mark["launch"], mark["attempt"]), {})
            calls = csv.DictReader(io.StringIO(rows.decode()), names(CALLS))
            warmups = sum(call["warmup"] == "1" for call in calls)
            found.append((mark, _arrivals(stamps[:, warmups:], mark, facts)))
    return found


def _arrivals(stamps: np.ndarray, mark: Row, facts: Mapping) -> Arrivals:
    """Return the arrivals at the timed calls of `stamps`, float64 [4, call, rank], in a launch of these facts."""
    begin, ready, _, exit = stamps
    node_of, nodes = nodes_of_ranks(facts, stamps.shape[2])
    return Arrivals(
        ready_s=ready,
        step_s=np.fmax.reduce(exit, axis=1) - np.fmin.reduce(begin, axis=1),  # a log may lack a rank
        clock_error_s=float(mark["clock_error_s"] or 0.0),
        node_of=node_of,
        nodes=nodes,
        begin_s=np.fmin.reduce(begin, axis=1),
    )


def nodes_of_ranks(facts: Mapping, ranks: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the node of each rank of a launch, numbered in the order of first ranks, and the names of these nodes.

    No names where they are unknown, or where nodes were only declared, so that several have one name.
    """
    labels = facts.get("node_of") or []
    if len(labels) != ranks:
        return (0,) * ranks, ()
    order = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    node_of = tuple(order[label] for label in labels)
    hosts = facts.get("hosts") or []
    names = tuple(hosts[node_of.index(node)] for node in range(len(order))) if len(hosts) == ranks else ()
    return node_of, names if len({*names}) == len(names) else ()


def node_states(attempts: Iterable[Mapping], node_of: tuple[int, ...]) -> tuple[NodeState, ...]:
    """Return the state of each node, numbered as in `node_of`, from the facts of launches of as many ranks."""
    states = [NodeState()] * (1 + max(node_of, default=-1))
    for facts in attempts:
        hosts = facts.get("hosts") or []
        counted = {node.get("host"): node for node in facts.get("counted") or ()}
        for rank, host in enumerate(hosts if len(hosts) == len(node_of) else ()):
            if host in counted:
                states[node_of[rank]] = _worse_state(states[node_of[rank]], counted[host])
    return tuple(states)


def _worse_state(state: NodeState, counted: Mapping) -> NodeState:
    use = core_use(dict(counted))
    return NodeState(
        max(state.throttled, counted.get("throttled") or 0),
        min(state.clock, counted.get("clock") or 1.0),
        max(state.others, use.others if use else 0.0),
        max(state.stolen, use.stolen if use else 0.0),
    )
