"""Hosts as users write them: on the command line and in host files."""

import re
from pathlib import Path

HOST = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?::(\d{1,6}))?")


def parse_hosts(text: str) -> tuple[str, ...]:
    """The hosts of `n1,n2` or `n1:8,n2:8`, each as `name` or `name:slots`. Raises ValueError."""
    return tuple(_host(word.strip(), f"'{text}'") for word in text.split(","))


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
    return tuple(hosts)


def slots_of(host: str) -> tuple[str, int | None]:
    """(name, slots) of a host as `parse_hosts` gives it; None: not said."""
    name, _, slots = host.partition(":")
    return name, int(slots) if slots else None


def _host(word: str, where: str) -> str:
    match = HOST.fullmatch(word)
    if not match or match[2] and int(match[2]) == 0:
        raise ValueError(f"{where}: '{word}' is no host; expected such as n1 or n1:8")
    return word
