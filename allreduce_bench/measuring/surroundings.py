"""Surroundings of a launch's cells: nodes, algorithms and memory before the first one, clocks before and after.

What cannot be measured is refused before anything is written; the rest is kept in the launch's JSON file.
"""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from time import process_time
from typing import TYPE_CHECKING

from mpi4py import MPI

from ..algorithms import find_planned
from ..machine.core_load import cores_of_ranks, load_findings, watch_cores
from ..machine.findings import FullestNode, findings, fullest_node, oversubscribed, singletons
from ..machine.mpi import mpi_facts
from ..machine.node import affinity, free_memory, host, node_facts
from ..machine.traffic import sent_bytes
from ..machine.variables import allowed_variables
from ..runs.dtypes import arithmetic_findings, teach_numpy
from ..runs.plan import Launch, Plan
from ..runs.recorder import Recorder
from ..runs.rows import RunError
from ..schedule.algorithm import Topology
from ..units import counted, few, format_ranges
from ..watching.lifeline import SWITCHES_VARIABLE, switches_of_hosts
from .clock import Clock
from .context import Context, Node, Party, nodes_of
from .startup import STARTUP, slowest
from .sync import Barrier, choose, make

if TYPE_CHECKING:
    from .energy import Energy

MOST_NAMED = 8  # hosts in one sentence


