"""What ran, by the evidence: those all-reduces of the library whose order and messages are what was seen.

Nothing else is a reason: one that fits is named, several stay open, and where none fits the answer is unknown, with
what the order looks like.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from ..machine import OPEN_MPI
from ..runs.identified import NO, OPEN, YES
from .known import ANY_TREE, IN_NODE_FIRST, ON_ONE_NODE, Known, known, library_of
from .look import Traffic
from .matching import fits, fits_reduce_and_broadcast, han_names, is_in_node_first
from .order import Order, Tree, chain_of, depth, formula, leaves

LONGEST_FORMULA = 8  # ranks
BETWEEN = re.compile(r"(han: [^,]+, )(.+) between")


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
            return "none"
        return "order + bytes" if self.by_messages else "order"

    @property
    def words(self) -> str:
        """Return `ring`, `ring or segmented_ring: bytes not visible`, `unknown: …`."""
        if not self.names:
            return f"unknown: {self.order}"
        if len(self.names) == 1:
            return self.names[0]
        why = "alike in order and bytes" if self.by_messages else "bytes not visible"
        return f"{either(self.names)}: {why}"


def either(names: Sequence[str]) -> str:
    """Return `a, b or c`; of what han did, where it differs only between nodes, `han: …, a, b or c between`."""
    found = {name: BETWEEN.fullmatch(name) for name in names}
    between: dict[str, list[str]] = {}
    for match in filter(None, found.values()):
        between.setdefault(match[1], []).append(match[2])
    of_han = [f"{begin}{_listed(parts)} between" for begin, parts in between.items()]
    return _listed([*(name for name, match in found.items() if not match), *of_han])


def _listed(words: Sequence[str]) -> str:
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def is_asked(found: Answer, name: str) -> str:
    """Return whether it is the algorithm that was asked for: YES, NO, or OPEN, where others fit or none is known."""
    fits = [one == name or one.startswith((f"{name} k", f"{name}:")) for one in found.names]  # `tree k=3`, `tree kary`
    if fits and all(fits):
        return YES
    return OPEN if any(fits) or not found.names else NO


def answer(library: str, hosts: Sequence[str], itemsize: int, order: Order, counted: Traffic | None) -> Answer:
    """Return what ran, by the order of additions and, where they were counted, by the messages."""
    nodes = nodes_of(hosts)
    words = order_words(order, nodes)
    name, ranks = library_of(library), len(hosts)
    if not order or name is None or any(tree is None for span in order for tree in span.trees):
        return Answer((), bool(order), counted is not None, words)
    fitting = [one.name for one in _known(name, ranks, order[-1].stop) if fits(one, order, counted, itemsize)]
    in_node_first = [] if counted and fitting else _in_node_first(name, order, nodes, counted, itemsize)
    if fits_reduce_and_broadcast(order, counted, itemsize, bool(fitting or in_node_first)):
        fitting += [*ANY_TREE[name], *(ON_ONE_NODE.get(name, ()) if len(nodes) == 1 else ())]
    return Answer(tuple(dict.fromkeys([*fitting, *in_node_first])), True, counted is not None, words)


@cache
def _known(library: str, ranks: int, count: int) -> list[Known]:
    return known(library, ranks, count)


def _in_node_first(
    library: str, order: Order, nodes: Sequence[Sequence[int]], counted: Traffic | None, itemsize: int
) -> Sequence[str]:
    """Return those that add up in nodes first, if that was seen."""
    if library == OPEN_MPI:
        return han_names(order, nodes, counted, itemsize)
    return IN_NODE_FIRST[library] if is_in_node_first(order, nodes) else ()


def nodes_of(hosts: Sequence[str]) -> list[list[int]]:
    """Return the ranks of each node."""
    return [[rank for rank, other in enumerate(hosts) if other == one] for one in dict.fromkeys(hosts)]


# Orders in words


def order_words(order: Order, nodes: Sequence[Sequence[int]]) -> str:
    """Return what an order looks like: `chain 0 1 2 3`, `4 blocks, chains`, `((0+1)+(2+3))`, `balanced, depth 5`."""
    if not order:
        return "too many blocks to tell"
    trees = [span.trees[0] for span in order]
    if any(tree is None for span in order for tree in span.trees):
        return "sums of no tree, as of a wide accumulator, or in the network"
    by_rank = "" if all(len(set(span.trees)) == 1 for span in order) else ", not the same on all ranks"
    kinds = list(dict.fromkeys(_tree_words(tree) for tree in trees))
    if len(order) == 1:
        return kinds[0] + by_rank
    are_chains = all(tree is not None and chain_of(tree) is not None for tree in trees)
    what = "rotated chains" if are_chains else kinds[0] if len(kinds) == 1 else "different trees"
    return f"{len(order)} blocks, {what}" + by_rank


def _tree_words(tree: Tree | None) -> str:
    if tree is None:
        return "sums of no tree, as of a wide accumulator, or in the network"
    ranks = leaves(tree)
    chain = chain_of(tree)
    if chain and len(chain) > 2:
        return f"chain {' '.join(map(str, chain))}"
    if len(ranks) <= LONGEST_FORMULA:
        return formula(tree)
    return f"tree of {len(ranks)} ranks, depth {depth(tree)}"
