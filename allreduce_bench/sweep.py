"""One launch, on every rank: which cells in which order, each kept before the next begins."""

import os
from collections.abc import Callable

from mpi4py import MPI
from numpy import median

from . import environment
from .cell import Launched, Outcome, outcome_of
from .plan import Cell, Launch, Plan
from .planned import algorithms_of
from .recorder import Recorder
from .runfolder import CellKey
from .schema import TIME_DEFINITION
from .topology import Topology
from .units import format_size, format_time


def enter(comm: MPI.Comm, plan: Plan, launch: Launch, deadline: float | None) -> Launched:
    """Look around: the nodes, the algorithms, the memory. Raises AlgorithmError."""
    algorithms = algorithms_of(plan)
    real = environment.nodes_of(comm)
    pretended = plan.pretend_ranks_per_node
    topology = Topology.filled(comm.size, pretended) if pretended else real
    local = len(real.nodes[real.node_of[comm.rank]])
    free = environment.free_memory()
    shares = [share for share in comm.allgather(None if free is None else free // local) if share is not None]
    return Launched(
        comm=comm.Dup(),
        plan=plan,
        launch=launch,
        real=real,
        topology=topology,
        algorithms=algorithms,
        memory_per_rank=min(shares, default=None),
        deadline=deadline,
    )


def facts_of(comm: MPI.Comm, launched: Launched, command: str, first: bool) -> dict | None:
    """What the launch's JSON file keeps; on all but rank 0 None."""
    real = launched.real
    leads = comm.rank == real.nodes[real.node_of[comm.rank]][0]
    machines = comm.gather(environment.machine() if leads else None)
    hosts = comm.gather(environment.host())
    binding = comm.gather(environment.affinity())
    if machines is None or hosts is None:
        return None
    leaders = [machine for machine in machines if machine is not None]
    ranks_of_node, cores_of_node = [len(ranks) for ranks in real.nodes], [node["cores"] for node in leaders]
    declared = len(launched.topology.nodes) if launched.plan.pretend_ranks_per_node else None
    load = max(node["load_1min"] for node in leaders) if first else 0.0
    return {
        "command": command,
        "ranks": comm.size,
        "nodes": len(real.nodes),
        "nodes_declared": declared,
        "layout": launched.topology.describe(),
        "hosts": hosts,
        "binding": binding,
        "node_of": list(launched.topology.node_of),
        "mpi": environment.mpi_facts(),
        "variables": environment.allowed_variables(os.environ),
        "machines": leaders,
        "oversubscribed": environment.oversubscribed(ranks_of_node, cores_of_node),
        "findings": environment.findings(ranks_of_node, cores_of_node, load, declared),
    }


def sweep(
    launched: Launched,
    recorder: Recorder | None,
    finished: set[CellKey],
    progress: Callable[[int, int, str, bool], None],
) -> int:
    """Measure the cells that are not finished; rank 0 has the recorder and tells `progress(done, all, words, failed)`.

    Returns the number of wrong or refused cells.
    """
    cells = [cell for cell in launched.plan.cells(launched.launch) if cell.key not in finished]
    cells = launched.comm.bcast(cells)
    failed: list[bool] = []
    for number, cell in enumerate(cells, start=1):
        outcome = outcome_of(launched, cell, len(cells) - number + 1)
        failed.append(outcome.facts["state"] in ("wrong", "refused"))
        if recorder is not None:
            recorder.cell(*_rows(launched, cell, outcome))
            progress(number, len(cells), _words(cell, launched.plan, outcome), failed[-1])
    return sum(failed)


def _rows(launched: Launched, cell: Cell, outcome: Outcome) -> tuple[dict, list[dict]]:
    """The cell as the recorder takes it: its facts, and one row per call."""
    plan, size = launched.plan, launched.comm.size
    facts = {
        "algorithm": cell.algorithm,
        "executor": cell.executor,
        "segment": cell.segment,
        "ranks": size,
        "nodes": len(launched.real.nodes),
        "nodes_declared": len(launched.topology.nodes) if plan.pretend_ranks_per_node else None,
        "dtype": plan.dtype,
        "op": plan.op,
        "count": cell.count,
        "nbytes": cell.count * plan.itemsize,
        **outcome.facts,
    }
    times = outcome.times
    if times is None:
        return facts, []
    call = {"in_place": False, "time_definition": TIME_DEFINITION, "iterations": 1}
    return facts, [
        {**facts, **call, "repetition": i, "warmup": i < times.warmups, "time_s": float(t), "slowest_rank": int(rank)}
        for i, (t, rank) in enumerate(zip(times.time_s, times.slowest_rank))
    ]


def _words(cell: Cell, plan: Plan, outcome: Outcome) -> str:
    facts, name = outcome.facts, f"{cell.algorithm} {format_size(cell.count * plan.itemsize)}"
    if outcome.times is None or facts["state"] != "done":
        return f"{name}: {facts['state']}: {facts.get('reason') or str(facts.get('wrong')) + ' wrong elements'}"
    return f"{name}  {format_time(float(median(outcome.times.time_s[outcome.times.warmups :])))}"
