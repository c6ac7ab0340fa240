"""What the networks carried: bytes that the interfaces of all nodes counted while a cell was repeated.

Counters see everything: headers, acknowledgements, and what others sent. For large vectors that is little.
"""

import re
from collections.abc import Iterable, Mapping

from ..units import format_size

LOOPBACK = "lo"
INVENTED = re.compile(r"lo$|docker|veth|virbr|br-|cni|flannel|cali|tap|tun|wg|ifb|dummy|sit|gre")  # virtual interfaces'
LARGE = 1024**2  # bytes of a vector: below, the counters see too much besides


def per_call(before: Mapping[str, int] | None, after: Mapping[str, int] | None, calls: int) -> dict[str, int]:
    """Bytes that each interface of this node sent in one of `calls` calls; empty where this rank did not look."""
    if before is None or after is None or not calls:
        return {}
    return {name: round((after[name] - before[name]) / calls) for name in after if name in before}


def added(nodes: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The counts of several nodes by interface."""
    total: dict[str, int] = {}
    for counts in nodes:
        for name, nbytes in counts.items():
            total[name] = total.get(name, 0) + nbytes
    return total


def written(counts: Mapping[str, int]) -> str:
    """`hsn0=8388608 eth0=0`, the busiest first; virtual interfaces that sent nothing are left out."""
    names = [name for name, nbytes in counts.items() if nbytes or not INVENTED.match(name)]
    return " ".join(f"{name}={counts[name]}" for name in sorted(names, key=lambda name: (-counts[name], name)))


def read(text: str | None) -> dict[str, int]:
    """What `written` gave; what cannot be read is left out."""
    pairs = [word.rpartition("=") for word in (text or "").split()]
    return {name: int(nbytes) for name, _, nbytes in pairs if name and nbytes.isdigit()}


def sentence(rows: Iterable[Mapping]) -> str | None:
    """What carried the schedules' bytes, from summary rows of one rank count; None where it was not counted.

    Only rows of known schedules and of at least LARGE bytes tell.
    """
    told = [
        row for row in rows if row.get("wire") and row.get("internode_nbytes") is not None and row["nbytes"] >= LARGE
    ]
    required, counts = sum(row["internode_nbytes"] for row in told), added(read(row["wire"]) for row in told)
    if not told:
        return None
    if required:
        shares = ", ".join(f"{_times(nbytes / required)} on {name}" for name, nbytes in _busiest(counts))
        return f"bytes counted from {format_size(LARGE)} up, over those that the schedules send between nodes: {shares}"
    moved = sum(row["nbytes"] for row in told)
    used = ", ".join(f"{_times(nbytes / moved)} the vectors on {name}" for name, nbytes in _busiest(counts))
    loud = [name for name, nbytes in counts.items() if nbytes > 0.01 * moved]
    if not loud:
        return f"nothing on the network from {format_size(LARGE)} up: one node, shared memory"
    return f"one node, but its interfaces sent from {format_size(LARGE)} up: {used}"


def _busiest(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def _times(ratio: float) -> str:
    return "0" if ratio < 0.005 else f"{ratio:.2f} x"
