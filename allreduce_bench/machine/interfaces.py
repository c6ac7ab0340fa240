"""Network interfaces of nodes: addresses, nominal rates, bytes sent; which one connects nodes; errors of their ports.

No program is started to query them. Counters include headers, acknowledgements, and traffic of others: little for large
vectors.
"""

import ipaddress
import re
import socket
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from fcntl import ioctl
from functools import cache
from itertools import combinations
from typing import NamedTuple

from ..units import shell_word
from . import finding, first_hosts, kernel, on_nodes

LOOPBACK = "lo"
VIRTUAL_INTERFACE = re.compile(r"lo$|docker|veth|virbr|br-|cni|flannel|cali|tap|tun|wg|ifb|dummy|sit|gre")
NEVER_OVER_HARDWARE = re.compile(r"lo$|veth|tap|tun|wg|ifb|dummy|sit|gre")
BRIDGE = re.compile(r"docker|virbr|br-|lxcbr|cni|podman")  # made by container engines and virtual machines


# Constants of Linux
GET_FLAGS, GET_ADDRESS, GET_MASK = 0x8913, 0x8915, 0x891B  # SIOCGIFFLAGS, SIOCGIFADDR, SIOCGIFNETMASK
IS_UP = 0x1  # IFF_UP
UNKNOWN_SPEED = 2**31  # this and above: -1 as old kernels print it
OVER_INFINIBAND = 32  # ARPHRD_INFINIBAND
WORD_NBYTES = 4  # InfiniBand counts words


class Interface(NamedTuple):
    """Current state of an interface."""

    name: str  # such as eth0
    address: str | None
    prefix: int | None  # bits of the address that name its network
    up: bool  # whether it is switched on, with or without a cable; all that an MPI looks at
    virtual: bool  # whether no device is under it, and none under the interfaces that it stands on
    rate_bytes_per_s: float | None  # nominal rate; None: not known, as of all virtual ones


