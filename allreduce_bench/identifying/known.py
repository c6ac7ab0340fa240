"""The all-reduces of the libraries: the order and the messages of each, as they follow from its steps.

Where a library does what one of our own algorithms does, its steps are ours; the others are played on all ranks at
once. Sources: Open MPI 5.0, ompi/mca/coll/base/coll_base_allreduce.c (`ompi_coll_base_allreduce_intra_*`); MPICH,
src/mpi/coll/allreduce/allreduce_intra_*.c, with the neighbours of src/mpi/coll/algorithms/recexchalgo/recexchalgo.c.
Intel MPI has no public source: its own are those that were seen where each was forced (2021.18, 2 to 8 ranks).

An algorithm that a library replaces by another one, as Open MPI's ring where there are fewer elements than ranks, is
not listed there: it does not run.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..algorithms import find
from ..machine import INTEL, MPICH, OPEN_MPI
from ..schedule import Ranges, elements
from ..schedule.algorithm import Topology
from .look import Table
from .order import Order, Tree, added, merged, order_of

MOST_RADIX = 8  # of the algorithms with a radix; 2 is MPICH's default


class Sent(NamedTuple):
    """Messages of one call."""

    messages: Table
    elements: Table


class Known(NamedTuple):
    """An all-reduce of a library, over some ranks."""

    name: str
    order: Order
    sent: Sent | None = None  # None: not worked out


ANY_TREE = {  # of these the order is that of whatever reduction the library takes: any single tree
    OPEN_MPI: ("nonoverlapping",),
    MPICH: ("nb",),
    INTEL: (
        *("reduce_bcast", "topology_aware_reduce_bcast", "topology_aware_binomial_gather_scatter", "knomial"),
        *("shared_memory_flat", "shared_memory_knomial", "shared_memory_knary"),
    ),
}
IN_NODE_FIRST = {  # of these the ranks of a node come first; what han does in nodes and between, see `matching`
    OPEN_MPI: ("han",),
    MPICH: ("smp", "composition alpha", "composition delta"),
    INTEL: ("in node first",),
}
ON_ONE_NODE = {MPICH: ("release_gather", *IN_NODE_FIRST[MPICH])}  # of these it is any single tree on one node


def library_of(name: str) -> str | None:
    """Return the library whose algorithms are known, by a name such as `Open MPI 5.0.11`; None: none of them."""
    return next((library for library in ANY_TREE if name.startswith(library)), None)


def known(library: str, ranks: int, count: int) -> list[Known]:
    """Return the all-reduces that a library can run over these ranks for so many elements, but for ANY_TREE."""
    return list(_OF[library](ranks, count))


def names(library: str) -> list[str]:
    """Return the names of the algorithms of a library."""
    own = [one.name for one in known(library, 4, 64) if " k=" not in one.name]
    others = (*ANY_TREE[library], *ON_ONE_NODE.get(library, ()), *IN_NODE_FIRST[library])
    return list(dict.fromkeys([*own, *others]))


def _of_steps(name: str, algorithm: str, ranks: int, count: int) -> Known:
    """Return an all-reduce that is one of our own algorithms."""
    schedules = find([algorithm])[algorithm].schedules(ranks, Topology.one_node(ranks), count, max(count, 1))
    sent = _nothing(ranks)
    for rank, steps in enumerate(schedules):
        for step in steps:
            if step.dest is not None:
                _add(sent, rank, step.dest, step.send)
    return Known(name, order_of(schedules, count), sent)


def _nothing(ranks: int) -> Sent:
    return Sent([[0] * ranks for _ in range(ranks)], [[0] * ranks for _ in range(ranks)])


def _add(sent: Sent, source: int, dest: int, ranges: Ranges) -> None:
    sent.messages[source][dest] += 1
    sent.elements[source][dest] += elements(ranges)


class Play:
    """All ranks at once: what each holds of each part of the vector, and what was sent."""

    def __init__(self, ranks: int, spans: Sequence[range]):
        self.ranks, self.spans = ranks, list(spans)
        self.held: list[list[Tree]] = [[rank] * len(self.spans) for rank in range(ranks)]
        self.sent = _nothing(ranks)

    def send(self, source: int, dest: int, parts: Sequence[int] | None = None) -> None:
        """Count a message of some parts; None: of all."""
        _add(self.sent, source, dest, tuple(self.spans[part] for part in self._parts(parts)))

    def _parts(self, parts: Sequence[int] | None) -> Sequence[int]:
        return range(len(self.spans)) if parts is None else parts

    def add(self, into: Mapping[int, Sequence[int]], parts: Sequence[int] | None = None) -> None:
        """Add up on each rank of `into` what these ranks hold, one after the other, all at once."""
        former = [list(held) for held in self.held]
        for rank, operands in into.items():
            for part in self._parts(parts):
                tree = former[operands[0]][part]
                for operand in operands[1:]:
                    tree = added(tree, former[operand][part])
                self.held[rank][part] = tree

    def copy(self, source: int, dest: int) -> None:
        """Send the whole vector, which replaces what the other rank holds."""
        self.send(source, dest)
        self.held[dest] = list(self.held[source])

    def known(self, name: str, is_sent_known: bool = True) -> Known:
        """Return what was played."""
        of_part = (tuple(held[part] for held in self.held) for part in range(len(self.spans)))
        spans = ((span.start, span.stop) for span in self.spans)
        kept = [(span, trees) for span, trees in zip(spans, of_part) if span[0] < span[1]]
        return Known(name, merged(kept), self.sent if is_sent_known else None)


# Open MPI


def _open_mpi(ranks: int, count: int) -> Iterator[Known]:
    yield _linear("basic_linear", ranks, count)
    yield _of_steps("recursive_doubling", "recursive_doubling", ranks, count)
    if count >= ranks:
        ring = _of_steps("ring", "ring", ranks, count)
        yield ring
        yield ring._replace(name="segmented_ring")  # with more messages where segments are set
    if count >= _power(ranks, 2):
        yield _open_mpi_rabenseifner(ranks, count)


def _linear(name: str, ranks: int, count: int) -> Known:
    """Rank 0 gets all vectors, adds them from the last rank down, and sends the sum to each."""
    play = Play(ranks, [range(count)])
    for rank in range(1, ranks):
        play.send(rank, 0)
    play.add({0: range(ranks)[::-1]})
    for rank in range(1, ranks):
        play.copy(0, rank)
    return play.known(name)


def _open_mpi_rabenseifner(ranks: int, count: int) -> Known:
    """Halves are exchanged with places at distances 1, 2, 4, ...; of folded pairs the even rank takes part.

    `ompi_coll_base_allreduce_intra_redscat_allgather`: the two ranks of a folded pair add a half each.
    """
    places = _power(ranks, 2)
    extra = ranks - places
    low, high = range(count // 2), range(count // 2, count)
    sent = _nothing(ranks)
    for even in range(0, 2 * extra, 2):
        _add(sent, even, even + 1, (high,))
        _add(sent, even + 1, even, (low,))
        _add(sent, even + 1, even, (high,))
        _add(sent, even, even + 1, (range(count),))
    rank_at = [2 * place if place < extra else place + extra for place in range(places)]
    window = [range(count)] * places
    distance = 1
    while distance < places:
        for place in range(places):
            span, partner = window[place], place ^ distance
            left, right = span[: len(span) // 2], span[len(span) // 2 :]
            mine, given = (left, right) if place < partner else (right, left)
            _add(sent, rank_at[place], rank_at[partner], (given,))
            _add(sent, rank_at[place], rank_at[partner], (mine,))  # on the way back, when its span is whole again
            window[place] = mine
        distance *= 2
    doubling = _of_steps("rabenseifner", "recursive_doubling", ranks, count)  # the same order
    return Known("rabenseifner", doubling.order, sent)


# MPICH


def _mpich(ranks: int, count: int) -> Iterator[Known]:
    doubling = _of_steps("recursive_doubling", "recursive_doubling", ranks, count)
    yield doubling
    if count >= _power(ranks, 2):
        yield doubling._replace(name="reduce_scatter_allgather", sent=None)
    yield doubling._replace(name="k_reduce_scatter_allgather", sent=None)
    yield _mpich_ring(ranks, count)
    for radix in range(2, min(max(ranks, 2), MOST_RADIX) + 1):
        of_radix = "" if radix == 2 else f" k={radix}"
        yield _recursive_multiplying(f"recursive_multiplying{of_radix}", ranks, count, radix)
        for own_is_last in (False, True) if radix > 2 else (False,):
            yield _recexch(f"recexch{of_radix}", ranks, count, radix, own_is_last)
        yield _tree(f"tree{of_radix}", ranks, count, knomial(ranks, radix))
        yield _tree(f"tree kary{of_radix}", ranks, count, kary(ranks, radix))
    if 2 < ranks < MOST_RADIX:  # with any radix above the number of ranks
        yield _recursive_multiplying(f"recursive_multiplying k={ranks + 1}", ranks, count, ranks + 1)


def _mpich_ring(ranks: int, count: int) -> Known:
    """Block b begins at rank b + 1 and ends at rank b; blocks are rounded up, the last may be empty."""
    longest = -(-count // ranks)
    cuts = [min(longest * block, count) for block in range(ranks + 1)]
    return _rotated("ring", ranks, cuts, begin=1)


def _rotated(name: str, ranks: int, cuts: Sequence[int], begin: int) -> Known:
    """Return chains, of which that of block b begins at rank b + `begin`."""
    play = Play(ranks, [range(start, stop) for start, stop in zip(cuts, cuts[1:])])
    for block in range(ranks):
        order = [(block + begin + hop) % ranks for hop in range(ranks)]
        play.add({rank: order for rank in range(ranks)}, [block])
    return play.known(name, is_sent_known=False)


def _recursive_multiplying(name: str, ranks: int, count: int, radix: int) -> Known:
    """Groups of k ranks exchange at distances 1, k, k^2, ...; higher ranks are folded into the first ones."""
    play, places = Play(ranks, [range(count)]), _power(ranks, radix)
    play.add({rank: [*range(rank + places, ranks, places), rank] for rank in range(places)})
    distance = 1
    while distance < places:
        members = {rank: _group(rank, distance, radix) for rank in range(places)}
        play.add(members)
        distance *= radix
    for rank in range(places, ranks):
        play.copy(rank % places, rank)
    return play.known(name, is_sent_known=False)


def _group(place: int, distance: int, radix: int) -> range:
    """Return the places that differ in one digit, that of `distance`."""
    first = place - place // distance % radix * distance
    return range(first, first + radix * distance, distance)


def _recexch(name: str, ranks: int, count: int, radix: int, own_is_last: bool) -> Known:
    """As recursive multiplying, but ranks are folded into a neighbour: k - 1 of k into the last of them."""
    play, places = Play(ranks, [range(count)]), _power(ranks, radix)
    extra = ranks - places
    folded = extra * radix // (radix - 1)
    hosts = {rank: rank + (radix - 1 - rank % radix) for rank in range(folded) if rank % radix != radix - 1}
    hosts = {rank: min(to, folded) if to > folded - 1 else to for rank, to in hosts.items()}
    rank_at = [rank for rank in range(ranks) if rank not in hosts]
    play.add({to: [to, *sorted((rank for rank in hosts if hosts[rank] == to), reverse=True)] for to in rank_at})
    distance = 1
    while distance < places:
        into = {}
        for place, rank in enumerate(rank_at):
            group = [rank_at[other] for other in _group(place, distance, radix)]
            into[rank] = [*(other for other in group if other != rank), rank] if own_is_last else group
        play.add(into)
        distance *= radix
    for rank, to in hosts.items():
        play.copy(to, rank)
    return play.known(name, is_sent_known=False)


Children = list[list[int]]  # of each rank, in the order in which they are added


def _tree(name: str, ranks: int, count: int, children: Children) -> Known:
    """The vectors are added up a tree to rank 0, and the sum goes down again."""
    play = Play(ranks, [range(count)])
    for rank in reversed(range(ranks)):  # children have higher numbers
        play.add({rank: [rank, *children[rank]]})
    for rank in range(1, ranks):
        play.copy(0, rank)
    return play.known(name, is_sent_known=False)


def knomial(ranks: int, radix: int) -> Children:
    """Return MPICH's knomial_1: below rank r of a part follow parts of the largest powers of k, k - 1 of each."""
    children: Children = [[] for _ in range(ranks)]

    def part(first: int, size: int) -> None:
        at, power = first + 1, 1
        while power * radix < size:
            power *= radix
        while at < first + size:
            for _ in range(radix - 1):
                own = min(power, first + size - at)
                if own > 0:
                    children[first].append(at)
                    part(at, own)
                    at += own
            power = max(power // radix, 1)

    part(0, ranks)
    return children


def kary(ranks: int, radix: int) -> Children:
    """Return the tree in which rank r has the children k r + 1 to k r + k."""
    return [
        [child for child in range(radix * rank + 1, radix * rank + radix + 1) if child < ranks] for rank in range(ranks)
    ]


def knomial_by_digits(ranks: int, radix: int = 2) -> Children:
    """Return the tree in which rank r has those children that differ in one digit, lower than any other that is set."""
    return [
        [
            rank + digit * place
            for place in (radix**power for power in range(ranks.bit_length()))
            if rank % (place * radix) == 0
            for digit in range(1, radix)
            if rank + digit * place < ranks
        ]
        for rank in range(ranks)
    ]


def chains(ranks: int, number: int) -> Children:
    """Return chains of consecutive ranks below rank 0, as long as each other, the first ones longer by one."""
    children: Children = [[] for _ in range(ranks)]
    least, more = divmod(ranks - 1, number)
    after = 1
    for chain in range(number):
        own = range(after, after + least + (chain < more))
        for parent, child in zip([0, *own], own):
            children[parent].append(child)
        after = own.stop
    return children


# Intel MPI


def _intel(ranks: int, count: int) -> Iterator[Known]:
    doubling = _of_steps("", "recursive_doubling", ranks, count)._replace(sent=None)
    for name in ("recursive_doubling", "rabenseifner"):
        yield doubling._replace(name=name)
    yield _tree("binomial_gather_scatter", ranks, count, knomial_by_digits(ranks))
    yield _rotated("shumilin_ring", ranks, [0, *[count] * ranks], begin=1)
    cuts = [*(count // ranks * block for block in range(ranks)), count]  # the last block takes the rest
    for name in ("ring", "algorithm 13", "algorithm 14"):
        yield _rotated(name, ranks, cuts, begin=0) if count >= ranks else doubling._replace(name=name)


_OF: Mapping[str, Callable[[int, int], Iterator[Known]]] = {OPEN_MPI: _open_mpi, MPICH: _mpich, INTEL: _intel}


def _power(ranks: int, radix: int) -> int:
    """Return the largest power of the radix up to `ranks`."""
    power = 1
    while power * radix <= ranks:
        power *= radix
    return power
