"""Rounds of an algorithm as values, the shape that its messages make, and the words and colours of blocks.

A block is a part of the vector that every message treats as a whole; its content is the set of ranks whose
contributions are summed up in it. Pages and pictures read a `Drawing` and know no schedule.
"""

from collections import Counter
from collections.abc import Sequence
from colorsys import hls_to_rgb
from dataclasses import dataclass
from functools import cache
from math import lcm
from typing import NamedTuple

from ..algorithms import find
from ..schedule import Parts, Schedule, contribution
from ..schedule.algorithm import Algorithm, AlgorithmError, Topology
from ..schedule.draw import Sent, messages_of_rounds
from ..schedule.proofs import Case, proof_of
from ..schedule.verify import Proof
from ..web.colours import luminance

LUMINANCE = 0.165  # contrast 4.8 with white letters, at least 3 with white and near-black paper
SATURATION = 0.62


@cache
def colour_of(index: int, of: int) -> str:
    """Return the colour of block `index` of `of`, e.g. `#1a6fb0`; white letters on it have a contrast above 4.5.

    The hues go once round the circle. All colours have the same relative luminance (WCAG 2.2), so that they stand out
    alike on light and on dark paper.
    """
    hue = (0.58 + index / max(of, 1)) % 1.0
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        is_dark = luminance(_hex(hue, middle)) < LUMINANCE
        low, high = (middle, high) if is_dark else (low, middle)
    return _hex(hue, low)


def _hex(hue: float, lightness: float) -> str:
    return "#" + "".join(f"{round(channel * 255):02x}" for channel in hls_to_rgb(hue, lightness, SATURATION))


# Limits of a picture
MOST_RANKS = 32  # more do not fit side by side
MOST_BLOCKS = 64
MOST_MESSAGES = 4_000  # a page of so many has 1.5 MB

# Shapes of an algorithm, inferred from its messages
SHAPES = ("ring", "tree", "two_trees", "star", "hypercube", "nodes")

Edges = frozenset[tuple[int, int]]  # pairs of ranks that exchange messages, the lower rank first
Held = tuple[tuple[frozenset[int], ...], ...]  # held[rank][block]: the ranks whose contributions it holds


@dataclass(frozen=True)
class Subject:
    """Proved schedules of one algorithm."""

    algorithm: Algorithm
    topology: Topology
    count: int  # elements
    segment: int  # elements
    schedules: Sequence[Schedule]
    proof: Proof


class Message(NamedTuple):
    """Message: the blocks sent (numbers from 0), and whose contributions each of them carries."""

    source: int
    dest: int
    blocks: tuple[int, ...]
    content: tuple[frozenset[int], ...]  # of each block
    reduce: bool  # the receiver adds what arrives; otherwise it overwrites its own


class Round(NamedTuple):
    """Messages that travel at the same time, and what every rank holds afterwards."""

    messages: tuple[Message, ...]
    held: Held


class Drawing(NamedTuple):
    """Rounds of one algorithm."""

    algorithm: str
    ranks: int
    blocks: int
    nodes: tuple[tuple[int, ...], ...]  # the ranks of each node
    start: Held
    rounds: tuple[Round, ...]
    shape: str  # one of SHAPES


def subject(
    name: str, ranks: int, count: int | None = None, segment: int | None = None, ranks_per_node: int | None = None
) -> Subject:
    """Return the proved schedules of algorithm `name` (or of the only one in a user's .py file) on `ranks` ranks.

    By default the count cuts into equal blocks, the segment is the whole vector, and nodes are as `_usual_topology`
    says. Raises AlgorithmError if there is no such algorithm, it cannot run so, or a picture would be too large;
    Refusal if it is no all-reduce.
    """
    refuse_many_ranks(ranks)
    chosen = list(find([name]).values())
    if len(chosen) > 1:
        raise AlgorithmError(f"{name}: holds {len(chosen)} algorithms; a picture shows one, so keep one in the file")
    (algorithm,) = chosen
    count = even_count(ranks) if count is None else count
    if count < 1:
        raise AlgorithmError(f"--count {count}: a picture needs an element")
    segment = segment or count
    topology = Topology.filled(ranks, ranks_per_node) if ranks_per_node else _usual_topology(algorithm, ranks)
    if reason := algorithm.unmet(ranks, topology):
        raise AlgorithmError(reason)
    schedules = algorithm.schedules(ranks, topology, count, segment)
    messages = sum(bool(step.send) for steps in schedules for step in steps)
    if messages > MOST_MESSAGES:
        raise AlgorithmError(
            f"{algorithm.name}: {messages:,} messages; a picture shows at most {MOST_MESSAGES:,}; use fewer ranks or "
            "a longer --segment, or leave out -o for the text"
        )
    proof = proof_of(algorithm, Case(ranks, topology, count, segment), schedules)
    return Subject(algorithm, topology, count, segment, schedules, proof)


