"""Hierarchical all-reduce of two others, `hierarchical:INNER+OUTER`: one inside the nodes, one between them.

Inside a node, INNER reduces each element to one of the node's ranks, the one that has it finished first. That is half
of an all-reduce (`_half`): only those messages of INNER run that lead there. Then the ranks that own the same elements,
one on each node, all-reduce these by OUTER. At last the half of INNER runs backwards: what was sent as a part comes
back as the sum.

Of `ring` that half is the reduce-scatter, so that all ranks of a node talk to other nodes, each about its own slice; of
`tree` or `recursive_doubling` it is a reduction to one rank, which alone talks to other nodes. For two nodes of two
ranks and hierarchical:ring+recursive_doubling (* = finished):

    round                       rank a        rank b        rank c        rank d
    1  ring, half of it         half 2 to b   half 1 to a   half 2 to d   half 1 to c
    2  recursive doubling       half 1 to c   half 2 to d   half 1 to a   half 2 to b
    3  the half backwards       half 1* to b  half 2* to a  half 1* to d  half 2* to c

Nodes may have any number of ranks. Where the numbers differ, so do the slices: owners of one slice wait for owners of
the slices before, which takes longer. `hierarchical:ring+ring` is `hierarchical_ring`.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from allreduce_bench.algorithms import builtin_of, is_of_library
from allreduce_bench.algorithms._half import half_of, hops_inside
from allreduce_bench.algorithms._mirrored import spans
from allreduce_bench.algorithms.hierarchical_ring import hierarchical_ring
from allreduce_bench.schedule import Ranges, Step, elements
from allreduce_bench.schedule.algorithm import Algorithm, AlgorithmError, Cost, Hops, Topology, algorithm


class Slice(NamedTuple):
    """Elements that the same ranks own, one rank of each node."""

    members: tuple[int, ...]
    owned: Ranges

    def elements_at(self, positions: Ranges) -> Ranges:
        """Return the elements at some positions among the elements of the slice."""
        found, first = [], 0
        for own in self.owned:
            found += [own[max(0, span.start - first) : max(0, span.stop - first)] for span in positions]
            first += len(own)
        return tuple(filter(len, found))


@lru_cache(maxsize=64)
def slices(inner: Algorithm, topology: Topology, count: int, segment: int) -> list[Slice]:
    """Return the slices of the vector, in an order that is the same on all ranks."""
    halves = [half_of(inner, len(node), count, segment) for node in topology.nodes]
    owned = [span for half in {id(half): half for half in halves}.values() for span, _ in half.owned]
    cuts = sorted({edge for span in owned for edge in (span.start, span.stop)})
    pieces = [range(*ends) for ends in pairwise(cuts)]
    numbers: dict[tuple[int, ...], list[int]] = {}
    for number, piece in enumerate(pieces):
        members = tuple(node[half.owner(piece.start)] for node, half in zip(topology.nodes, halves))
        numbers.setdefault(members, []).append(number)
    return [Slice(members, spans(pieces, own)) for members, own in numbers.items()]


def between(outer: Algorithm, rank: int, one: Slice, segment: int) -> Iterator[Step]:
    """Yield the steps of `rank`, a member of the slice, that all-reduce it by OUTER."""
    size, place = len(one.members), one.members.index(rank)
    for step in outer.steps(place, size, Topology(tuple(range(size))), elements(one.owned), segment):
        yield step._replace(
            dest=None if step.dest is None else one.members[step.dest],
            send=one.elements_at(step.send),
            source=None if step.source is None else one.members[step.source],
            recv=one.elements_at(step.recv),
        )


def hops_between(cost: Cost) -> list[Hops]:
    """Return the messages of OUTER, between nodes."""
    hops = cost.hops or [Hops(cost.messages, cost.elements / max(1, cost.messages))]
    return [one._replace(between=True) for one in hops if one.messages]


def compose(inner: Algorithm, outer: Algorithm) -> Algorithm:
    """Return the composition of two algorithms."""
    name = f"hierarchical:{inner.name}+{outer.name}"

    def cost(size: int, topology: Topology, count: int, segment: int) -> Cost:
        """Return a bound: the slowest node inside; between nodes the longest slice, or all where they share ranks."""
        local_sizes, nodes = {len(node) for node in topology.nodes}, len(topology.nodes)
        inside = [hops_inside(half_of(inner, local, count, segment)) for local in local_sizes]
        messages = max(2 * len(hops) for hops in inside)
        moved = max(sum(hop.messages * hop.elements for hop in hops) for hops in inside)
        lengths = [elements(one.owned) for one in slices(inner, topology, count, segment)]
        if len(local_sizes) == 1:
            lengths = [max(lengths, default=0)]
        across = [outer.cost(nodes, Topology(tuple(range(nodes))), length, segment) for length in lengths]
        hops = [Hops(messages, moved / messages)] if messages else []
        hops += [hop for one in across for hop in hops_between(one)]
        return Cost.of(hops, reduced=round(moved / 2) + sum(one.reduced for one in across))

    def unfit(size: int, topology: Topology) -> str | None:
        """Return in words what INNER lacks on some node, or OUTER between the nodes."""
        local_sizes, nodes = {len(node) for node in topology.nodes} - {1}, len(topology.nodes)
        inside = [inner.unmet(local, Topology.one_node(local)) for local in sorted(local_sizes)]
        reasons = [f"{name}: on a node, {reason}" for reason in inside if reason]
        if nodes > 1 and any(step.original for step in outer.steps(0, nodes, Topology.one_node(nodes), nodes, nodes)):
            reasons.append(f"{name}: {outer.name} sends the input of a rank, where between nodes there is a node's sum")
        if nodes > 1 and (reason := outer.unmet(nodes, Topology(tuple(range(nodes))))):
            reasons.append(f"{name}: of the nodes, {reason}")
        return next(iter(reasons), None)

    @algorithm(
        cost=cost,
        exact=False,
        formula=f"half of {inner.name} inside the nodes, {outer.name} between them, the half backwards",
        segmented=inner.segmented or outer.segmented,
        why=(
            f"The rounds of {inner.name} that reduce, inside the nodes; the rounds of {outer.name} between nodes; the "
            "first rounds backwards."
        ),
        best="many nodes whose inside is faster than the network between them.",
        source="the composition of HiCCL (Hidayetoglu et al., arXiv 2408.05962), BlueConnect and Open MPI's han.",
    )
    def hierarchical(rank: int, size: int, topology: Topology, count: int, segment: int) -> Iterator[Step]:
        """Ranks of a node reduce to owners of slices, those reduce between nodes, and the slices come back."""
        node = topology.nodes[topology.node_of[rank]]
        half, local = half_of(inner, len(node), count, segment), node.index(rank)
        yield from half.steps(node, local)
        if len(topology.nodes) > 1:
            for one in slices(inner, topology, count, segment):
                if rank in one.members:
                    yield from between(outer, rank, one, segment)
        yield from half.steps(node, local, backwards=True)

    needs = {f"{one.name} needs: {', '.join(sorted(one.needs))}" for one in (inner, outer) if one.needs}
    return hierarchical._replace(name=name, needs=frozenset(needs), unfit=unfit)


def named(parameters: str) -> Algorithm:
    """Return `hierarchical:INNER+OUTER`. Raises AlgorithmError."""
    words = parameters.split("+")
    if len(words) != 2 or not all(words) or any(word.startswith("hierarchical:") for word in words):
        raise AlgorithmError(
            f"hierarchical:{parameters}: expected hierarchical:INNER+OUTER with two algorithms, e.g. "
            "hierarchical:ring+two_tree; 'allreduce-bench list' shows all"
        )
    if words == ["ring", "ring"]:
        return hierarchical_ring._replace(name="hierarchical:ring+ring")
    if foreign := next((word for word in words if is_of_library(word) or word.endswith(".py")), None):
        raise AlgorithmError(
            f"hierarchical:{parameters}: expected two algorithms that 'allreduce-bench list' shows with their cost; "
            f"found '{foreign}'"
        )
    inner, outer = map(builtin_of, words)
    return compose(inner, outer)
