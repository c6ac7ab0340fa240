"""One launch, on every rank: which cells in which order, each kept before the next begins."""

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from mpi4py import MPI

from ..algorithms import find_planned
from ..machine import mpi as mpi_library
from ..machine import node
from ..runs.dtypes import arithmetic_findings, teach_numpy
from ..runs.folder import CellKey
from ..runs.plan import Cell, Launch, Plan
from ..runs.recorder import Recorder
from ..runs.schema import ALONE, FLOOR
from ..schedule.topology import Topology
from ..units import format_ranges, format_size, format_time
from ..watching.lifeline import STAGE_VARIABLE, SWITCHES_VARIABLE
from ..watching.whereabouts import doing
from . import context
from .calls import Times
from .cell import Outcome, outcome_of
from .clock import Clock
from .context import Launched
from .startup import STARTUP, slowest
from .sync import Barrier, Earlier, choose, make


def enter(comm: MPI.Comm, plan: Plan, launch: Launch, deadline: float | None) -> Launched:
    """Look around: the nodes, the algorithms, the memory. Raises AlgorithmError and DtypeError."""
    teach_numpy(plan.dtype)
    algorithms = find_planned(plan.algorithms, plan.files, plan.file_digests)
    real = context.nodes_of(comm)
    pretended = plan.pretend_ranks_per_node
    topology = Topology.filled(comm.size, pretended) if pretended else real
    local = len(real.nodes[real.node_of[comm.rank]])
    free = node.free_memory()
    shares = [share for share in comm.allgather(None if free is None else free // local) if share is not None]
    ours = comm.Dup()
    launched = Launched(
        comm=ours,
        plan=plan,
        launch=launch,
        real=real,
        topology=topology,
        algorithms=algorithms,
        memory_per_rank=min(shares, default=None),
        deadline=deadline,
        counters=_counters(comm, real),
        first_calls={},
        clock=Clock(ours, shared=real.node_of[comm.rank] == real.node_of[0]),
        sync=Barrier(ours),  # until another is chosen
        cold_nbytes=0 if plan.caches == ("warm",) else _cold_region(comm, real),
    )
    if not plan.groups:
        return launched
    from .in_groups import split  # late: few runs have groups

    return split(launched, _counters)


def _cold_region(comm: MPI.Comm, real: Topology) -> int:
    """What a rank touches between two uses of a buffer: what the fullest node and the largest caches ask for."""
    from ..machine.caches import (
        caches,
        cold_region,  # late: few runs are cold
    )

    own = cold_region(caches(), len(real.nodes[real.node_of[comm.rank]])) if _leads(comm, real) else 0
    return comm.allreduce(own, MPI.MAX)


def _cold_findings() -> list[dict]:
    from ..machine.caches import (
        caches,
        findings_of,  # late: rank 0 only, and few runs are cold
    )

    return findings_of(caches())


def facts_of(comm: MPI.Comm, launched: Launched, command: str, transport: str | None, first: bool) -> dict | None:
    """What the launch's JSON file keeps; on all but rank 0 None."""
    real = launched.real
    machines = comm.gather(node.machine() if _leads(comm, real) else None)
    places = comm.gather((node.host(), node.affinity()))
    phases = comm.gather(STARTUP.phases)
    if machines is None or places is None or phases is None:
        return None
    from ..machine.findings import (
        findings,
        oversubscribed,  # late: rank 0 only
    )

    leaders = [machine for machine in machines if machine is not None]
    for machine, ranks in zip(leaders, real.nodes):
        machine["cpus_of_ranks"] = len(frozenset().union(*(places[rank][1] or () for rank in ranks))) or None
    ranks_of_node, mpi = [len(ranks) for ranks in real.nodes], mpi_library.mpi_facts()
    declared = len(launched.topology.nodes) if launched.plan.pretend_ranks_per_node else None
    return {
        "command": command,
        "ranks": comm.size,
        "nodes": len(real.nodes),
        "nodes_declared": declared,
        "layout": launched.topology.describe(),
        "hosts": [host for host, _ in places],
        "binding": [None if cpus is None else format_ranges(cpus) for _, cpus in places],
        "node_of": list(launched.topology.node_of),
        "switches": _switches([host for host, _ in places]),
        "mpi": mpi,
        "transport": transport,
        "variables": node.allowed_variables(os.environ),
        "machines": leaders,
        "startup": slowest(phases),
        "stage": json.loads(os.environ.get(STAGE_VARIABLE, "null")),
        "in_haste": launched.deadline is not None,
        "cold_nbytes": launched.cold_nbytes,
        **_groups(launched),
        "oversubscribed": any(map(oversubscribed, leaders, ranks_of_node)),
        "findings": [
            *findings(leaders, ranks_of_node, mpi, declared, first),
            *arithmetic_findings(launched.plan.dtype),
            *(_cold_findings() if launched.cold_nbytes else ()),
        ],
    }


def _switches(hosts: Sequence[str]) -> dict[str, str]:
    if SWITCHES_VARIABLE not in os.environ:
        return {}
    from ..watching.lifeline import of_hosts  # late: few clusters say them

    return of_hosts(os.environ[SWITCHES_VARIABLE], hosts)


def _groups(launched: Launched) -> dict:
    if not launched.groups:
        return {}
    from .in_groups import alone_for  # late: few runs have groups

    return {"groups": {"ranks": launched.groups, "alone": alone_for(launched)}}


def start_together(launched: Launched, facts: dict | None, earlier: Earlier | None) -> Launched:
    """Choose how ranks enter a call together; rank 0 adds `sync`, `clock` and what there is to find to its `facts`.

    `earlier` is known on rank 0 only. What would surprise is said on stderr.
    """
    comm, clock = launched.comm, launched.clock
    crowded, earlier = comm.bcast(None if facts is None else (facts["oversubscribed"], earlier))
    chosen = choose(launched.plan.sync, comm, clock, crowded, earlier)
    now = clock.facts()
    if facts is not None and now is not None:
        facts["sync"] = {"way": chosen.sync.name, "why": chosen.why}
        facts["clock"] = {"method": now["method"], "error_start_s": now["error_s"]}
        if chosen.unexpected:
            from ..machine.findings import together  # late: rarely

            facts["findings"].append(together(chosen.sync.name, chosen.why, earlier and earlier.launch))
    group = launched.group
    if group is not None:
        group = group._replace(sync=make(chosen.sync.name, group.comm, group.clock))
    return launched._replace(sync=chosen.sync, group=group)


def end_together(launched: Launched, recorder: Recorder | None) -> None:
    """Compare the clocks for the last time, and keep how far they went apart; all ranks must."""
    launched.clock.compare()
    now = launched.clock.facts()
    if recorder is not None and now is not None:
        recorder.amend("clock", error_end_s=now.pop("error_s"), **now)


def _leads(comm: MPI.Comm, real: Topology) -> bool:
    """Whether this is the first rank of its node."""
    return comm.rank == real.nodes[real.node_of[comm.rank]][0]


def _counters(comm: MPI.Comm, real: Topology) -> Callable[[], dict[str, int] | None]:
    if not _leads(comm, real):
        return lambda: None
    from ..machine.interfaces import sent_bytes  # late: one rank of a node looks

    return sent_bytes


class Teller(Protocol):
    """Whom rank 0 tells how far it is, between cells."""

    def begin(self, words: str, facts: dict) -> None:
        """A cell begins: in words, and the facts that stand in its row whatever becomes of it."""

    def end(self, done: int, cells: int, words: str, failed: bool) -> None:
        """Cell `done` of `cells` has ended."""

    def warned(self) -> bool:
        """Whether no further cell shall begin, although some are left."""


@doing(counts="number")
def sweep(launched: Launched, recorder: Recorder | None, finished: set[CellKey], teller: Teller) -> int:
    """Measure the cells that are not finished; only rank 0 has a recorder, and tells.

    Before each cell rank 0 says whether it was warned: one broadcast, outside of what is timed. Returns the number of
    wrong or refused cells.
    """
    cells = launched.comm.bcast([cell for cell in launched.plan.cells(launched.launch) if cell.key not in finished])
    failed: list[bool] = []
    left = sum(cell.executor != FLOOR for cell in cells)
    for number, cell in enumerate(_in_order(launched, cells), start=1):
        if launched.comm.bcast(teller.warned()):
            break
        facts, words = _facts(launched, cell), f"{cell.algorithm} {format_size(cell.count * launched.plan.itemsize)}"
        words += f" {cell.groups}" if cell.groups else ""
        if recorder is not None:
            teller.begin(words, {**facts, "attempt": recorder.attempt})
        outcome = _outcome(launched, cell, left)
        left -= cell.executor != FLOOR
        failed.append(outcome.facts["state"] in ("wrong", "refused"))
        if recorder is not None:
            _keep(launched, recorder, facts | outcome.facts, outcome.times)
            teller.end(number, len(cells), words + _result(outcome), failed[-1])
    return sum(failed)


def _outcome(launched: Launched, cell: Cell, cells_left: int) -> Outcome:
    if cell.groups != ALONE:
        return outcome_of(launched, cell, cells_left)
    from .in_groups import outcome_alone  # late: few runs have groups

    return outcome_alone(launched, cell, cells_left)


def _in_order(launched: Launched, cells: list[Cell]) -> Iterator[Cell]:
    """The cells as they come; with a deadline size by size, as rank 0's clock allows."""
    if launched.deadline is None:
        yield from cells
        return
    from .size_order import (
        next_size,
        spread,  # late: few runs are in haste
    )

    itemsize, spent_s = launched.plan.itemsize, dict[int, float]()
    waiting = spread(sorted({cell.count * itemsize for cell in cells}))
    while waiting:
        begun = time.time()
        size = launched.comm.bcast(next_size(waiting, spent_s, launched.deadline - begun))
        yield from (cell for cell in cells if cell.count * itemsize == size)
        waiting.remove(size)
        spent_s[size] = time.time() - begun


def _facts(launched: Launched, cell: Cell) -> dict:
    """What is known of a cell before it is measured."""
    plan = launched.plan
    return {
        "algorithm": cell.algorithm,
        "executor": cell.executor,
        "segment": cell.segment,
        "ranks": launched.comm.size,
        "nodes": len(launched.real.nodes),
        "nodes_declared": len(launched.topology.nodes) if plan.pretend_ranks_per_node else None,
        "dtype": plan.dtype,
        "op": plan.op,
        "count": cell.count,
        "nbytes": cell.count * plan.itemsize,
        "cache": cell.cache,
        "groups": cell.groups,
    }


def _keep(launched: Launched, recorder: Recorder, facts: dict, times: Times | None) -> None:
    """Give the cell to the recorder: what was found, the stamps if they are wanted, its facts, and one row per call."""
    if times is None:
        recorder.cell(facts, [])
        return
    for finding in times.findings:
        recorder.found(finding)
    if launched.plan.record == "all" and times.stamps is not None:
        facts["stamps"] = recorder.stamps(times.stamps)
    recorder.cell(facts, _rows(facts, times))


def _rows(facts: dict, times: Times) -> Iterator[dict]:
    common = {**facts, "in_place": False, "iterations": 1}
    for i, values in enumerate(zip(*times.calls.values())):
        yield {**common, "repetition": i, "warmup": i < times.warmups, **dict(zip(times.calls, values))}


def _result(outcome: Outcome) -> str:
    facts = outcome.facts
    if outcome.times is None or facts["state"] != "done":
        return f": {facts['state']}: {facts.get('reason') or str(facts.get('wrong')) + ' wrong elements'}"
    return f"  {format_time(_median(outcome.times.valid_s()))}"


def _median(times: list[float]) -> float:
    """Without numpy.median, which imports numpy.ma, and without statistics, which imports more."""
    ordered = sorted(times)
    return (ordered[(len(times) - 1) // 2] + ordered[len(times) // 2]) / 2