def enter(comm: MPI.Comm, plan: Plan, launch: Launch, deadline: float | None) -> Context:
    """Collect nodes, algorithms and memory. Raises AlgorithmError, DtypeError, RefusedLaunch."""
    teach_numpy(plan.dtype)
    algorithms = find_planned(plan.algorithms, plan.files, plan.file_digests)
    real = nodes_of(comm)
    ranks_per_node = plan.pretend_ranks_per_node
    topology = Topology.filled(comm.size, ranks_per_node) if ranks_per_node else real
    leads = comm.rank == _ranks_of_node(comm, real)[0]
    free = free_memory() if leads else None
    shares = comm.allgather(None if free is None else free // len(_ranks_of_node(comm, real)))
    own_comm = comm.Dup()
    context = Context(
        comm=own_comm,
        plan=plan,
        launch=launch,
        real=real,
        topology=topology,
        algorithms=algorithms,
        clock=Clock(own_comm, shared=real.node_of[comm.rank] == real.node_of[0]),
        sync=Barrier(own_comm),  # until another is chosen
        party=Party(own_comm, real, topology),
        parties=((range(comm.size), topology),),
        deadline=deadline,
        memory_per_rank=min((share for share in shares if share is not None), default=None),
        cold_nbytes=0 if plan.cache == "warm" else _cold_region(comm, real),
        node=_node(real, leads),
        energy=_energy(own_comm, plan, leads) if plan.energy else None,
    )
    if not plan.groups and not plan.order:
        return context
    from .in_groups import split  # late: few runs have groups, or another order

    return split(context)


def _energy(comm: MPI.Comm, plan: Plan, leads: bool) -> "Energy":
    """Return the count of energy; virtual hosts are one machine, which rank 0 reads."""
    from .energy import Energy  # late: few runs count it

    return Energy(comm, comm.rank == 0 if plan.start.virtual_rates_bytes_per_s else leads)


def _cold_region(comm: MPI.Comm, real: Topology) -> int:
    """Return the bytes to touch between two uses of a buffer: the maximum over nodes."""
    from ..machine.caches import caches, cold_region  # late: few runs are cold

    ranks = _ranks_of_node(comm, real)
    return comm.allreduce(cold_region(caches(), len(ranks)) if comm.rank == ranks[0] else 0, MPI.MAX)


def facts_of(comm: MPI.Comm, context: Context, command: str, transport: str | None) -> dict | None:
    """Return the facts for the launch's JSON file; None on all but rank 0."""
    real = context.real
    machines, virtual_rates = comm.gather(context.node.facts), context.plan.start.virtual_rates_bytes_per_s
    hosts_and_cpus = comm.gather((host(), affinity()))
    phases = comm.gather(STARTUP.phases)
    if machines is None or hosts_and_cpus is None or phases is None:
        return None
    (hosts, cpus), leaders = zip(*hosts_and_cpus), [machine for machine in machines if machine is not None]
    for machine, ranks in zip(leaders, real.nodes):
        machine["cpus_of_ranks"] = len(frozenset().union(*(cpus[rank] or () for rank in ranks))) or None
    ranks_of_node, mpi = [len(ranks) for ranks in real.nodes], own_mpi()
    declared = len(context.topology.nodes) if context.plan.pretend_ranks_per_node else None
    return {
        "command": command,
        "ranks": comm.size,
        "nodes": len(real.nodes),
        "nodes_declared": declared,
        "layout": context.topology.describe(),
        "hosts": list(hosts),
        "binding": [None if cpus_of_rank is None else format_ranges(cpus_of_rank) for cpus_of_rank in cpus],
        "node_of": list(context.topology.node_of),
        "switches": _switches_of_hosts(hosts),
        "mpi": mpi,
        "transport": transport,
        "variables": allowed_variables(os.environ),
        "machines": leaders,
        "startup": slowest(phases),
        "in_haste": context.deadline is not None,
        "cold_nbytes": context.cold_nbytes,
        **_facts_of_groups(context),
        "oversubscribed": any(map(oversubscribed, leaders, ranks_of_node)),
        "findings": findings(leaders, ranks_of_node, mpi, declared, virtual_rates) + _findings_of_rank_0(context),
    }


@cache  # finding the library's file reads the folder of all packages
def own_mpi() -> dict:
    """Return the MPI library of this process, see `machine.mpi`."""
    return mpi_facts()


def _findings_of_rank_0(context: Context) -> list[dict]:
    """Return findings about rank 0's arithmetic, and about its caches if calls are cold."""
    found = [*arithmetic_findings(context.plan.dtype), *(context.energy.findings if context.energy else ())]
    if context.cold_nbytes:
        from ..machine.caches import caches, unknown_caches  # late: few runs are cold

        found += [] if caches() else [unknown_caches()]
    return found


def _switches_of_hosts(hosts: Sequence[str]) -> dict[str, str]:
    return switches_of_hosts(os.environ[SWITCHES_VARIABLE], hosts) if SWITCHES_VARIABLE in os.environ else {}


def _facts_of_groups(context: Context) -> dict:
    ranks = [ranks for ranks, _ in context.parties]
    if context.plan.order:
        return {"order": ranks[0]}
    return {"groups": {"ranks": ranks}} if context.plan.groups else {}


def start_together(context: Context, facts: dict | None) -> Context:
    """Choose the common start of calls; rank 0 adds `sync` and `clock` to `facts`."""
    comm, clock, agreed = context.comm, context.clock, None
    if facts is not None:
        fullest = _fullest_node(context, facts)
        chosen = choose(context.plan.sync, comm.size, fullest)
        facts["sync"] = chosen._asdict()
        agreed = chosen.way, fullest.is_crowded
    way, crowded = comm.bcast(agreed)
    sync = make(way, comm, clock)
    clock_facts = clock.facts()
    if facts is not None and clock_facts is not None:
        facts["clock"] = {"method": clock_facts["method"], "error_start_s": clock_facts["error_s"]}
    return replace(context, sync=sync, is_crowded=crowded)


def _fullest_node(context: Context, facts: dict) -> FullestNode:
    """Return the fullest node; of virtual hosts on one machine that machine, with all ranks."""
    if context.plan.start.virtual_rates_bytes_per_s:
        return fullest_node(facts["machines"][:1], [context.comm.size])
    return fullest_node(facts["machines"], [len(ranks) for ranks in context.real.nodes])


def end_together(context: Context, recorder: Recorder | None) -> None:
    """Compare the clocks for the last time; keep their drift, and the counts of the nodes. Collective."""
    context.clock.compare()
    counted = context.comm.gather(context.node.read_counts())
    if recorder is not None and counted is not None:
        _keep_counted(context, recorder, counted)
        if context.energy:
            recorder.keep(**context.energy.facts)
    clock_facts = context.clock.facts()
    if recorder is not None and clock_facts is not None:
        recorder.amend("clock", error_end_s=clock_facts.pop("error_s"), **clock_facts)


def _keep_counted(context: Context, recorder: Recorder, of_ranks: Sequence[dict]) -> None:
    """Keep the kernel's counts of each node during the launch, and the findings about them."""
    counted = []
    for ranks in context.real.nodes:
        # virtual nodes of one machine each count the whole kernel: all ranks are theirs
        own = of_ranks if context.plan.start.virtual_rates_bytes_per_s else [of_ranks[rank] for rank in ranks]
        cpus = frozenset().union(*(rank["cpus"] for rank in own))
        counted.append(cores_of_ranks(of_ranks[ranks[0]]["node"], cpus, sum(rank["own_s"] for rank in own)))
    recorder.keep(counted=counted)
    found = load_findings(counted)
    if any(node.get("ports") for node in counted):
        from ..machine.ports import port_findings  # late: few launches have any

        found += port_findings(counted)
    for finding in found:
        recorder.found(finding)


def refuse_other_ranks(launch: Launch, seen: int) -> None:
    """Raise RunError if MPI sees another number of ranks than the launch has: each rank would run alone."""
    if finding := singletons(launch.ranks, seen):
        raise RunError(f"launch {launch.name}: {finding['text']}: {finding['effect']}; {finding['advice']}")


def refuse_few_nodes(plan: Plan, launch: Launch, real: Topology, hosts: Sequence[str]) -> None:
    """Raise RunError if the ranks, on `hosts[rank]`, share fewer nodes than --ranks-per-node requires."""
    ranks_per_node = plan.start.ranks_per_node
    if ranks_per_node is None or len(real.nodes) >= -(-launch.ranks // ranks_per_node):
        return
    expected, ranks_of_host = -(-launch.ranks // ranks_per_node), Counter(hosts)
    named = few((f"{host} ({number})" for host, number in ranks_of_host.items()), MOST_NAMED)
    nodes = counted(len(real.nodes), "node")
    each = counted(ranks_per_node, "rank")
    raise RunError(
        f"launch {launch.name}: expected {expected} nodes of {each} (--ranks-per-node), found {nodes}: {named}; start "
        "it on enough nodes, or check how the launcher places ranks"
    )


def _ranks_of_node(comm: MPI.Comm, real: Topology) -> Sequence[int]:
    """Return the ranks of this rank's node; the first one reads what the node shows."""
    return real.nodes[real.node_of[comm.rank]]


def _node(real: Topology, leads: bool) -> Node:
    """Return this node, whose counts begin now; `leads`: this rank reads what the node shows.

    Ports are counted only in launches on several nodes: inside of one no message takes a port.
    """
    facts = node_facts() if leads else None
    watched: list[Callable[[], dict]] = [watch_cores()] if leads else []
    if leads and len(real.nodes) > 1:
        from ..machine.ports import watch_ports  # late: one node has none to watch

        watched.append(watch_ports())
    begun_s = process_time()

    def read_counts() -> dict:
        counts = {"host": host()} if leads else {}
        for counts_since in watched:
            counts |= counts_since()
        return {"own_s": process_time() - begun_s, "cpus": affinity() or frozenset(), "node": counts}

    return Node(facts, read_counts, sent_bytes) if leads else Node(facts, read_counts)
