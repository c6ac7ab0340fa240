"""The networks of several nodes: which interface joins them, and which only look as if they did."""

import ipaddress
import re
from collections.abc import Sequence
from itertools import combinations

from .finding import few, finding, on_nodes

BRIDGE = re.compile(r"docker|virbr|br-|lxcbr|cni|podman")  # what container engines and virtual machines make


def same_address(machines: Sequence[dict]) -> list[dict]:
    """Addresses that several nodes have: bridges of each node, such as docker0, that only look like one network."""
    apart = _with_own_networks(machines)
    owners: dict[tuple, list[dict]] = {}
    for machine in apart:
        for one in reachable(machine):
            owners.setdefault((one["name"], one["address"], one["prefix"]), []).append(machine)
    shared = {what: having for what, having in owners.items() if len(having) > 1}
    if not shared:
        return []
    names = ", ".join(f"{name} ({address}/{prefix})" for name, address, prefix in shared)
    having = max(shared.values(), key=len)
    return [
        finding(
            "interfaces",
            "caution",
            f"{names} has the same address on {len(having)} nodes ({few(having)}): not a network between them",
            "an MPI that uses TCP may send there, and hang",
            _name_one(apart),
        )
    ]


def shared_range(machines: Sequence[dict]) -> list[dict]:
    """Two interfaces of a node in one address range: which of them carries a message is chance."""
    if len(machines) < 2:
        return []
    found: dict[tuple, list[dict]] = {}
    for machine in machines:
        for one, other in combinations(reachable(machine), 2):
            if _network(one).overlaps(_network(other)):
                found.setdefault((one["name"], other["name"]), []).append(machine)
    if not found:
        return []
    (one, other), having = max(found.items(), key=lambda item: len(item[1]))
    return [
        finding(
            "interfaces",
            "caution",
            f"{one} and {other} share an address range{on_nodes(having, machines)}",
            "messages may take either, or wait for answers that come over the other",
            _name_one(machines),
        )
    ]


def bridges(machine: dict) -> list[dict]:
    """Bridges that every node may have alike, as far as one node shows."""
    inside = [one for one in reachable(machine) if one["virtual"] and BRIDGE.match(one["name"])]
    if not inside:
        return []
    names = ", ".join(f"{one['name']} ({one['address']}/{one['prefix']})" for one in inside)
    return [
        finding(
            "interfaces",
            "info",
            f"{names}: leads nowhere outside this node",
            "where other nodes have the same address, an MPI that uses TCP may send there, and hang",
            _name_one([machine]),
        )
    ]


def reachable(machine: dict) -> list[dict]:
    """The interfaces that an MPI could take for a way to other nodes."""
    return [
        one
        for one in machine.get("interfaces") or ()
        if one["up"] and one["address"] and one["prefix"] and not one["address"].startswith("127.")
    ]


def _with_own_networks(machines: Sequence[dict]) -> list[dict]:
    """One machine for each network stack: containers on one host that share its network have all addresses alike."""
    return list({frozenset(one["address"] for one in reachable(machine)): machine for machine in machines}.values())


def _network(one: dict) -> ipaddress.IPv4Network:
    return ipaddress.IPv4Interface(f"{one['address']}/{one['prefix']}").network


def _name_one(machines: Sequence[dict]) -> str:
    name = way_between(machines)
    return f"name the interface that joins the nodes: --interface {name or 'NAME'}"


def way_between(machines: Sequence[dict]) -> str | None:
    """The fastest interface that lies in one network on all nodes and has another address on each; None: none does."""
    of_name: dict[str, list[dict]] = {}
    for machine in machines:
        for one in reachable(machine):
            of_name.setdefault(one["name"], []).append(one)
    joining = [
        (not of[0]["virtual"], of[0]["rate_bytes_per_s"] or 0, name)
        for name, of in of_name.items()
        if len(of) == len({one["address"] for one in of}) == len(machines) and len(set(map(_network, of))) == 1
    ]
    return max(joining)[2] if joining else None