def interfaces() -> list[Interface]:
    """Return the interfaces that this process sees, loopback included, in the system's order; empty if unavailable."""
    with suppress(OSError, AttributeError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as query_socket:
        is_listed = kernel.exists("sys/class/net")
        return [_interface(query_socket, name, is_listed) for _, name in socket.if_nameindex()]
    return []


def _interface(query_socket: socket.socket, name: str, is_listed: bool) -> Interface:
    """Query an interface; `is_listed`: /sys has its facts."""
    flags, address, mask = (
        _ioctl_answer(query_socket, name, request) for request in (GET_FLAGS, GET_ADDRESS, GET_MASK)
    )
    virtual = not _has_device(name) if is_listed else bool(VIRTUAL_INTERFACE.match(name))
    return Interface(
        name=name,
        address=socket.inet_ntoa(address[4:8]) if address else None,
        prefix=int.from_bytes(mask[4:8], "big").bit_count() if mask else None,
        up=bool(flags and struct.unpack_from("H", flags)[0] & IS_UP),
        virtual=virtual,
        rate_bytes_per_s=None if virtual else _rate(name),
    )


def _ioctl_answer(query_socket: socket.socket, name: str, request: int) -> bytes | None:
    """Return what follows the name in the answer (struct ifreq), or None without an answer."""
    try:
        return ioctl(query_socket.fileno(), request, struct.pack("16s24x", name.encode()))[16:]
    except OSError:
        return None


def _has_device(name: str) -> bool:
    """Return whether the interface is hardware, or a bond, a VLAN or a bridge over some."""
    if _is_hardware(kernel.ROOT, name):
        return True
    return any(map(_has_device, _interfaces_below(kernel.ROOT, name)))


@cache
def _is_hardware(root: object, name: str) -> bool:
    return not NEVER_OVER_HARDWARE.match(name) and kernel.exists(f"sys/class/net/{name}/device")


@cache
def _interfaces_below(root: object, name: str) -> tuple[str, ...]:
    """Return the interfaces below a bond, a VLAN or a bridge; none for hardware."""
    if NEVER_OVER_HARDWARE.match(name) or _is_hardware(root, name):
        return ()
    return tuple(path.rsplit("/lower_", 1)[1] for path in kernel.matching_paths(f"sys/class/net/{name}/lower_*"))


def _rate(name: str) -> float | None:
    """Return the rate in bytes/s that the interface reports, else its InfiniBand port; None: unknown."""
    megabits = kernel.read_int(f"sys/class/net/{name}/speed")
    if megabits is not None and 0 < megabits < UNKNOWN_SPEED:
        return megabits * 1e6 / 8
    port = (kernel.read_int(f"sys/class/net/{name}/dev_port") or 0) + 1
    for path in kernel.matching_paths(f"sys/class/net/{name}/device/infiniband/*/ports/{port}/rate"):
        if (rate := _port_rate(path)) is not None:
            return rate
    return None


def _port_rate(path: str) -> float | None:
    """Return the rate in a file of an InfiniBand port, bytes per second."""
    match = re.match(r"([\d.]+) Gb/sec", kernel.read(path) or "")
    return float(match[1]) * 1e9 / 8 if match else None


def port_rates() -> dict[str, float]:
    """Return bytes per second of each InfiniBand port that reports it, by a name such as `mlx5_0:1`."""
    rates = {}
    for path in kernel.matching_paths("sys/class/infiniband/*/ports/*/rate"):
        rate, parts = _port_rate(path), path.split("/")
        if rate is not None:
            rates[f"{parts[3]}:{parts[5]}"] = rate
    return rates


def fabric_devices() -> list[str]:
    """Return the InfiniBand, RoCE and Omni-Path devices of this node, such as `mlx5_0`."""
    return [path.rsplit("/", 1)[1] for path in kernel.matching_paths("sys/class/infiniband/*")]


def sent_bytes() -> dict[str, int]:
    """Return the bytes sent so far by each interface, and by each InfiniBand port as `mlx5_0:1`. A few file reads.

    Bonds, VLANs, bridges and IP over InfiniBand are left out: the devices below them count the same bytes.
    """
    sent_nbytes = {}
    for line in (kernel.read("proc/net/dev") or "").splitlines()[2:]:
        name, _, numbers = line.partition(":")
        sent_nbytes[name.strip()] = int(numbers.split()[8])  # first of the columns for sent data
    for path in [] if sent_nbytes else kernel.matching_paths("sys/class/net/*/statistics/tx_bytes"):
        sent_nbytes[path.split("/")[3]] = kernel.read_int(path) or 0
    for path in _port_counters(kernel.ROOT):
        words, parts = kernel.read_int(path), path.split("/")
        if words is not None:
            sent_nbytes[f"{parts[3]}:{parts[5]}"] = words * WORD_NBYTES
    return {name: size_bytes for name, size_bytes in sent_nbytes.items() if name not in _counted_elsewhere(kernel.ROOT)}


@cache
def _port_counters(root: object) -> tuple[str, ...]:
    """Return the counter files of InfiniBand ports; read once for `root`."""
    return tuple(kernel.matching_paths("sys/class/infiniband/*/ports/*/counters/port_xmit_data"))


@cache
def _counted_elsewhere(root: object) -> frozenset[str]:
    """Return the interfaces whose bytes the devices below them count, too; read once for `root`."""
    names = [path.split("/")[3] for path in kernel.matching_paths("sys/class/net/*")]
    over_infiniband = [name for name in names if kernel.read_int(f"sys/class/net/{name}/type") == OVER_INFINIBAND]
    return frozenset([*over_infiniband, *(name for name in names if _interfaces_below(root, name))])


def per_call(before: Mapping[str, int] | None, after: Mapping[str, int] | None, calls: int) -> dict[str, int]:
    """Return the bytes that each interface of this node sent per call; empty if this rank did not read counters."""
    if before is None or after is None or not calls:
        return {}
    return {name: round((after[name] - before[name]) / calls) for name in after if name in before}


def total_traffic(nodes: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the sum over nodes of the counts of each interface."""
    total: dict[str, int] = {}
    for counts in nodes:
        for name, size_bytes in counts.items():
            total[name] = total.get(name, 0) + size_bytes
    return total


def format_traffic(counts: Mapping[str, int]) -> str:
    """Return `hsn0=8388608 eth0=0`, the busiest first; virtual interfaces that sent nothing are left out."""
    names = [name for name, size_bytes in counts.items() if size_bytes or not VIRTUAL_INTERFACE.match(name)]
    return " ".join(f"{name}={counts[name]}" for name in sorted(names, key=lambda name: (-counts[name], name)))


def parse_traffic(text: str | None) -> dict[str, int]:
    """Parse the output of `format_traffic`; unreadable words are left out."""
    pairs = [word.rpartition("=") for word in (text or "").split()]
    return {name: int(size_bytes) for name, _, size_bytes in pairs if name and size_bytes.isdigit()}


def way_between(machines: Sequence[dict]) -> str | None:
    """Return the fastest interface in one network on all nodes with a different address on each; None: none."""
    of_name: dict[str, list[dict]] = {}
    for machine in machines:
        for interface in reachable(machine):
            of_name.setdefault(interface["name"], []).append(interface)
    joining = [
        (not interfaces[0]["virtual"], interfaces[0]["rate_bytes_per_s"] or 0, name)
        for name, interfaces in of_name.items()
        if len({interface["address"] for interface in interfaces}) == len(interfaces) == len(machines)
        if len(set(map(_network, interfaces))) == 1
    ]
    return max(joining)[2] if joining else None


def reachable(machine: dict) -> list[dict]:
    """Return the interfaces that an MPI could take for a connection to other nodes."""
    return [
        interface
        for interface in machine.get("interfaces") or ()
        if interface["up"] and interface["address"] and interface["prefix"]
        if not interface["address"].startswith("127.")
    ]


def same_address(machines: Sequence[dict]) -> list[dict]:
    """Return the finding that nodes share an address: local bridges, such as docker0, that look like one network."""
    separate = _with_own_networks(machines)
    owners_of: dict[tuple, list[dict]] = {}
    for machine in separate:
        for interface in reachable(machine):
            key = interface["name"], interface["address"], interface["prefix"]
            owners_of.setdefault(key, []).append(machine)
    shared = {key: owners for key, owners in owners_of.items() if len(owners) > 1}
    if not shared:
        return []
    names = ", ".join(f"{name} ({address}/{prefix})" for name, address, prefix in shared)
    owners = max(shared.values(), key=len)
    return [
        finding(
            "interfaces",
            "caution",
            f"{names} has the same address on {len(owners)} nodes ({first_hosts(owners)}): not a network between them",
            "an MPI over TCP may send to it and hang",
            _advice(separate),
        )
    ]


def _with_own_networks(machines: Sequence[dict]) -> list[dict]:
    """Return one machine per network stack: containers that share their host's network have the same addresses."""
    machine_of = {frozenset(way["address"] for way in reachable(machine)): machine for machine in machines}
    return list(machine_of.values())


def shared_range(machines: Sequence[dict]) -> list[dict]:
    """Return the finding that two interfaces of a node are in one address range: either may carry a message."""
    if len(machines) < 2:
        return []
    owners_of: dict[tuple, list[dict]] = {}
    for machine in machines:
        for first, second in combinations(reachable(machine), 2):
            if _network(first).overlaps(_network(second)):
                owners_of.setdefault((first["name"], second["name"]), []).append(machine)
    if not owners_of:
        return []
    (first_name, second_name), owners = max(owners_of.items(), key=lambda item: len(item[1]))
    return [
        finding(
            "interfaces",
            "caution",
            f"{first_name} and {second_name} share an address range{on_nodes(owners, machines)}",
            "messages may use either interface, or wait for answers on the other one",
            _advice(machines),
        )
    ]


def bridges(machine: dict) -> list[dict]:
    """Return the finding about local bridges that other nodes may have alike, judged from one node."""
    bridge_interfaces = [way for way in reachable(machine) if way["virtual"] and BRIDGE.match(way["name"])]
    if not bridge_interfaces:
        return []
    names = ", ".join(f"{bridge['name']} ({bridge['address']}/{bridge['prefix']})" for bridge in bridge_interfaces)
    return [
        finding(
            "interfaces",
            "info",
            f"{names}: not reachable from other nodes",
            "if other nodes have the same address, an MPI over TCP may send to it and hang",
            _advice([machine]),
        )
    ]


def _network(interface: dict) -> ipaddress.IPv4Network:
    return ipaddress.IPv4Interface(f"{interface['address']}/{interface['prefix']}").network


def _advice(machines: Sequence[dict]) -> str:
    name = way_between(machines)
    return f"select the interface that connects the nodes: --interface {shell_word(name or 'NAME')}"


# Network ports of this node during a launch: errors, waits, and links below their width or rate.
#
# Counters of InfiniBand and RoCE ports are below /sys/class/infiniband (sysfs-class-infiniband in the ABI documents of
# Linux; those of `hw_counters` as NVIDIA documents them for mlx5), those of other interfaces in /proc/net/dev. Only
# nonzero differences are kept. Standard library only; read by one rank per node, in launches on several nodes.


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
            size_bytes = grown.pop("size_bytes", LEAST_NBYTES)
            if grown and size_bytes >= LEAST_NBYTES:
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
        where = on_nodes([n for n, _ in errors], counted)
        findings.append(
            finding(
                "port errors",
                "caution",
                f"network port errors during the launch: {_texts(errors)}{where}",
                "lost packets were retransmitted: calls were slower, some of them much slower",
                "have the cables, the transceivers and the switch checked, or measure on other nodes",
            )
        )
    if degraded:
        findings.append(
            finding(
                "degraded link",
                "caution",
                f"degraded links: {_texts(degraded)}{on_nodes([n for n, _ in degraded], counted)}",
                "the slowest link limits large vectors",
                "have the cable and the slot checked, or measure on other nodes",
            )
        )
    if waits:
        where = on_nodes([n for n, _ in waits], counted)
        findings.append(
            finding(
                "port waits",
                "info",
                f"network ports waited or were throttled during the launch: {_texts(waits)}{where}",
                "the network was congested for a while, by this launch or by other jobs",
                "compare with a launch on an idle network",
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
    """Return all counters of ports and interfaces so far; for an interface also `size_bytes`, received and sent."""
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
            counts[name.strip()] = errors | {"size_bytes": values[RECEIVED] + values[SENT]}
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
        elif "(1X " in rate and kernel.read(f"sys/class/infiniband/{device}/ports/{number}/link_layer") == "InfiniBand":
            found.append((port, f"has one lane: {rate}"))
    for device in kernel.matching_paths("sys/class/infiniband/*/device"):
        for kind, unit in (("width", "lanes"), ("speed", "GT/s")):
            now, top = (_number(kernel.read(f"{device}/{which}_link_{kind}") or "") for which in ("current", "max"))
            if 0 < now < top:
                found.append((device.split("/")[3], f"has {now:g} of {top:g} {unit} of PCIe"))
    return found


def _name(folder: str) -> str:
    """Return `mlx5_0:1`."""
    parts = folder.split("/")
    return f"{parts[3]}:{parts[5]}"


def _number(text: str) -> float:
    """Return the number at the start of a text, or 0."""
    match = re.match(r"\d+(\.\d+)?", text, re.ASCII)
    return float(match[0]) if match else 0.0
