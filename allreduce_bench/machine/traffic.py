"""Bytes that the networks of nodes carried, by interface.

Counters include headers, acknowledgements, and traffic of others: little for large vectors.
"""

from collections.abc import Iterable, Mapping
from functools import cache

from . import kernel
from .interfaces import VIRTUAL_INTERFACE, lower_interfaces, port_name, ports

OVER_INFINIBAND = 32  # ARPHRD_INFINIBAND
WORD_NBYTES = 4  # InfiniBand counts words
SENT = 8  # column of /proc/net/dev, the first for sent data


def sent_bytes() -> dict[str, int]:
    """Return the bytes sent so far by each interface, and by each InfiniBand port as `mlx5_0:1`. A few file reads.

    Bonds, VLANs, bridges and IP over InfiniBand are left out: the devices below them count the same bytes.
    """
    sent_nbytes = {}
    for line in (kernel.read("proc/net/dev") or "").splitlines()[2:]:
        name, _, numbers = line.partition(":")
        sent_nbytes[name.strip()] = int(numbers.split()[SENT])
    for port in ports():
        if (words := kernel.read_int(f"{port}/counters/port_xmit_data")) is not None:
            sent_nbytes[port_name(port)] = words * WORD_NBYTES
    return {name: size_bytes for name, size_bytes in sent_nbytes.items() if not _is_counted_below(name)}


@cache
def _is_counted_below(name: str) -> bool:
    """Return whether the devices below this interface count its bytes, too."""
    if lower_interfaces(name):
        return True
    return bool(ports()) and kernel.read_int(f"sys/class/net/{name}/type") == OVER_INFINIBAND


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
