"""The rounds of an algorithm as values: who sends which blocks to whom, and what every rank then holds.

A block is a part of the vector that every message treats as a whole; its content is the set of ranks whose
contributions are summed up in it. What draws (a page, a picture, a text) reads a `Drawing` and knows no schedule.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ..schedule import Parts, contribution
from ..schedule.algorithm import AlgorithmError
from ..schedule.rounds import Sent, messages_of_rounds
from .shape import shape_of
from .subject import MOST_BLOCKS, MOST_RANKS, Subject, subject

__all__ = ["MOST_RANKS", "Drawing", "Held", "Message", "Round", "drawing", "drawing_of", "letters", "word"]

Held = tuple[tuple[frozenset[int], ...], ...]  # held[rank][block]: the ranks whose contributions it holds


class Message(NamedTuple):
    """One message: the blocks that travel (numbers from 0), and whose contributions each of them carries."""

    source: int
    dest: int
    blocks: tuple[int, ...]
    content: tuple[frozenset[int], ...]  # of each block
    reduce: bool  # the receiver adds what arrives; otherwise it keeps it in place of its own


class Round(NamedTuple):
    """The messages that travel at the same time, and what every rank holds afterwards."""

    messages: tuple[Message, ...]
    held: Held


class Drawing(NamedTuple):
    """All rounds of one algorithm."""

    algorithm: str
    ranks: int
    blocks: int
    nodes: tuple[tuple[int, ...], ...]  # the ranks of each node
    start: Held
    rounds: tuple[Round, ...]
    shape: str  # one of shape.SHAPES


def drawing(
    algorithm: str,
    ranks: int,
    count: int | None = None,
    segment: int | None = None,
    ranks_per_node: int | None = None,
) -> Drawing:
    """The rounds of `algorithm` (a name, or the path of a user's .py file) on `ranks` ranks, at most MOST_RANKS.

    `count` and `segment` are elements. By default all blocks are equal, a segment is the whole vector, and an algorithm
    that heeds nodes gets some. Raises AlgorithmError, and Refusal where the schedules are no all-reduce.
    """
    return drawing_of(subject(algorithm, ranks, count, segment, ranks_per_node))


def drawing_of(chosen: Subject) -> Drawing:
    """The rounds of proved schedules. Raises AlgorithmError where there are more blocks than a picture shows."""
    schedules, ranks = chosen.schedules, len(chosen.schedules)
    parts = Parts(schedules, chosen.count)
    if len(parts) > MOST_BLOCKS:
        raise AlgorithmError(
            f"{chosen.algorithm.name}: {len(parts)} blocks; a picture shows at most {MOST_BLOCKS}; "
            "use a longer --segment, or leave out -o for the text"
        )
    start: Held = tuple((frozenset({rank}),) * len(parts) for rank in range(ranks))
    rounds: list[Round] = []
    for sent_messages in messages_of_rounds(schedules):
        held = rounds[-1].held if rounds else start
        messages = tuple(_message(sent, chosen, parts, start, held) for sent in sent_messages)
        rounds.append(Round(messages, _held_after(held, messages)))
    shape = shape_of(ranks, chosen.topology.nodes, [round_.messages for round_ in rounds])
    return Drawing(chosen.algorithm.name, ranks, len(parts), chosen.topology.nodes, start, tuple(rounds), shape)


def _message(sent: Sent, chosen: Subject, parts: Parts, start: Held, held: Held) -> Message:
    step = chosen.schedules[sent.source][sent.source_step]
    own = (start if step.original else held)[sent.source]
    blocks = tuple(block for span in step.send for block in range(*parts.of[span]))
    reduce = chosen.schedules[sent.dest][sent.dest_step].reduce
    return Message(sent.source, sent.dest, blocks, tuple(own[block] for block in blocks), reduce)


def _held_after(held: Held, messages: Sequence[Message]) -> Held:
    after = [list(own) for own in held]
    for message in messages:
        for block, content in zip(message.blocks, message.content):
            before = after[message.dest][block]
            after[message.dest][block] = before | content if message.reduce else content
    return tuple(map(tuple, after))


def letters(ranks: int) -> tuple[str, ...]:
    """The letters of the ranks' contributions, as the text writes them: a, b, …, z, and from rank 26 up `26.`."""
    return tuple(contribution(rank, 0).removesuffix("1") for rank in range(ranks))


def word(content: frozenset[int], block: int, names: Sequence[str]) -> str:
    """What a block (number from 0) holds: `d4+a4`, or `S4` for the sum over all ranks, which `names` names.

    Ranks stand in ascending order, but a run round the ring begins where it begins: `d4+a4` of four ranks.
    """
    ranks = len(names)
    if len(content) == ranks > 1:
        return f"S{block + 1}"
    begins = [rank for rank in sorted(content) if (rank - 1) % ranks not in content]
    first = begins[0] if len(begins) == 1 else 0
    return "+".join(f"{names[rank]}{block + 1}" for rank in sorted(content, key=lambda rank: (rank - first) % ranks))
