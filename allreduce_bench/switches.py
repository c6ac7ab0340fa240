"""The switches above the nodes, where Slurm knows them: whoever starts the ranks asks, and rank 0 keeps them."""

import json
from collections.abc import Iterable, Mapping

from .lifeline import SWITCHES_VARIABLE

MOST_NBYTES = 100_000  # of the 128 KiB that Linux lets a variable have


def as_variables(switches: Mapping[str, str]) -> dict[str, str]:
    """The environment that tells rank 0 of `switches`, node -> path such as `s0/s1`; none where there is nothing to
    tell, or more than fits.
    """
    below: dict[str, list[str]] = {}
    for node, path in switches.items():
        below.setdefault(path, []).append(node)
    text = json.dumps({path: " ".join(nodes) for path, nodes in below.items()})
    return {SWITCHES_VARIABLE: text} if below and len(text) <= MOST_NBYTES else {}


def of_hosts(text: str, hosts: Iterable[str]) -> dict[str, str]:
    """Host -> path, for those `hosts` that the variable's `text` knows, with their domain or without."""
    try:
        paths = {node: path for path, nodes in json.loads(text).items() for node in nodes.split()}
    except (ValueError, AttributeError):  # somebody else's variable
        return {}
    found = ((host, paths.get(host) or paths.get(host.partition(".")[0])) for host in dict.fromkeys(hosts))
    return {host: path for host, path in found if path}
