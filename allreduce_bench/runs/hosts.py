"""Hosts as users write them on the command line and in host files, and how ranks fill them; Slurm's lists of nodes.

Such a list is `n[1-3,7],gpu-[01-02]`, and the names that it stands for.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import islice, product
from math import prod
from os.path import exists, isdir
from pathlib import Path

from ..units import spans
from .files import read_given

HOST = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?::(\d{1,6}))?")  # and slots
LONGEST_HOSTFILE = 16 * 2**20  # bytes
MOST_NODES = 100_000  # no cluster has as many; a longer list is damaged or malicious
LAST_NUMBER = re.compile(r"(.*?)(\d{1,9})(\D*)")
OUTER_COMMA = re.compile(r",(?![^\[]*\])")  # outside of brackets
PART = re.compile(r"\[([^\][]*)\]|([^\][,]+)")


def parse_hosts(text: str) -> tuple[str, ...]:
    """Return the hosts of `n1,n2:8` or `n[1-2]:8`, or of a file, each as `name` or `name:slots`. Raises ValueError.

    What ends in .txt or has a / is a file, there or not.
    """
    if "/" in text or text.endswith(".txt") or exists(text) and not isdir(text):
        return read_hostfile(Path(text))
    return _unique_hosts(hosts_of(text, f"'{text:.80}'"))


def read_hostfile(path: Path) -> tuple[str, ...]:
    """Return the hosts of a file with lines `n1`, `n[1-2]:8` or `n1 slots=8`, without empty lines and comments (#).

    Raises ValueError, naming the line.
    """
    hosts = []
    try:
        text = read_given(path, LONGEST_HOSTFILE).decode(errors="replace")
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}; expected a file of hosts") from error
    for number, line in enumerate(text.splitlines(), start=1):
        entry = line.split("#")[0].strip()
        if entry:
            hosts += hosts_of(re.sub(r"\s+slots\s*=\s*(?=\d+$)", ":", entry), f"{path}, line {number}")
    if not hosts:
        raise ValueError(f"{path}: no host found; expected lines such as n1, n1:8 or n1 slots=8")
    return _unique_hosts(hosts)


def hosts_of(text: str, source: str) -> list[str]:
    """Return the hosts of a list such as `n[3-4]:8,b7`, each as `name` or `name:slots`, in order.

    Raises ValueError, naming the source.
    """
    hosts: list[str] = []
    for word in OUTER_COMMA.split(text):
        nodes, colon, slots = word.strip().partition(":")
        try:
            named = [node + colon + slots for node in expand(nodes)]
        except ValueError:
            named = []
        matches = [HOST.fullmatch(host) for host in named]
        if not matches or not all(match and (match[2] is None or int(match[2])) for match in matches):
            expected = "expected for example n1, n1:8, n[1-4] or a file of hosts"
            raise ValueError(f"{source}: '{word.strip():.80}' is not a host; {expected}")
        hosts += named
        if len(hosts) > MOST_NODES:
            raise _refusal(text)
    return hosts


def _unique_hosts(hosts: Iterable[str]) -> tuple[str, ...]:
    """Merge duplicates: batch systems name a host as often as it has slots."""
    slots: dict[str, int | None] = {}
    for name, number in map(slots_of, hosts):
        slots[name] = number if name not in slots else (slots[name] or 1) + (number or 1)
    return tuple(name if number is None else f"{name}:{number}" for name, number in slots.items())


def slots_of(host: str) -> tuple[str, int | None]:
    """Return (name, slots) of a host of `parse_hosts`; None: not given."""
    name, _, slots = host.partition(":")
    return name, int(slots) if slots else None


def drop_domain(host: str) -> str:
    """Return `n1` of `n1.cluster.org`: hosts are named both ways; addresses stay as they are."""
    return host if host.replace(".", "").isdigit() else host.partition(".")[0]


def slots_for(hosts: Sequence[str], ranks: int, ranks_per_node: int | None = None) -> list[tuple[str, int]]:
    """Return (name, slots) of every host; those without slots get `ranks_per_node`, or share the rest evenly."""
    named_slots = [slots_of(host) for host in hosts]
    without_slots = [name for name, slots in named_slots if slots is None]
    ranks_left = max(0, ranks - sum(slots or 0 for _, slots in named_slots))
    shares = dict(zip(without_slots, share_evenly(ranks_left, len(without_slots))))
    return [(name, slots or ranks_per_node or max(1, shares[name])) for name, slots in named_slots]


def share_evenly(ranks: int, places: int) -> list[int]:
    """Distribute `ranks` over `places` as evenly as possible, the first ones getting one more."""
    return [ranks // places + (index < ranks % places) for index in range(places)]


def fill_slots(slots: Iterable[int], ranks: int) -> list[int]:
    """Return the ranks on each host when they fill one host's slots after the other; the rest goes round-robin.

    Without hosts: empty.
    """
    ranks_left, counts = ranks, []
    for number in slots:
        counts.append(min(number, ranks_left))
        ranks_left -= counts[-1]
    return [count + extra for count, extra in zip(counts, share_evenly(ranks_left, len(counts)))]


def expand(text: str) -> list[str]:
    """Return the names that a list of nodes stands for, in order. Raises ValueError for an invalid list."""
    words = filter(None, OUTER_COMMA.split(text.strip()))
    names = [*islice((name for word in words for name in _expand_word(word, text)), MOST_NODES + 1)]
    if len(names) > MOST_NODES:
        raise _refusal(text)
    return names


def _expand_word(word: str, text: str) -> list[str]:
    """Return the names that one word of the list `text` stands for. Raises ValueError."""
    if PART.sub("", word) or not word:
        raise _refusal(text)
    choices = [_numbers_of(match[1], text) if match[2] is None else [match[2]] for match in PART.finditer(word)]
    if prod(map(len, choices)) > MOST_NODES:
        raise _refusal(text)
    return ["".join(parts) for parts in product(*choices)]


def _numbers_of(inside: str, text: str) -> list[str]:
    """Return the numbers of `1-3,07`, with as many digits as the first of each span."""
    numbers: list[str] = []
    for span in inside.split(","):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", span.strip())
        if not match:
            raise _refusal(text)
        first, last = int(match[1]), int(match[2] or match[1])
        if not first <= last < first + MOST_NODES:
            raise _refusal(text)
        numbers += [f"{number:0{len(match[1])}}" for number in range(first, last + 1)]
    return numbers


def _refusal(text: str) -> ValueError:
    return ValueError(f"'{text[:80]}' is not a list of nodes; expected a list such as n[1-3,7],gpu-[01-02]")


def compress(names: Iterable[str]) -> str:
    """Return a sorted list of nodes; names that differ only in their last number share brackets: `n[01-03,07]`.

    `expand` is the inverse.
    """
    numbers_of: dict[tuple[str, int, str], set[int]] = {}  # by number of digits, so that no zero is lost
    for name in sorted(set(names)):
        match = LAST_NUMBER.fullmatch(name)
        stem, digits, tail = match.groups() if match else (name, "", "")
        numbers_of.setdefault((stem, len(digits), tail), set()).update([int(digits)] if digits else [])
    return ",".join(_word(*place, numbers) for place, numbers in numbers_of.items())


def _word(stem: str, width: int, tail: str, numbers: set[int]) -> str:
    """Format `n[01-03,07]-ib`, or `n07-ib` of one number, or a name without any."""
    ends = [(f"{first:0{width}}", f"{last:0{width}}") for first, last in spans(numbers)]
    words = [first if first == last else f"{first}-{last}" for first, last in ends]
    inside = ",".join(words)
    return f"{stem}[{inside}]{tail}" if len(numbers) > 1 else f"{stem}{inside}{tail}"
