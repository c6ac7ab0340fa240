"""What ran, by the evidence: those all-reduces of the library whose order and messages are what was seen.

Nothing else is a reason: one that fits is named, several stay open, and where none fits the answer is unknown, with
what the order looks like.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from ..message import say
from ..runs.identified import NO, OPEN, YES
from .known import ANY_TREE, IN_NODE_FIRST, Known, Table, known, library_of
from .order import Order, Tree, chain_of, depth, formula, holds_nodes, leaves

LONGEST_FORMULA = 8  # ranks


class Bytes(NamedTuple):
    """Messages and bytes of one call, from each rank to each."""

    messages: Table
    nbytes: Table


class Answer(NamedTuple):
    """What ran at one size."""

    names: tuple[str, ...]  # that fit; one: it ran; several: open; none: unknown
    by_order: bool  # whether an order was seen
    by_messages: bool  # whether messages were counted
    order: str  # the order of additions, in words

    @property
    def evidence(self) -> str:
        """Return what it rests on, in words."""
        if not self.by_order:
            return say("identifying.by_nothing")
        return say("identifying.by_order_and_bytes" if self.by_messages else "identifying.by_order")

    @property
    def words(self) -> str:
        """Return `ring`, `ring or segmented_ring: bytes not visible`, `unknown: …`."""
        if not self.names:
            return say("identifying.unknown_order", order=self.order)
        if len(self.names) == 1:
            return self.names[0]
        why = "identifying.open_alike" if self.by_messages else "identifying.open_no_bytes"
        return say(why, names=" or ".join([", ".join(self.names[:-1]), self.names[-1]]))


def is_asked(found: Answer, name: str) -> str:
    """Return whether it is the algorithm that was asked for: YES, NO, or OPEN, where others fit or none is known."""
    fits = [one == name or one.startswith((f"{name} k", f"{name}:")) for one in found.names]  # `tree k=3`, `tree kary`
    if fits and all(fits):
        return YES
    return OPEN if any(fits) or not found.names else NO


def answer(library: str, hosts: Sequence[str], itemsize: int, order: Order, counted: Bytes | None) -> Answer:
    """Return what ran, by the order of additions and, where they were counted, by the messages."""
    nodes = nodes_of(hosts)
    words = order_words(order, nodes)
    name, ranks = library_of(library), len(hosts)
    if not order or name is None or any(tree is None for span in order for tree in span.trees):
        return Answer((), bool(order), counted is not None, words)
    exact = [one.name for one in _known(name, ranks, order[-1].stop) if _fits(one, order, counted, itemsize)]
    fitting = list(exact)
    if len(order) == 1 and len(set(order[0].trees)) == 1 and _may_be_any(order, counted, itemsize):
        fitting += ANY_TREE[name]
    if _is_in_node_first(order, nodes) and not (counted and exact):
        fitting.append(IN_NODE_FIRST[name])
    return Answer(tuple(dict.fromkeys(fitting)), True, counted is not None, words)


@cache
def _known(library: str, ranks: int, count: int) -> list[Known]:
    return known(library, ranks, count)


def _fits(one: Known, order: Order, counted: Bytes | None, itemsize: int) -> bool:
    """Return whether order and messages of a known all-reduce are those seen.

    Of segments there may be more messages of as many bytes.
    """
    if one.order != order:
        return False
    if counted is None or one.sent is None:
        return True
    nbytes = [[number * itemsize for number in row] for row in one.sent.elements]
    same = one.sent.messages == counted.messages
    more = one.name == "segmented_ring" and all(
        most >= least for row, other in zip(counted.messages, one.sent.messages) for most, least in zip(row, other)
    )
    return nbytes == counted.nbytes and (same or more)


def _may_be_any(order: Order, counted: Bytes | None, itemsize: int) -> bool:
    """Return whether a reduction to rank 0 and a broadcast can have sent these messages.

    Each sends the whole vector over p - 1 links, and rank 0 gets a message from each part that it adds.
    """
    if counted is None:
        return True
    nbytes, tree = order[-1].stop * itemsize, order[0].trees[0]
    links = [number for row in counted.nbytes for number in row]
    if sum(links) != 2 * (len(counted.nbytes) - 1) * nbytes or any(number % nbytes for number in links):
        return False
    while isinstance(tree, tuple):
        if not all(any(counted.messages[rank][0] for rank in leaves(part)) for part in tree[1:]):
            return False
        tree = tree[0]
    return True


def _is_in_node_first(order: Order, nodes: Sequence[Sequence[int]]) -> bool:
    """Return whether the ranks of each of several nodes are added up before nodes are."""
    if len(nodes) < 2 or max(map(len, nodes)) < 2:
        return False
    trees = {tree for span in order for tree in span.trees if tree is not None}
    return all(holds_nodes(tree, nodes) for tree in trees)


def nodes_of(hosts: Sequence[str]) -> list[list[int]]:
    """Return the ranks of each node."""
    return [[rank for rank, other in enumerate(hosts) if other == one] for one in dict.fromkeys(hosts)]


# Orders in words


def order_words(order: Order, nodes: Sequence[Sequence[int]]) -> str:
    """Return what an order looks like: `chain 0 1 2 3`, `4 blocks, chains`, `((0+1)+(2+3))`, `balanced, depth 5`."""
    if not order:
        return say("identifying.order_not_kept")
    trees = [span.trees[0] for span in order]
    if any(tree is None for span in order for tree in span.trees):
        return say("identifying.order_no_tree")
    by_rank = "" if all(len(set(span.trees)) == 1 for span in order) else say("identifying.order_by_rank")
    kinds = list(dict.fromkeys(_tree_words(tree) for tree in trees))
    if len(order) == 1:
        return kinds[0] + by_rank
    are_chains = all(tree is not None and chain_of(tree) is not None for tree in trees)
    what = say("identifying.chains") if are_chains else kinds[0] if len(kinds) == 1 else say("identifying.trees")
    return say("identifying.blocks", blocks=len(order), what=what) + by_rank


def _tree_words(tree: Tree | None) -> str:
    if tree is None:
        return say("identifying.order_no_tree")
    ranks = leaves(tree)
    chain = chain_of(tree)
    if chain and len(chain) > 2:
        return say("identifying.chain", ranks=" ".join(map(str, chain)))
    if len(ranks) <= LONGEST_FORMULA:
        return formula(tree)
    return say("identifying.depth", depth=depth(tree), ranks=len(ranks))
