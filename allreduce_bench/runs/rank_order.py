"""The order of ranks: on which host each rank of the all-reduce sits, wherever the launcher put its own ranks.

`block`: host after host, the ranks of each consecutive. `cyclic`: one rank of each host in turn. Else hosts, one for
each rank; or each host once, whose ranks are then consecutive. A file has a host on each line, and comments behind #.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import chain, zip_longest
from pathlib import Path

from ..message import BadValue
from ..units import few
from .files import read_given
from .start import HOST

BLOCK, CYCLIC = "block", "cyclic"
LONGEST = 16 * 2**20  # bytes of a file
MOST_NAMED = 8  # hosts in one sentence


def parse_order(text: str) -> tuple[str, ...]:
    """Return the order that `block`, `cyclic`, `n1,n3,n2` or the name of a file stands for. Raises BadValue."""
    if text in (BLOCK, CYCLIC):
        return (text,)
    if "," in text:
        return _hosts([(word.strip(), f"'{text:.80}'") for word in text.split(",")], text)
    path = Path(text)
    try:
        lines = read_given(path, LONGEST).decode(errors="replace").splitlines()
    except OSError as error:
        raise BadValue("runs.order_cannot_be_read", path=path, error=error.strerror) from error
    entries = [(line.partition("#")[0].strip(), f"{path}, line {number}") for number, line in enumerate(lines, start=1)]
    return _hosts([(word, place) for word, place in entries if word], text)


def _hosts(entries: Sequence[tuple[str, str]], source: str) -> tuple[str, ...]:
    """Return the hosts of entries with their places. Raises BadValue for a word that is none, and for less than two."""
    for word, place in entries:
        match = HOST.fullmatch(word)
        if not match or match[2]:
            raise BadValue("runs.order_not_a_host", place=place, word=word[:40])
    if len(entries) < 2:
        raise BadValue("runs.order_too_short", source=source, found=len(entries))
    return tuple(word for word, _ in entries)


def ranks_in_order(order: Sequence[str], host_of_rank: Sequence[str]) -> tuple[int, ...]:
    """Return the launcher's ranks in the order of an all-reduce: the first of them is its rank 0.

    `host_of_rank`: the host of each of the launcher's ranks. Raises BadValue for an order that is no permutation of
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
        raise BadValue("runs.order_host_not_there", host=unknown[0], hosts=few(ranks_of, MOST_NAMED))
    if left_out := [host for host in ranks_of if host not in named]:
        raise BadValue("runs.order_leaves_out", host=left_out[0], ranks=len(ranks_of[left_out[0]]))
    if len(named) == len(order):
        return tuple(chain.from_iterable(ranks_of[host] for host in order))
    for host, times in named.items():
        if times != len(ranks_of[host]):
            raise BadValue("runs.order_no_permutation", host=host, times=times, ranks=len(ranks_of[host]))
    waiting = {host: iter(ranks) for host, ranks in ranks_of.items()}
    return tuple(next(waiting[host]) for host in order)
