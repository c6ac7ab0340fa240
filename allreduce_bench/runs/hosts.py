"""Hosts as users write them: on the command line and in host files; and how ranks fill them."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from .start import HOST

LONGEST_HOSTFILE = 16 * 2**20  # bytes


def parse_hosts(text: str) -> tuple[str, ...]:
    """The hosts of `n1,n2` or `n1:8,n2:8`, each as `name` or `name:slots`. Raises ValueError."""
    return _unique_hosts(_checked_host(word.strip(), f"'{text}'") for word in text.split(","))


def read_hostfile(path: Path) -> tuple[str, ...]:
    """The hosts of a file with lines `n1`, `n1:8` or `n1 slots=8`; empty lines and comments (#) are left out.

    Raises ValueError, naming the line; OSError.
    """
    hosts = []
    from .careful_reading import read_given  # late: a rank is told its hosts

    text = read_given(path, LONGEST_HOSTFILE).decode(errors="replace")
    for number, line in enumerate(text.splitlines(), start=1):
        entry = line.split("#")[0].strip()
        if entry:
            hosts.append(_checked_host(re.sub(r"\s+slots\s*=\s*(?=\d+$)", ":", entry), f"{path}, line {number}"))
    if not hosts:
        raise ValueError(f"{path}: no host found; expected lines such as n1, n1:8 or n1 slots=8")
    return _unique_hosts(hosts)


def slots_of(host: str) -> tuple[str, int | None]:
    """(name, slots) of a host as `parse_hosts` gives it; None: not said."""
    name, _, slots = host.partition(":")
    return name, int(slots) if slots else None


def slots_for(hosts: Sequence[str], ranks: int, ranks_per_node: int | None = None) -> list[tuple[str, int]]:
    """(name, slots) of every host; those that say no slots get `ranks_per_node`, or share evenly what is left."""
    named_slots = [slots_of(host) for host in hosts]
    without_slots = [name for name, slots in named_slots if slots is None]
    ranks_left = max(0, ranks - sum(slots or 0 for _, slots in named_slots))
    shares = dict(zip(without_slots, share_evenly(ranks_left, len(without_slots))))
    return [(name, slots or ranks_per_node or max(1, shares[name])) for name, slots in named_slots]


def share_evenly(ranks: int, places: int) -> list[int]:
    """`ranks` shared by so many places as evenly as it goes, the first ones getting one more."""
    return [ranks // places + (index < ranks % places) for index in range(places)]


def fill_slots(slots: Iterable[int], ranks: int) -> list[int]:
    """The ranks on each host when they fill one host's slots after the other; what is left over goes round.

    No hosts: none.
    """
    ranks_left, counts = ranks, []
    for number in slots:
        counts.append(min(number, ranks_left))
        ranks_left -= counts[-1]
    return [count + extra for count, extra in zip(counts, share_evenly(ranks_left, len(counts)))]


def _unique_hosts(hosts: Iterable[str]) -> tuple[str, ...]:
    """Each host once: batch systems name a host as often as it has slots."""
    slots: dict[str, int | None] = {}
    for name, number in map(slots_of, hosts):
        slots[name] = number if name not in slots else (slots[name] or 1) + (number or 1)
    return tuple(name if number is None else f"{name}:{number}" for name, number in slots.items())


def _checked_host(word: str, source: str) -> str:
    match = HOST.fullmatch(word)
    if not match or match[2] and int(match[2]) == 0:
        raise ValueError(f"{source}: '{word}' is not a host; expected for example n1 or n1:8")
    return word
