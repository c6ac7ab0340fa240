"""Surroundings of a launch's cells: nodes, algorithms and memory before the first one, clocks before and after.

What cannot be measured is refused before anything is written; the rest is kept in the launch's JSON file.
"""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from math import ceil
from time import perf_counter, process_time

from mpi4py import MPI

from ..algorithms import find_planned
from ..machine import mpi as mpi_library
from ..machine import node
from ..machine.core_load import counts_of_nodes, findings_of_nodes, watch_node
from ..machine.findings import FullestNode, findings, fullest_node, oversubscribed, singletons
from ..machine.interfaces import sent_bytes
from ..machine.kernel import cache_findings, caches, cold_region
from ..runs.dtypes import arithmetic_findings, teach_numpy
from ..runs.plan import Launch, Plan
from ..runs.recorder import Recorder
from ..runs.rows import RunError
from ..schedule.algorithm import Topology
from ..units import counted, few, format_ranges
from ..watching.lifeline import SWITCHES_VARIABLE, switches_of_hosts
from ..watching.whereabouts import doing
from .context import Context, Node, nodes_of
from .startup import STARTUP, slowest
from .sync import Barrier, Clock, choose, make

MOST_NAMED = 8  # hosts in one sentence
ADDITIONS = 5000  # in a quantum of `noise_of`: about 50 us on a core of 2024, the same in all launches and ranks
QUANTA, NOISE_S = 1000, 50e-3  # at most; total seconds at most


