"""The networks of several nodes: the interface that connects them, and interfaces that only seem to."""

import ipaddress
import re
from collections.abc import Sequence
from itertools import combinations

from . import finding, first_hosts, on_nodes

BRIDGE = re.compile(r"docker|virbr|br-|lxcbr|cni|podman")  # what container engines and virtual machines make


def same_address(machines: Sequence[dict]) -> list[dict]:
    """Addresses that several nodes share: local bridges, such as docker0, that only look like one network."""
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


def shared_range(machines: Sequence[dict]) -> list[dict]:
    """Two interfaces of a node in one address range: either may carry a message."""
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
    """Bridges that every node may have alike, as far as one node shows."""
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


def reachable(machine: dict) -> list[dict]:
    """The interfaces that an MPI could mistake for a connection to other nodes."""
    return [
        interface
        for interface in machine.get("interfaces") or ()
        if interface["up"] and interface["address"] and interface["prefix"]
        if not interface["address"].startswith("127.")
    ]


def _with_own_networks(machines: Sequence[dict]) -> list[dict]:
    """One machine for each network stack: containers on one host that share its network have all addresses alike."""
    machine_of = {frozenset(way["address"] for way in reachable(machine)): machine for machine in machines}
    return list(machine_of.values())


def _network(interface: dict) -> ipaddress.IPv4Network:
    return ipaddress.IPv4Interface(f"{interface['address']}/{interface['prefix']}").network


def _advice(machines: Sequence[dict]) -> str:
    name = way_between(machines)
    return f"select the interface that connects the nodes: --interface {name or 'NAME'}"


def way_between(machines: Sequence[dict]) -> str | None:
    """The fastest interface that lies in one network on all nodes and has another address on each; None: none does."""
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
