"""Two phases of a ring among any members, for algorithms composed of rings.

Member number `place` starts by sending block place-1, so that it owns block `place` after the reduce-scatter. So phases
nest: what a member owns is what it carries into the next phase.
"""

from collections.abc import Iterator, Sequence

from ..schedule import Step


def ring_reduce_scatter(members: Sequence[int], place: int, block: Sequence[range]) -> Iterator[Step]:
    """Yield steps of `members[place]` that make it own `block[place]`, reduced over the members; one block each."""
    size = len(members)
    right, left = members[(place + 1) % size], members[(place - 1) % size]
    for hop in range(size - 1):
        send, recv = block[(place - hop - 1) % size], block[(place - hop - 2) % size]
        yield Step(dest=right, send=(send,), source=left, recv=(recv,), reduce=True)


def ring_allgather(members: Sequence[int], place: int, block: Sequence[range]) -> Iterator[Step]:
    """Yield steps of `members[place]`, owner of `block[place]`, after which every member has every block."""
    size = len(members)
    right, left = members[(place + 1) % size], members[(place - 1) % size]
    for hop in range(size - 1):
        send, recv = block[(place - hop) % size], block[(place - hop - 1) % size]
        yield Step(dest=right, send=(send,), source=left, recv=(recv,))