def enter(comm: MPI.Comm, plan: Plan, launch: Launch, deadline: float | None) -> Context:
    """Collect nodes, algorithms and memory. Raises AlgorithmError, DtypeError, and OrderError: an order of others."""
    teach_numpy(plan.dtype)
    algorithms = find_planned(plan.algorithms, plan.files, plan.file_digests)
    real = nodes_of(comm)
    ranks_per_node = plan.pretend_ranks_per_node
    topology = Topology.filled(comm.size, ranks_per_node) if ranks_per_node else real
    local_size = len(real.nodes[real.node_of[comm.rank]])
    machine = node.node_facts() if _leads(comm, real) else None
    free = machine["free_memory_nbytes"] if machine else node.free_memory()
    shares = [share for share in comm.allgather(None if free is None else free // local_size) if share is not None]
    own_comm = comm.Dup()
    context = Context(
        comm=own_comm,
        plan=plan,
        launch=launch,
        real=real,
        topology=topology,
        algorithms=algorithms,
        memory_per_rank=min(shares, default=None),
        deadline=deadline,
        counters=_counters(comm, real),
        first_calls={},
        given_up=set(),
        begun=set(),
        clock=Clock(own_comm, shared=real.node_of[comm.rank] == real.node_of[0]),
        sync=Barrier(own_comm),  # until another is chosen
        cold_nbytes=0 if plan.cache == "warm" else _cold_region(comm, real),
        node=Node(machine, _watched(comm, real)),
    )
    if not plan.groups and not plan.order:
        return context
    from .in_groups import split  # late: few runs have groups, or another order

    return split(context)


def _cold_region(comm: MPI.Comm, real: Topology) -> int:
    """Return the bytes to touch between two uses of a buffer: the maximum over nodes."""
    region_nbytes = cold_region(caches(), len(real.nodes[real.node_of[comm.rank]])) if _leads(comm, real) else 0
    return comm.allreduce(region_nbytes, MPI.MAX)


def facts_of(comm: MPI.Comm, context: Context, command: str, transport: str | None) -> dict | None:
    """Return the facts for the launch's JSON file; None on all but rank 0."""
    real = context.real
    machines, virtual_rates = comm.gather(context.node.facts), context.plan.start.virtual_rates_bytes_per_s
    hosts_and_cpus = comm.gather((node.host(), node.affinity()))
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
        "variables": node.allowed_variables(os.environ),
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
    return mpi_library.mpi_facts()


def _findings_of_rank_0(context: Context) -> list[dict]:
    """Return findings about rank 0's arithmetic, and about its caches if calls are cold."""
    return [*arithmetic_findings(context.plan.dtype), *(cache_findings(caches()) if context.cold_nbytes else ())]


def _switches_of_hosts(hosts: Sequence[str]) -> dict[str, str]:
    return switches_of_hosts(os.environ[SWITCHES_VARIABLE], hosts) if SWITCHES_VARIABLE in os.environ else {}


def _facts_of_groups(context: Context) -> dict:
    groups = context.grouping.groups
    if context.plan.order:
        return {"order": groups[0]}
    return {"groups": {"ranks": groups}} if groups else {}


def noise_of(comm: MPI.Comm) -> dict | None:
    """Measure the machine's noise by a fixed work quantum (FWQ), as netgauge does: repeated equal additions.

    All ranks repeat them at the same time (Hoefler, Schneider and Lumsdaine, SC 2010). Time of a quantum beyond its
    rank's shortest was taken by others: interrupts, other processes, the hypervisor. Not visible: what slows every
    quantum alike, such as a low clock; and the frequency of a source, which fixed work does not measure (Sottile and
    Minnich, CLUSTER 2004).

    {"additions": of a quantum; "quantum_s": the shortest quantum, median over ranks; "quanta": fewest of a rank;
    "median_s", "p99_s", "p99_9_s", "max_s" of the quanta of a rank, each the maximum over ranks; "lost": the largest
    share
    of time lost by a rank, "rank": that rank; "lost_median": that of the median rank}; None on all but rank 0.
    Collective,
    each rank on a core of its own; takes about 50 ms.
    """
    comm.Barrier()
    quanta_s = sorted(_quanta(range(ADDITIONS)))
    number, shortest_s = len(quanta_s), quanta_s[0]
    quantiles = [quanta_s[ceil(share * number) - 1] for share in (0.5, 0.99, 0.999, 1.0)]
    of_ranks = comm.gather((shortest_s, number, 1 - number * shortest_s / sum(quanta_s), *quantiles))
    if of_ranks is None:
        return None
    shortest, numbers, lost, *slowest_quantiles = zip(*of_ranks)
    return {
        "additions": ADDITIONS,
        "quantum_s": sorted(shortest)[comm.size // 2],
        "quanta": min(numbers),
        **dict(zip(("median_s", "p99_s", "p99_9_s", "max_s"), map(max, slowest_quantiles))),
        "lost": max(lost),
        "rank": lost.index(max(lost)),
        "lost_median": sorted(lost)[comm.size // 2],
    }


@doing("measuring the noise of the machine")
def _quanta(numbers: range) -> list[float]:
    """Return the time of each quantum, without gaps between them; seconds, above 0."""
    stamps = [perf_counter()]
    end = stamps[0] + NOISE_S
    while len(stamps) <= QUANTA and stamps[-1] < end:
        sum(numbers)
        stamps.append(perf_counter())
    return [max(after - before, 1e-9) for before, after in zip(stamps, stamps[1:])]


def start_together(context: Context, facts: dict | None) -> Context:
    """Choose the common start of calls; rank 0 adds `noise`, `sync` and `clock` to `facts`."""
    comm, clock, agreed = context.comm, context.clock, None
    if facts is not None:
        fullest = _fullest_node(context, facts)
        chosen = choose(context.plan.sync, comm.size, fullest)
        facts["sync"] = chosen._asdict()
        agreed = chosen.way, fullest.is_crowded
    way, crowded = comm.bcast(agreed)
    sync = make(way, comm, clock)
    clock_facts = clock.facts()
    noise = None if crowded else noise_of(comm)  # ranks that share a core would count each other as noise
    if facts is not None and clock_facts is not None:
        facts["noise"] = noise
        facts["clock"] = {"method": clock_facts["method"], "error_start_s": clock_facts["error_s"]}
    return context._replace(sync=sync, crowded=crowded)


def _fullest_node(context: Context, facts: dict) -> FullestNode:
    """Return the fullest node; of virtual hosts on one machine that machine, with all ranks."""
    if context.plan.start.virtual_rates_bytes_per_s:
        return fullest_node(facts["machines"][:1], [context.comm.size])
    return fullest_node(facts["machines"], [len(ranks) for ranks in context.real.nodes])


def end_together(context: Context, recorder: Recorder | None) -> None:
    """Compare the clocks for the last time; keep their drift, and the counts of the nodes. Collective."""
    context.clock.compare()
    counted = context.comm.gather(context.node.since_start())
    if recorder is not None and counted is not None:
        _keep_counted(context, recorder, counted)
    clock_facts = context.clock.facts()
    if recorder is not None and clock_facts is not None:
        recorder.amend("clock", error_end_s=clock_facts.pop("error_s"), **clock_facts)


def _keep_counted(context: Context, recorder: Recorder, of_ranks: Sequence[dict]) -> None:
    """Keep the kernel's counts of each node during the launch, and the findings about them."""
    counted = counts_of_nodes(context.real.nodes, of_ranks, bool(context.plan.start.virtual_rates_bytes_per_s))
    recorder.keep(counted=counted)
    for finding in findings_of_nodes(counted):
        recorder.found(finding)


def refuse_other_ranks(launch: Launch, seen: int) -> None:
    """Raise RunError if MPI sees another number of ranks than the launch has: each rank would run alone."""
    for finding in singletons(launch.ranks, seen):
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


def _leads(comm: MPI.Comm, real: Topology) -> bool:
    """Return whether this is the first rank of its node."""
    return comm.rank == real.nodes[real.node_of[comm.rank]][0]


def _watched(comm: MPI.Comm, real: Topology) -> Callable[[], dict]:
    """Start counting; return a function for this rank's processor time and affinity, and its node's counts."""
    watched: Callable[[], dict] = watch_node(several=len(real.nodes) > 1) if _leads(comm, real) else dict
    begun_s = process_time()
    return lambda: {
        "own_s": process_time() - begun_s,
        "cpus": node.affinity() or frozenset(),
        "node": watched(),
    }


def _counters(comm: MPI.Comm, real: Topology) -> Callable[[], dict[str, int] | None]:
    """Return a function that reads the counters of this node's interfaces on one of its ranks, None on others."""
    return sent_bytes if _leads(comm, real) else lambda: None
