"""The order of ranks: on which host each rank of the all-reduce sits, wherever the launcher put its own ranks.

`block`: host after host, the ranks of each consecutive. `cyclic`: one rank of each host in turn. Else hosts, one for
each rank; or each host once, whose ranks are then consecutive. A file has a host on each line, and comments behind #.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import chain, zip_longest
from pathlib import Path

from ..units import counted, few
from .files import read_given
from .hosts import hosts_of

BLOCK, CYCLIC = "block", "cyclic"
LONGEST = 16 * 2**20  # bytes of a file
MOST_NAMED = 8  # hosts in one sentence


class OrderError(ValueError):
    """An order of ranks that cannot be read, or is not one of these hosts."""


def parse_order(text: str) -> tuple[str, ...]:
    """Return the order that `block`, `cyclic`, `n1,n[3-4],n2` or the name of a file stands for. Raises OrderError."""
    if text in (BLOCK, CYCLIC):
        return (text,)
    path = Path(text)
    if "," in text or "[" in text and not path.is_file():
        return _hosts([(text, f"'{text:.80}'")], text)
    try:
        lines = read_given(path, LONGEST).decode(errors="replace").splitlines()
    except OSError as error:
        raise OrderError(
            f"{path}: {error.strerror}; expected block, cyclic, names of hosts such as n1,n3,n2, or a file with a "
            "host on each line"
        ) from error
    entries = [(line.partition("#")[0].strip(), f"{path}, line {number}") for number, line in enumerate(lines, start=1)]
    return _hosts([(word, place) for word, place in entries if word], text)


def _hosts(entries: Sequence[tuple[str, str]], source: str) -> tuple[str, ...]:
    """Return the hosts of entries with their places. Raises OrderError for a word that is none, for less than two."""
    hosts = []
    for words, place in entries:
        try:
            named = hosts_of(words, place)
        except ValueError:
            named = []
        if not named or ":" in words:
            raise OrderError(
                f"{place}: '{words:.40}' is not the name of a host; expected a host on each line, such as n1"
            )
        hosts += named
    if len(hosts) < 2:
        raise OrderError(f"{source}: expected an order of two hosts or more, found {len(hosts)}")
    return tuple(hosts)


def ranks_in_order(order: Sequence[str], host_of_rank: Sequence[str]) -> tuple[int, ...]:
    """Return the launcher's ranks in the order of an all-reduce: the first of them is its rank 0.

    `host_of_rank`: the host of each of the launcher's ranks. Raises OrderError for an order that is no permutation of
    them.
    """
    ranks_of: dict[str, list[int]] = {}
    for rank, host in enumerate(host_of_rank):
        ranks_of.setdefault(host, []).append(rank)
    if (*order,) == (BLOCK,):
        return tuple(chain.from_iterable(ranks_of.values()))
    if (*order,) == (CYCLIC,):
        return tuple(rank for turn in zip_longest(*ranks_of.values()) for rank in turn if rank is not None)
    named = Counter(order)
    if unknown := [host for host in named if host not in ranks_of]:
        raise OrderError(
            f"the order names host {unknown[0]}, on which there is no rank; there are ranks on "
            f"{few(ranks_of, MOST_NAMED)}"
        )
    if left_out := [host for host in ranks_of if host not in named]:
        ranks = counted(len(ranks_of[left_out[0]]), "rank")
        raise OrderError(f"the order leaves out host {left_out[0]}, which has {ranks}; name every host")
    if len(named) == len(order):
        return tuple(chain.from_iterable(ranks_of[host] for host in order))
    for host, times in named.items():
        if times != len(ranks_of[host]):
            raise OrderError(
                f"the order names host {host} {counted(times, 'time')}, for {counted(len(ranks_of[host]), 'rank')} "
                "there; name each host once, or as often as it has ranks"
            )
    waiting = {host: iter(ranks) for host, ranks in ranks_of.items()}
    return tuple(next(waiting[host]) for host in order)
