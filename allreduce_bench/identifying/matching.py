"""What fits: order and messages held against a known all-reduce, a reduction and a broadcast, and what han composes.

Open MPI's han reduces in each node to its first rank, adds up the sums of the nodes, and broadcasts in each node
(ompi/mca/coll/han/coll_han_allreduce.c). Between nodes it reduces and broadcasts, in segments, or by its choice
`simple` calls the all-reduce of the component below, of which a setting of `tuned` then decides. What is between nodes
shows in the tree of nodes, and in what their first ranks send each other.
"""

from collections.abc import Iterator, Sequence

from ..machine import OPEN_MPI
from .known import Children, Known, chains, kary, knomial_by_digits, known
from .look import Table, Traffic
from .order import Order, Tree, holds_nodes, leaves, merged

MOST_RADIX = 8  # of trees by which Open MPI broadcasts
SHARED_MEMORY, REDUCE_BCAST = "shared memory", "reduce + bcast"


def fits(one: Known, order: Order, counted: Traffic | None, itemsize: int) -> bool:
    """Return whether order and messages of a known all-reduce are those seen.

    Of segments there may be more messages of as many bytes.
    """
    if one.order != order:
        return False
    if counted is None or one.sent is None:
        return True
    size_bytes = [[number * itemsize for number in row] for row in one.sent.elements]
    same = one.sent.messages == counted.messages
    more = one.name == "segmented_ring" and all(
        most >= least for row, other in zip(counted.messages, one.sent.messages) for most, least in zip(row, other)
    )
    return size_bytes == counted.size_bytes and (same or more)


# A reduction to rank 0 and a broadcast


def fits_reduce_and_broadcast(order: Order, counted: Traffic | None, itemsize: int, fits_another: bool) -> bool:
    """Return whether a reduction and a broadcast fit: all elements are added alike, on all ranks, and messages fit.

    Messages of whole vectors go up a tree and down another; of parts, by whatever way, only the bytes are known, which
    fit where no other all-reduce does. Without those of the broadcast, by any of the trees that Open MPI has, each rank
    but rank 0 sends one vector.
    """
    if len(order) > 1 or len(set(order[0].trees)) > 1:
        return False
    if counted is None:
        return True
    size_bytes, ranks = order[-1].stop * itemsize, len(counted.size_bytes)
    if not any(number % size_bytes for row in counted.size_bytes for number in row):
        vectors = [[number // size_bytes for number in row] for row in counted.size_bytes]
        if any(_reduces(order[0].trees[0], _less(vectors, children)) for children in _broadcasts(ranks)):
            return True
    return not fits_another and counted.total >= 2 * (ranks - 1) * size_bytes


def _broadcasts(ranks: int) -> Iterator[Children]:
    for radix in range(2, min(max(ranks, 2), MOST_RADIX) + 1):
        yield knomial_by_digits(ranks, radix)
        yield kary(ranks, radix)
    for number in range(1, ranks):  # as many chains as ranks: each gets the vector from rank 0
        yield chains(ranks, number)


def _less(vectors: Table, children: Children) -> Table:
    return [
        [number - (dest in children[source]) for dest, number in enumerate(row)] for source, row in enumerate(vectors)
    ]


def _reduces(tree: Tree | None, vectors: Table) -> bool:
    """Return whether each rank but rank 0 sends one vector, and rank 0 gets one from each part that it adds."""
    if any(number < 0 for row in vectors for number in row) or [sum(row) for row in vectors[1:]] != [1] * (
        len(vectors) - 1
    ):
        return False
    while isinstance(tree, tuple):
        if not all(any(vectors[rank][0] for rank in leaves(part)) for part in tree[1:]):
            return False
        tree = tree[0]
    return not any(vectors[0])


# In node first


def is_in_node_first(order: Order, nodes: Sequence[Sequence[int]]) -> bool:
    """Return whether the ranks of each of several nodes are added up before nodes are."""
    if len(nodes) < 2 or max(map(len, nodes)) < 2:
        return False
    trees = {tree for span in order for tree in span.trees if tree is not None}
    return all(holds_nodes(tree, nodes) for tree in trees)


def han_names(order: Order, nodes: Sequence[Sequence[int]], counted: Traffic | None, itemsize: int) -> list[str]:
    """Return what han can have done, as `han: reduce + bcast in node, ring between`; none: han was it not."""
    if not is_in_node_first(order, nodes):
        return []
    above = _above(order, nodes)
    if counted is None:
        return [f"han: in node first, {name} between" for name in _names_between_nodes(above, None, itemsize)]
    first = [node[0] for node in nodes]
    within = _within(order, nodes, counted, itemsize)
    between = counted.among(first)
    if not within or between.total + sum(counted.among(node).total for node in nodes) != counted.total:
        return []
    return [f"han: {within} in node, {name} between" for name in _names_between_nodes(above, between, itemsize)]


def _above(order: Order, nodes: Sequence[Sequence[int]]) -> Order:
    """Return the order in which nodes are added up."""
    number_of = {frozenset(node): number for number, node in enumerate(nodes)}

    def of_nodes(tree: Tree) -> Tree:
        node = number_of.get(frozenset(leaves(tree)))
        return tuple(map(of_nodes, tree)) if node is None and isinstance(tree, tuple) else node or 0

    first = [node[0] for node in nodes]
    of_first = (((span.start, span.stop), [span.trees[rank] for rank in first]) for span in order)
    return merged((span, tuple(None if tree is None else of_nodes(tree) for tree in trees)) for span, trees in of_first)


def _within(order: Order, nodes: Sequence[Sequence[int]], counted: Traffic, itemsize: int) -> str:
    """Return what is done in nodes; empty: not what han does."""
    size_bytes, sent = order[-1].stop * itemsize, [counted.among(node).total for node in nodes]
    if not any(sent):
        return SHARED_MEMORY
    enough = all(total >= 2 * (len(node) - 1) * size_bytes for node, total in zip(nodes, sent))
    return REDUCE_BCAST if enough else ""


def _names_between_nodes(above: Order, counted: Traffic | None, itemsize: int) -> list[str]:
    """Return the names of what fits between nodes."""
    ranks = len(above[0].trees)
    names = [one.name for one in known(OPEN_MPI, ranks, above[-1].stop) if fits(one, above, counted, itemsize)]
    return names + [REDUCE_BCAST] * fits_reduce_and_broadcast(above, counted, itemsize, bool(names))