def refuse_many_ranks(ranks: int) -> None:
    """Raise AlgorithmError if a picture cannot show so many ranks."""
    if ranks > MOST_RANKS:
        raise AlgorithmError(
            f"-n {ranks}: a picture shows at most {MOST_RANKS} ranks; leave out -o, or name a .txt file, for the text"
        )


def even_count(ranks: int) -> int:
    """Return a count of elements that cuts into equal blocks in every algorithm, and into equal segments of 1/32."""
    return lcm(ranks, 2 * 32)


def _usual_topology(algorithm: Algorithm, ranks: int) -> Topology:
    """Return one node, or nodes as square as possible if the algorithm's schedules depend on nodes."""
    count, one_node = even_count(ranks), Topology.one_node(ranks)
    divisors = [number for number in range(2, ranks) if ranks % number == 0 and number * number <= ranks]
    if not divisors:
        return one_node
    several = Topology.filled(ranks, ranks // divisors[-1])
    if algorithm.unmet(ranks, one_node):
        return several
    on_one, on_several = (algorithm.schedules(ranks, topology, count, count) for topology in (one_node, several))
    return several if on_one != on_several else one_node


def drawing(
    algorithm: str,
    ranks: int,
    count: int | None = None,
    segment: int | None = None,
    ranks_per_node: int | None = None,
) -> Drawing:
    """Return the rounds of `algorithm` (a name, or the path of a user's .py file) on `ranks` ranks, at most MOST_RANKS.

    `count` and `segment` are elements. By default all blocks are equal, a segment is the whole vector, and an algorithm
    that heeds nodes gets some. Raises AlgorithmError, and Refusal if the schedules are no all-reduce.
    """
    return drawing_of(subject(algorithm, ranks, count, segment, ranks_per_node))


def drawing_of(chosen: Subject) -> Drawing:
    """Return the rounds of proved schedules. Raises AlgorithmError if there are more blocks than a picture shows."""
    schedules, ranks = chosen.schedules, len(chosen.schedules)
    parts = Parts(schedules, chosen.count)
    if len(parts) > MOST_BLOCKS:
        raise AlgorithmError(
            f"{chosen.algorithm.name}: {len(parts)} blocks; a picture shows at most {MOST_BLOCKS}; use a longer "
            "--segment, or leave out -o for the text"
        )
    start: Held = tuple((frozenset({rank}),) * len(parts) for rank in range(ranks))
    rounds: list[Round] = []
    for sent_messages in messages_of_rounds(schedules):
        held = rounds[-1].held if rounds else start
        messages = tuple(_message(sent, chosen, parts, start, held) for sent in sent_messages)
        rounds.append(Round(messages, _next_held(held, messages)))
    shape = shape_of(ranks, chosen.topology.nodes, [round_.messages for round_ in rounds])
    return Drawing(chosen.algorithm.name, ranks, len(parts), chosen.topology.nodes, start, tuple(rounds), shape)


def _message(sent: Sent, chosen: Subject, parts: Parts, start: Held, held: Held) -> Message:
    step = chosen.schedules[sent.source][sent.source_step]
    own = (start if step.original else held)[sent.source]
    blocks = tuple(block for span in step.send for block in range(*parts.of[span]))
    reduce = chosen.schedules[sent.dest][sent.dest_step].reduce
    return Message(sent.source, sent.dest, blocks, tuple(own[block] for block in blocks), reduce)


def _next_held(held: Held, messages: Sequence[Message]) -> Held:
    after = [list(own) for own in held]
    for message in messages:
        for block, content in zip(message.blocks, message.content):
            before = after[message.dest][block]
            after[message.dest][block] = before | content if message.reduce else content
    return tuple(map(tuple, after))


def shape_of(ranks: int, nodes: Sequence[Sequence[int]], rounds: Sequence[Sequence[Message]]) -> str:
    """Return one of SHAPES; messages between neighbours of a circle make a `ring`, in either direction."""
    if len(nodes) > 1:
        return "nodes"
    edges = _edges([message for messages in rounds for message in messages])
    if ranks < 3 or all((second - first) % ranks in (1, ranks - 1) for first, second in edges):
        return "ring"
    if _exchanged_share(rounds) > 1 / 2:  # the others fold ranks beyond a power of two
        return "hypercube"
    trees = trees_of(ranks, rounds)
    if len(trees) == 2:
        return "two_trees"
    if len(trees) == 1:
        degrees = Counter(rank for edge in trees[0] for rank in edge)
        return "star" if ranks > 3 and max(degrees.values()) == ranks - 1 else "tree"
    return "ring"


def trees_of(ranks: int, rounds: Sequence[Sequence[Message]]) -> list[Edges]:
    """Return the distinct trees along which blocks travel, in block order; empty if some block has no tree."""
    by_block: dict[int, list[Message]] = {}
    for messages in rounds:
        for message in messages:
            for block in message.blocks:
                by_block.setdefault(block, []).append(message)
    trees = list(dict.fromkeys(_edges(by_block[block]) for block in sorted(by_block)))
    return trees if all(_is_tree(edges, ranks) for edges in trees) else []


def parents_of(edges: Edges, ranks: int, root: int) -> list[int | None]:
    """Return the parent of each rank in the tree of these edges; None for the root."""
    parents: list[int | None] = [None] * ranks
    reached = [root]
    for rank in reached:  # grows while it is walked
        for edge in sorted(edges):
            if rank in edge:
                child = edge[0] if edge[1] == rank else edge[1]
                if child != parents[rank]:
                    parents[child] = rank
                    reached.append(child)
    return parents


def _edges(messages: Sequence[Message]) -> Edges:
    return frozenset((min(pair), max(pair)) for pair in ((message.source, message.dest) for message in messages))


def _is_tree(edges: Edges, ranks: int) -> bool:
    """Return whether the edges connect all ranks without a cycle."""
    reached = {0}
    for _ in range(ranks):
        reached |= {rank for edge in edges if reached & {*edge} for rank in edge}
    return len(edges) == ranks - 1 and len(reached) == ranks


def _exchanged_share(rounds: Sequence[Sequence[Message]]) -> float:
    """Return the share of messages that cross one in the opposite direction in their round."""
    exchanged = 0
    for messages in rounds:
        pairs = {(message.source, message.dest) for message in messages}
        exchanged += sum((dest, source) in pairs for source, dest in pairs)
    return exchanged / sum(map(len, rounds))


def letters(ranks: int) -> tuple[str, ...]:
    """Return the letters of the ranks' contributions, as in the text: a, b, …, z, and from rank 26 up `26.`."""
    return tuple(contribution(rank, 0).removesuffix("1") for rank in range(ranks))


def word(content: frozenset[int], block: int, names: Sequence[str]) -> str:
    """Return the content of a block (number from 0) as text: `d4+a4`, or `S4` for the sum over all of `names`.

    Ranks ascend, except that a consecutive run round the ring starts at its first rank: `d4+a4` of four ranks.
    """
    ranks = len(names)
    if len(content) == ranks > 1:
        return f"S{block + 1}"
    begins = [rank for rank in sorted(content) if (rank - 1) % ranks not in content]
    first = begins[0] if len(begins) == 1 else 0
    return "+".join(f"{names[rank]}{block + 1}" for rank in sorted(content, key=lambda rank: (rank - first) % ranks))


def word_forms(content: frozenset[int], block: int, names: Sequence[str]) -> list[str]:
    """Return the word of a block's content, and its short form: `d4+a4+b4`, then `d4+…+b4`."""
    whole = word(content, block, names)
    terms = whole.split("+")
    return [whole, f"{terms[0]}+…+{terms[-1]}"] if len(terms) > 2 else [whole]
