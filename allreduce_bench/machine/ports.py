"""Network ports of this node during a launch: errors, waits, and links below their width or rate.

Counters of InfiniBand and RoCE ports are below /sys/class/infiniband (sysfs-class-infiniband in the ABI documents of
Linux; those of `hw_counters` as NVIDIA documents them for mlx5), those of other interfaces in /proc/net/dev. Only
nonzero differences are kept. Standard library only; loaded late, by one rank per node, in launches on several nodes.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..message import say
from . import finding, kernel, on_nodes
from .interfaces import VIRTUAL_INTERFACE

PORTS = "sys/class/infiniband/*/ports/*"
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
WAITS = {  # the network was congested, or used several paths: no faults
    "counters": ("port_xmit_wait",),
    "hw_counters": ("out_of_sequence", "np_cnp_sent", "rp_cnp_handled"),
}
NAMES_OF_WAITS = frozenset(name for names in WAITS.values() for name in names)
# Columns of /proc/net/dev, received then sent; rx_dropped (packets for nobody) is common and no error
INTERFACE_ERRORS = {"rx_errors": 2, "tx_errors": 10, "tx_dropped": 11}
RECEIVED, SENT = 0, 8  # bytes, in the same line
LEAST_NBYTES = 1 << 20  # in and out; an interface with less was not used
Counts = dict[str, dict[str, int]]  # port, such as `mlx5_0:1`, or interface -> counter -> value


def watch_ports() -> Callable[[], dict]:
    """Start counting; return a function that gives {"ports": facts} since, or {} if the kernel shows none.

    Facts are kept of each port or interface that has any: `counted`, counters that grew, by name; `degraded`, in words
    what is below its capability.
    """
    before, rates = _counts(), _rates()

    def since() -> dict:
        ports: dict[str, dict] = {}
        for port, counts in _counts().items():
            grown = {name: n for name, now in counts.items() if (n := now - before.get(port, {}).get(name, now)) > 0}
            nbytes = grown.pop("nbytes", LEAST_NBYTES)
            if grown and nbytes >= LEAST_NBYTES:
                ports.setdefault(port, {})["counted"] = grown
        for port, words in _degraded(rates):
            ports.setdefault(port, {}).setdefault("degraded", []).append(words)
        return {"ports": ports} if before else {}

    return since


def has_errors(port: dict) -> bool:
    """Return whether the facts of a port hold errors, and not only waits."""
    return bool(set(port.get("counted") or ()) - NAMES_OF_WAITS)


def port_findings(counted: Sequence[dict]) -> list[dict]:
    """Return the findings about the ports of the nodes; `counted`: the facts that a launch keeps of each node."""
    errors, waits, degraded = (_chosen(counted, choose) for choose in (_errors_of, _waits_of, _degraded_of))
    findings = []
    if errors:
        findings.append(
            finding(
                "port errors",
                "caution",
                say(
                    "machine.network_port_errors_during",
                    errors=_texts(errors),
                    on_nodes=on_nodes([n for n, _ in errors], counted),
                ),
                say("machine.lost_packets_retransmitted_calls"),
                say("machine.cables_transceivers_switch_checked"),
            )
        )
    if degraded:
        findings.append(
            finding(
                "degraded link",
                "caution",
                f"degraded links: {_texts(degraded)}{on_nodes([n for n, _ in degraded], counted)}",
                say("machine.slowest_link_limits_large"),
                say("machine.cable_slot_checked_measure"),
            )
        )
    if waits:
        findings.append(
            finding(
                "port waits",
                "info",
                say(
                    "machine.network_ports_waited_throttled",
                    waits=_texts(waits),
                    on_nodes=on_nodes([n for n, _ in waits], counted),
                ),
                say("machine.network_congested_while_launch"),
                say("machine.compare_launch_idle_network"),
            )
        )
    return findings


def _chosen(counted: Sequence[dict], choose: Callable[[str, dict], list[str]]) -> list[tuple[dict, list[str]]]:
    """Return the nodes with a port in which `choose` finds something, with the texts."""
    chosen = []
    for node in counted:
        texts = [text for name, port in (node.get("ports") or {}).items() for text in choose(name, port)]
        if texts:
            chosen.append((node, texts))
    return chosen


def _errors_of(name: str, port: dict) -> list[str]:
    return [f"{name} {key} {n}" for key, n in (port.get("counted") or {}).items() if key not in NAMES_OF_WAITS]


def _waits_of(name: str, port: dict) -> list[str]:
    return [f"{name} {key} {n}" for key, n in (port.get("counted") or {}).items() if key in NAMES_OF_WAITS]


def _degraded_of(name: str, port: dict) -> list[str]:
    return [f"{name} {words}" for words in port.get("degraded") or ()]


def _texts(nodes: Iterable[tuple[dict, list[str]]], most: int = 4) -> str:
    texts = list(dict.fromkeys(text for _, of_node in nodes for text in of_node))
    return ", ".join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "")


def _counts() -> Counts:
    """Return all counters of ports and interfaces so far; for an interface also `nbytes`, received and sent."""
    counts: Counts = {}
    for folder in kernel.matching_paths(PORTS):
        of_port = counts.setdefault(_name(folder), {})
        for kind in ERRORS:
            for name in (*ERRORS[kind], *WAITS[kind]):
                if (value := kernel.read_int(f"{folder}/{kind}/{name}")) is not None:
                    of_port[name] = value
    for line in (kernel.read("proc/net/dev") or "").splitlines()[2:]:
        name, _, numbers = line.partition(":")
        fields = numbers.split()
        if len(fields) > SENT and all(map(str.isdecimal, fields)) and not VIRTUAL_INTERFACE.match(name.strip()):
            values = list(map(int, fields))
            errors = {error: values[place] for error, place in INTERFACE_ERRORS.items()}
            counts[name.strip()] = errors | {"nbytes": values[RECEIVED] + values[SENT]}
    return counts


def _rates() -> dict[str, str]:
    """Return the rate of each active port, such as `200 Gb/sec (4X HDR)`."""
    return {
        _name(folder): kernel.read(f"{folder}/rate") or ""
        for folder in kernel.matching_paths(PORTS)
        if "ACTIVE" in (kernel.read(f"{folder}/state") or "")
    }


def _degraded(former_rates: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return (port, degradation) for ports that were up, and for their devices in their slots.

    The kernel does not tell what a port supports. An InfiniBand cable has four lanes, or two if it is split; a single
    lane means that others failed.
    """
    found, rates = [], _rates()
    for port, former in former_rates.items():
        rate, (device, _, number) = rates.get(port, ""), port.partition(":")
        if _number(rate) < _number(former):
            found.append((port, f"fell from {former} to {rate or 'no link'}"))
        elif (
            "(1X " in rate
            and kernel.read(say("machine.sys_class_infiniband_ports", device=device, number=number)) == "InfiniBand"
        ):
            found.append((port, f"has one lane: {rate}"))
    for device in kernel.matching_paths("sys/class/infiniband/*/device"):
        for kind, unit in (("width", "lanes"), ("speed", "GT/s")):
            now, top = (_number(kernel.read(f"{device}/{which}_link_{kind}") or "") for which in ("current", "max"))
            if 0 < now < top:
                found.append((device.split("/")[3], say("machine.pcie", now=now, top=top, unit=unit)))
    return found


def _name(folder: str) -> str:
    """Return `mlx5_0:1`."""
    parts = folder.split("/")
    return f"{parts[3]}:{parts[5]}"


def _number(text: str) -> float:
    """Return the number at the start of a text, or 0."""
    match = re.match(r"\d+(\.\d+)?", text, re.ASCII)
    return float(match[0]) if match else 0.0
