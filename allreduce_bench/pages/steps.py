"""What the script of a page computes with: the steps of all ranks, cut into blocks in several ways, and their prices.

The script replays these steps and prices them as `schedule.price` does, so that its totals are those of the schedules.
"""

from typing import Any, NamedTuple

from ..schedule import Parts, elements
from ..schedule.price import Path, price
from ..schedule.rounds import Sent, messages_of_rounds
from .drawing import Drawing, drawing_of
from .layout import Layout, layout_of
from .subject import MOST_BLOCKS, MOST_MESSAGES, Subject, subject

ALPHA_S, BETA_S_PER_BYTE, NBYTES = 5e-6, 8e-11, 2**20  # with which a page opens: 5 us, 100 Gbit/s, 1 MiB
PIECES = (1, 2, 4, 8, 16, 32)  # of the vector, into which a pipeline is cut
REDUCES, SENDS_ORIGINAL = 1, 2  # flags of a message


class Cut(NamedTuple):
    """One algorithm with its vector cut into so many blocks."""

    chosen: Subject
    drawing: Drawing
    layout: Layout


def cut(chosen: Subject) -> Cut:
    """The picture of proved schedules. Raises AlgorithmError where it would be too large."""
    drawing = drawing_of(chosen)
    return Cut(chosen, drawing, layout_of(drawing))


def cuts_of(chosen: Subject, name: str, ranks_per_node: int | None) -> list[Cut]:
    """`chosen`, and for a pipelined algorithm other numbers of blocks as well; in the order of these numbers.

    `name` is what the user called it. Raises AlgorithmError where `chosen` is too large for a picture.
    """
    cuts = {(first := cut(chosen)).drawing.blocks: first}
    ranks, count = len(chosen.schedules), chosen.count
    for pieces in PIECES if chosen.algorithm.segmented else ():
        if count % pieces or count // pieces == chosen.segment:
            continue
        other = subject(name, ranks, count, count // pieces, ranks_per_node)
        if len(Parts(other.schedules, count)) <= MOST_BLOCKS and _messages(other) <= MOST_MESSAGES:
            made = cut(other)
            cuts.setdefault(made.drawing.blocks, made)
    return [cuts[blocks] for blocks in sorted(cuts)]


def path(chosen: Subject, alpha_s: float, beta_s_per_byte: float, nbytes: float) -> Path:
    """The critical path of a vector of `nbytes`: its time in seconds, its messages, and its elements of `chosen`'s."""
    return price(chosen.schedules, alpha_s, beta_s_per_byte * nbytes / chosen.count)


def cut_data(made: Cut) -> dict[str, Any]:
    """One cut for the script: the elements of each block, and for each round a list of numbers a message.

    A message is source, its step, dest, its step, flags, elements, then for each run of blocks its first and its last.
    """
    chosen, drawing = made.chosen, made.drawing
    parts = Parts(chosen.schedules, chosen.count)
    rounds = messages_of_rounds(chosen.schedules)
    return {
        "blocks": drawing.blocks,
        "count": chosen.count,
        "treeOfBlock": made.layout.tree_of_block,
        "rounds": [[_message_row(sent, chosen, parts) for sent in messages] for messages in rounds],
    }


def _message_row(sent: Sent, chosen: Subject, parts: Parts) -> list[int]:
    step = chosen.schedules[sent.source][sent.source_step]
    reduces = chosen.schedules[sent.dest][sent.dest_step].reduce
    runs = [number for span in step.send for number in (parts.of[span][0], parts.of[span][1] - 1)]
    return [*sent, reduces * REDUCES + step.original * SENDS_ORIGINAL, elements(step.send), *runs]


def _messages(chosen: Subject) -> int:
    return sum(bool(step.send) for steps in chosen.schedules for step in steps)
