"""Hosts as users write them: on the command line and in host files; and how ranks fill them."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

HOST = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?::(\d{1,6}))?")


def parse_hosts(text: str) -> tuple[str, ...]:
    """The hosts of `n1,n2` or `n1:8,n2:8`, each as `name` or `name:slots`. Raises ValueError."""
    return _each_once(_host(word.strip(), f"'{text}'") for word in text.split(","))


def read_hostfile(path: Path) -> tuple[str, ...]:
    """The hosts of a file with lines `n1`, `n1:8` or `n1 slots=8`; empty lines and comments (#) are left out.

    Raises ValueError, naming the line; OSError.
    """
    hosts = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        words = line.split("#")[0].strip()
        if words:
            hosts.append(_host(re.sub(r"\s+slots\s*=\s*(?=\d+$)", ":", words), f"{path}, line {number}"))
    if not hosts:
        raise ValueError(f"{path}: names no host; expected lines such as n1, n1:8 or n1 slots=8")
    return _each_once(hosts)


def slots_of(host: str) -> tuple[str, int | None]:
    """(name, slots) of a host as `parse_hosts` gives it; None: not said."""
    name, _, slots = host.partition(":")
    return name, int(slots) if slots else None


def slots_for(hosts: Sequence[str], ranks: int, ranks_per_node: int | None = None) -> list[tuple[str, int]]:
    """(name, slots) of every host; those that say no slots get `ranks_per_node`, or share evenly what is left."""
    said = [slots_of(host) for host in hosts]
    silent = [name for name, slots in said if slots is None]
    left = max(0, ranks - sum(slots or 0 for _, slots in said))
    shares = dict(zip(silent, shared(left, len(silent))))
    return [(name, slots or ranks_per_node or max(1, shares[name])) for name, slots in said]


def shared(ranks: int, places: int) -> list[int]:
    """`ranks` shared by so many places as evenly as it goes, the first ones getting one more."""
    return [ranks // places + (place < ranks % places) for place in range(places)]


def filled(slots: Iterable[int], ranks: int) -> list[int]:
    """The ranks on each host when they fill one host's slots after the other; what is left over goes round.

    No hosts: none.
    """
    left, counts = ranks, []
    for number in slots:
        counts.append(min(number, left))
        left -= counts[-1]
    return [count + more for count, more in zip(counts, shared(left, len(counts)))]


def _each_once(hosts: Iterable[str]) -> tuple[str, ...]:
    """Each host once: batch systems name a host as often as it has slots."""
    slots: dict[str, int | None] = {}
    for name, number in map(slots_of, hosts):
        slots[name] = number if name not in slots else (slots[name] or 1) + (number or 1)
    return tuple(name if number is None else f"{name}:{number}" for name, number in slots.items())


def _host(word: str, where: str) -> str:
    match = HOST.fullmatch(word)
    if not match or match[2] and int(match[2]) == 0:
        raise ValueError(f"{where}: '{word}' is no host; expected such as n1 or n1:8")
    return word
