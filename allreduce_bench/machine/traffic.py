"""What the networks carried: bytes that the interfaces of all nodes counted while a cell was repeated.

Counters see everything: headers, acknowledgements, and what others sent. For large vectors that is little.
"""

import re
from collections.abc import Iterable, Mapping

LOOPBACK = "lo"
VIRTUAL_INTERFACE = re.compile(r"lo$|docker|veth|virbr|br-|cni|flannel|cali|tap|tun|wg|ifb|dummy|sit|gre")


def per_call(before: Mapping[str, int] | None, after: Mapping[str, int] | None, calls: int) -> dict[str, int]:
    """Bytes that each interface of this node sent in one of `calls` calls; empty where this rank did not look."""
    if before is None or after is None or not calls:
        return {}
    return {name: round((after[name] - before[name]) / calls) for name in after if name in before}


def total_traffic(nodes: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The counts of several nodes by interface."""
    total: dict[str, int] = {}
    for counts in nodes:
        for name, nbytes in counts.items():
            total[name] = total.get(name, 0) + nbytes
    return total


def format_traffic(counts: Mapping[str, int]) -> str:
    """`hsn0=8388608 eth0=0`, the busiest first; virtual interfaces that sent nothing are left out."""
    names = [name for name, nbytes in counts.items() if nbytes or not VIRTUAL_INTERFACE.match(name)]
    return " ".join(f"{name}={counts[name]}" for name in sorted(names, key=lambda name: (-counts[name], name)))


def parse_traffic(text: str | None) -> dict[str, int]:
    """What `format_traffic` gave; what cannot be read is left out."""
    pairs = [word.rpartition("=") for word in (text or "").split()]
    return {name: int(nbytes) for name, _, nbytes in pairs if name and nbytes.isdigit()}
