"""Nodes of several kinds in one launch: the finding that says which node has what."""

from collections.abc import Callable, Sequence

from ..units import format_size
from . import finding, first_hosts

SAME_MEMORY = 1.05  # nodes of one kind differ by what their firmware keeps


def mixed_nodes(machines: Sequence[dict]) -> list[dict]:
    """The finding that nodes differ in processor, cores, memory or fabric; unknown facts are ignored."""
    kinds: dict[str, Callable[[dict], str | None]] = {
        "processor": lambda machine: machine.get("processor"),
        "cores": _cores,
        "memory": _memory_of(machines),
        "fabric": _fabric,
    }
    differences = [text for fact, kind_of in kinds.items() if (text := _difference(fact, kind_of, machines))]
    if not differences:
        return []
    return [
        finding(
            "mixed",
            "caution",
            f"heterogeneous nodes: {'; '.join(differences)}",
            "the slowest nodes decide; the times are valid for neither kind alone",
            "measure on nodes of one kind; in a job use --constraint, --exclude or another partition",
        )
    ]


def _difference(fact: str, kind_of: Callable[[dict], str | None], machines: Sequence[dict]) -> str:
    """`memory 64 GiB on n1, n2, 128 GiB on n3`; empty where all are the same."""
    nodes: dict[str, list[dict]] = {}
    for machine in machines:
        if (kind := kind_of(machine)) is not None:
            nodes.setdefault(kind, []).append(machine)
    if len(nodes) < 2:
        return ""
    return f"{fact} " + ", ".join(f"{kind} on {first_hosts(owners)}" for kind, owners in nodes.items())


def _cores(machine: dict) -> str | None:
    cores, threads = machine.get("cores"), machine.get("threads")
    if cores is None:
        return None
    return f"{cores} with {threads} hardware threads" if threads and threads != cores else str(cores)


def _memory_of(machines: Sequence[dict]) -> Callable[[dict], str | None]:
    """A function that gives a node's memory, rounded down to that of the smallest node with nearly as much."""
    steps: list[int] = []
    for nbytes in sorted(machine["memory_nbytes"] for machine in machines if machine.get("memory_nbytes")):
        if not steps or nbytes > SAME_MEMORY * steps[-1]:
            steps.append(nbytes)

    def memory_of(machine: dict) -> str | None:
        nbytes = machine.get("memory_nbytes")
        return format_size(max(step for step in steps if step <= nbytes)) if nbytes else None

    return memory_of


def _fabric(machine: dict) -> str | None:
    """The ports of the node's fabric with their rates, and the devices without a known rate."""
    devices, rates = machine.get("fabric_devices"), machine.get("port_rates_bytes_per_s") or {}
    if devices is None:
        return None
    ports = [f"{port} {8 * rate / 1e9:g} Gbit/s" for port, rate in sorted(rates.items())]
    without_rate = [device for device in sorted(devices) if not any(port.startswith(f"{device}:") for port in rates)]
    return " and ".join([*ports, *without_rate]) or "none"
