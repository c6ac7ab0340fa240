"""Partners at the distances 1, 1, 3, 5, 11, 21, ..., to the right and to the left in turn; for Swing and Bine.

In step s an even rank exchanges with the rank at distance rho(s) = (1 - (-2)^(s+1)) / 3 = 1, -1, 3, -5, 11, ..., an odd
one with that at -rho(s). After s steps a rank has met others on both sides, so that the distances grow by 2^s / 3
only, where those of recursive doubling are 2^s. What rank 0 does in all steps tells what the others do: an even rank
does the same, shifted; an odd one its reflection.

That needs an even number of ranks: of an odd one, the last rank hands its vector to the one before it, and receives the
result from that in the end.
"""

from collections.abc import Callable, Iterator, Sequence

from ..schedule import Step, longest_block
from ..schedule.algorithm import Cost, Hops, Topology
from ._mirrored import Exchange, crossing, mirrored_cost, reduce_scatter_allgather

Sent = Sequence[Sequence[int]]  # blocks that rank 0 sends, by step


def distance(step: int) -> int:
    """Return rho(step): 1, -1, 3, -5, 11, -21, ...: the sum of the powers of -2 up to the step."""
    return (1 - (-2) ** (step + 1)) // 3


def partner(rank: int, step: int, size: int) -> int:
    """Return whom `rank` exchanges with in a step; the partner's partner is the rank itself."""
    return (rank - distance(step) if rank % 2 else rank + distance(step)) % size


def alternating(
    rank: int, size: int, count: int, sent_by_0: Callable[[int], Sent], block: Sequence[range]
) -> Iterator[Step]:
    """Yield the steps of `rank`, where rank 0 of an even number of ranks sends the blocks `sent_by_0(number)`."""
    vector, odd = (range(count),), size % 2 and size > 1
    if odd and rank == size - 1:
        yield Step(size - 2, vector, None, ())
        yield Step(None, (), size - 2, vector)
        return
    if odd and rank == size - 2:
        yield Step(None, (), size - 1, vector, reduce=True)
    if even := size - size % 2:
        yield from reduce_scatter_allgather(exchanges(rank, even, sent_by_0(even)), block)
    if odd and rank == size - 2:
        yield Step(size - 1, vector, None, ())


def alternating_cost(size: int, topology: Topology, count: int, sent_by_0: Callable[[int], Sent]) -> Cost:
    """Return the cost of the blocks of each step, there and back, and of two whole vectors if the ranks are odd."""
    even, node_of = size - size % 2, topology.node_of
    if not even:
        return Cost(0, 0, 0)
    blocks = list(map(len, sent_by_0(even)))
    across = crossing(topology.of(range(even)), partner, tuple(range(len(blocks))))
    exchanged = mirrored_cost(blocks, across, longest_block(count, even))
    if even == size:
        return exchanged
    folding = Hops(2, count, node_of[-2] != node_of[-1])
    return Cost.of([folding, *exchanged.hops], exchanged.reduced + count)


def exchanges(rank: int, size: int, sent_by_0: Sent) -> list[Exchange]:
    """Return the rounds of `rank`, where rank 0 sends the blocks `sent_by_0[step]` to its partner."""
    rounds = []
    for step, blocks in enumerate(sent_by_0):
        other = partner(rank, step, size)
        sent, received = (
            [(one - number if one % 2 else one + number) % size for number in blocks] for one in (rank, other)
        )
        rounds.append(Exchange(other, sent, other, received))
    return rounds
