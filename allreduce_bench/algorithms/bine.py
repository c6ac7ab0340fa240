"""Bine trees (binomial negabinary): Swing's partners, and blocks in an order in which each message is one range.

Partners alternate between left and right, at the distances 1, 1, 3, 5, ... (see `_alternating`), so that a message
crosses fewer links than in recursive halving, and fewer borders between groups of ranks. Which blocks go in which step
is read off a number: write the distance to the block in base -2 (negabinary), fold it as a Gray code, and reverse its
bits; the highest bit that is set says the step, counted from the last. For a power of two of ranks these numbers also
are the order of the blocks in the vector. For p = 4 (* = finished), what rank a does:

    round                distance   a sends           a receives and adds
    1  reduce-scatter    1          3, 4 to b         1, 2 from b
    2  reduce-scatter    -1         2 to d            1 from d
    3  allgather         -1         1* to d           2* from d
    4  allgather         1          1*, 2* to b       3*, 4* from b
"""

from collections.abc import Iterator
from functools import lru_cache

from allreduce_bench.algorithms._alternating import alternating, alternating_cost, partner
from allreduce_bench.algorithms._folding import exchanging, fold, folding_hops, place_of, rank_at, unfold
from allreduce_bench.algorithms._mirrored import crossing
from allreduce_bench.schedule import Step, split
from allreduce_bench.schedule.algorithm import Cost, Hops, Topology, algorithm

SOURCE = (
    'De Sensi et al., "Bine Trees: Enhancing Collective Operations by Optimizing Communication Locality", SC 2025, '
    "arXiv 2508.17311."
)


def negabinary(number: int) -> int:
    """Return the digits of an integer in base -2 as the bits of a number."""
    mask = int("10" * (number.bit_length() + 2), 2)
    return (number + mask) ^ mask


@lru_cache(maxsize=8)
def codes(size: int) -> list[int]:
    """Return the number of each distance round the ring; the smaller one where both ways round have one."""
    bits, found = (size - 1).bit_length(), []
    for distance in range(size):
        ways = (distance, distance - size) if distance % 2 else (-distance, size - distance)
        gray = [digits ^ digits >> 1 for digits in map(negabinary, ways) if digits < 1 << bits]
        found.append(min(int(f"{number:0{bits}b}"[::-1], 2) for number in gray))
    return found


@lru_cache(maxsize=8)
def sent_by_0(size: int) -> list[list[int]]:
    """Return the blocks that rank 0 sends in each step of the reduce-scatter."""
    steps = (size - 1).bit_length()
    return [
        [number for number, code in enumerate(codes(size)) if code.bit_length() == steps - step]
        for step in range(steps)
    ]


def cost(size: int, topology: Topology, count: int, segment: int) -> Cost:
    """Return the cost of the exchanges, and of folding if the ranks are odd."""
    return alternating_cost(size, topology, count, sent_by_0)


@algorithm(
    cost=cost,
    exact=False,
    formula="2 ceil(log2 p) alpha + 2(p-1)/p n beta + (p-1)/p n gamma for an even p",
    on_request=True,
    known_as="Bine (bandwidth variant), PICO bine_bdw_remap, for other even numbers bine_block_by_block_any_even",
    why=(
        "2 ceil(log2 p), as in rabenseifner: exchanges halve what a rank sums up, and double it on the way back. "
        "The partners differ: they are nearer. An odd number of ranks takes two more."
    ),
    best="medium and large vectors on networks of groups (Dragonfly, tapered fat trees), neighbours in one group.",
    source=SOURCE,
)
def bine(rank: int, size: int, topology: Topology, count: int, segment: int) -> Iterator[Step]:
    """Halves are exchanged left and right, and gathered."""
    even = max(1, size - size % 2)
    block = split(range(count), even)
    if even & (even - 1) == 0:
        block = tuple(block[code] for code in codes(even))
    yield from alternating(rank, size, count, sent_by_0, block)


def whole_vectors_cost(size: int, topology: Topology, count: int, segment: int) -> Cost:
    """Return the cost of a whole vector per round, and of two if ranks are folded, of which one is reduced."""
    folding, rounds = folding_hops(size, topology, count), exchanging(size).bit_length() - 1
    across = crossing(topology, partner_of_whole_vectors, tuple(range(rounds)))
    hops = folding + [Hops(1, count, between) for between in across]
    return Cost.of(hops, reduced=(rounds + len(folding)) * count)


def partner_of_whole_vectors(rank: int, step: int, size: int) -> int:
    """Return whom `rank` exchanges with in a step; itself if it is folded away."""
    place = place_of(rank, size)
    return rank if place is None else rank_at(partner(place, step, exchanging(size)), size)


@algorithm(
    cost=whole_vectors_cost,
    exact=False,
    formula="(L+2x) (alpha + n beta) + (L+x) n gamma, L = floor(log2 p), x = 1 unless p = 2^L",
    on_request=True,
    known_as="Bine (latency variant), PICO bine_lat; Swing's latency variant",
    why=(
        "log2 p, as in recursive_doubling: each exchange doubles the ranks whose vectors are summed up. Where p "
        "is no power of two, a round before and one after fold the other ranks in."
    ),
    best="small vectors on networks of groups; not where all ranks need the same bits.",
    source=SOURCE,
)
def bine_lat(rank: int, size: int, topology: Topology, count: int, segment: int) -> Iterator[Step]:
    """Whole vectors are exchanged left and right.

    The distances are 1, 1, 3, 5, ... Few messages, each of the whole vector; any number of ranks, folded as in
    `recursive_doubling`. From 8 ranks on, ranks add the same inputs in different orders, so that their bits may differ.
    """
    vector = (range(count),)
    yield from fold(rank, size, count)
    if place_of(rank, size) is not None:
        for step in range(exchanging(size).bit_length() - 1):
            other = partner_of_whole_vectors(rank, step, size)
            yield Step(dest=other, send=vector, source=other, recv=vector, reduce=True)
    yield from unfold(rank, size, count)
