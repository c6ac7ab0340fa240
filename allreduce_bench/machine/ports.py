"""Network ports of this node during a launch: errors, and links below their width or rate.

Counters of InfiniBand and RoCE ports are below /sys/class/infiniband (sysfs-class-infiniband in the ABI documents of
Linux; those of `hw_counters` as NVIDIA documents them for mlx5), those of other interfaces in /proc/net/dev. Standard
library only; read by one rank per node, in launches on several nodes.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from ..units import few
from . import finding, kernel, on_nodes
from .interfaces import VIRTUAL_INTERFACE, port_name, ports

ERRORS = {  # packets were lost or resent
    "counters": (
        "symbol_error",
        "link_error_recovery",
        "link_downed",
        "port_rcv_errors",
        "port_xmit_discards",
        "local_link_integrity_errors",
        "excessive_buffer_overrun_errors",
    ),
    "hw_counters": ("rnr_nak_retry_err", "packet_seq_err", "local_ack_timeout_err"),
}
# Columns of /proc/net/dev, received then sent; rx_dropped (packets for nobody) is common and no error
INTERFACE_ERRORS = {"rx_errors": 2, "tx_errors": 10, "tx_dropped": 11}
RECEIVED, SENT = 0, 8  # bytes, in the same line
LEAST_NBYTES = 1 << 20  # in and out; an interface with less was not used
MOST_NAMED = 4  # errors in one sentence


def watch_ports() -> Callable[[], dict]:
    """Start counting; return a function that gives {"ports": facts} since, or {} if the kernel shows none.

    Facts are kept of each port or interface that has any: `counted`, errors by name; `degraded`, in words what is
    below its capability.
    """
    before = _counts()

    def since() -> dict:
        facts: dict[str, dict] = {}
        for port, counts in _counts().items():
            grown = {name: n for name, now in counts.items() if (n := now - before.get(port, {}).get(name, now)) > 0}
            size_bytes = grown.pop("size_bytes", LEAST_NBYTES)
            if grown and size_bytes >= LEAST_NBYTES:
                facts.setdefault(port, {})["counted"] = grown
        for port, words in _list_degraded_ports():
            facts.setdefault(port, {}).setdefault("degraded", []).append(words)
        return {"ports": facts} if before else {}

    return since


def _counts() -> dict[str, dict[str, int]]:
    """Return the errors of each port and interface so far, by name; of an interface also `size_bytes` in and out."""
    counts: dict[str, dict[str, int]] = {}
    for folder in ports():
        files = {name: f"{folder}/{kind}/{name}" for kind, names in ERRORS.items() for name in names}
        values = {name: kernel.read_int(path) for name, path in files.items()}
        counts[port_name(folder)] = {name: value for name, value in values.items() if value is not None}
    for line in (kernel.read("proc/net/dev") or "").splitlines()[2:]:
        name, _, numbers = line.partition(":")
        if not VIRTUAL_INTERFACE.match(name.strip()):
            fields = list(map(int, numbers.split()))
            errors = {error: fields[place] for error, place in INTERFACE_ERRORS.items()}
            counts[name.strip()] = {**errors, "size_bytes": fields[RECEIVED] + fields[SENT]}
    return counts


def _list_degraded_ports() -> Iterator[tuple[str, str]]:
    """Yield (port, degradation) of ports that are up, and of their devices in their slots.

    The kernel does not tell what a port supports. An InfiniBand cable has four lanes, or two if it is split; a single
    lane means that others failed.
    """
    for folder in ports():
        rate, state = kernel.read(f"{folder}/rate") or "", kernel.read(f"{folder}/state") or ""
        if "(1X " in rate and "ACTIVE" in state and kernel.read(f"{folder}/link_layer") == "InfiniBand":
            yield port_name(folder), f"has one lane: {rate}"
    for device in kernel.matching_paths("sys/class/infiniband/*/device"):
        for kind, unit in (("width", "lanes"), ("speed", "GT/s")):
            now, top = (_number(kernel.read(f"{device}/{which}_link_{kind}") or "") for which in ("current", "max"))
            if 0 < now < top:
                yield device.split("/")[3], f"has {now:g} of {top:g} {unit} of PCIe"


def _number(text: str) -> float:
    """Return the number at the start of a text, or 0."""
    match = re.match(r"\d+(\.\d+)?", text, re.ASCII)
    return float(match[0]) if match else 0.0


def port_findings(counted: Sequence[dict]) -> list[dict]:
    """Return the findings about the ports of the nodes; `counted`: the facts that a launch keeps of each node."""
    found = []
    if errors := _texts(counted, lambda port: [f"{name} {n}" for name, n in (port.get("counted") or {}).items()]):
        found.append(
            finding(
                "port errors",
                "caution",
                f"network port errors during the launch: {errors}",
                "lost packets were retransmitted: calls were slower, some of them much slower",
                "have the cables, the transceivers and the switch checked, or measure on other nodes",
            )
        )
    if degraded := _texts(counted, lambda port: port.get("degraded") or ()):
        found.append(
            finding(
                "degraded link",
                "caution",
                f"degraded links: {degraded}",
                "the slowest link limits large vectors",
                "have the cable and the slot checked, or measure on other nodes",
            )
        )
    return found


def _texts(counted: Sequence[dict], words_of: Callable[[dict], Iterable[str]]) -> str:
    """Return what `words_of` says of the ports, and on which nodes; empty: nothing."""
    said: dict[str, None] = {}
    concerned = []
    for node in counted:
        ports_of_node = (node.get("ports") or {}).items()
        if texts := [f"{name} {words}" for name, port in ports_of_node for words in words_of(port)]:
            said |= dict.fromkeys(texts)
            concerned.append(node)
    return few(said, MOST_NAMED) + on_nodes(concerned, counted) if said else ""
