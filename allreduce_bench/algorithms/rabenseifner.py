"""Rabenseifner's algorithm: recursive halving, then recursive doubling; 2 log2 p messages, the least traffic.

The reduce-scatter exchanges halves: in round j a rank gives one half of its span to the rank at distance 2^j and
reduces the other, so that after log2 p rounds each holds one finished block of p. The allgather goes the same way
back. Where p is no power of two, the first ranks are folded into their neighbours (see `_folding`). For p = 4:

    round                rank a          rank b          rank c          rank d
    1  reduce-scatter    keeps 1, 2      keeps 3, 4      keeps 1, 2      keeps 3, 4      exchange with the neighbour
    2  reduce-scatter    keeps 1         keeps 3         keeps 2         keeps 4         with the rank two further
    3  allgather         has 1, 2        has 3, 4        has 1, 2        has 3, 4        with the rank two further
    4  allgather         has all         has all         has all         has all         with the neighbour
"""

from collections.abc import Iterator

from allreduce_bench.algorithms._folding import crossing, exchanging, fold, folding_hops, place_of, rank_at, unfold
from allreduce_bench.schedule import Step, split
from allreduce_bench.schedule.algorithm import Cost, Hops, Topology, algorithm


def cost(size: int, topology: Topology, count: int, segment: int) -> Cost:
    """Return the cost of halving and doubling, and of two messages of the whole vector if ranks are folded."""
    folding, across = folding_hops(size, topology, count), crossing(size, topology)
    block, longer = divmod(count, exchanging(size))  # the longer ones come first
    numbers = [exchanging(size) >> (j + 1) for j in range(len(across))]
    halves = [number * block + min(number, longer) for number in numbers]
    hops = folding + [Hops(2, half, between) for half, between in zip(halves, across)]
    return Cost.of(hops, reduced=sum(halves) + len(folding) * count)


@algorithm(
    cost=cost,
    exact=True,
    formula="(2L+2x) alpha + (2(q-1)/q+2x) n beta + ((q-1)/q+x) n gamma, q = 2^L <= p, x = 1 unless p = q",
    known_as="MPICH Rabenseifner (reduce-scatter, allgather), Open MPI tuned 6",
    why=(
        "2 log2 p: log2 p exchanges halve what a rank sums up, until it owns one finished block, and as many "
        "double it on the way back. Where p is no power of two, a round before and one after fold the other ranks"
        " in."
    ),
    best="large vectors on a power of two of ranks.",
    source=(
        'Rabenseifner, "Optimization of collective reduction operations", ICCS 2004; Thakur, Rabenseifner and '
        "Gropp, Int. J. High Performance Computing Applications 19(1), 2005."
    ),
)
def rabenseifner(rank: int, size: int, topology: Topology, count: int, segment: int) -> Iterator[Step]:
    """Halves are reduced, ever further, and gathered back."""
    block, place = split(range(count), exchanging(size)), place_of(rank, size)
    yield from fold(rank, size, count)
    if place is not None:
        span, done = range(len(block)), []
        for j in range(len(block).bit_length() - 1):  # reduce-scatter
            low, high = span[: len(span) // 2], span[len(span) // 2 :]
            mine, given = (high, low) if place >> j & 1 else (low, high)
            partner = rank_at(place ^ 1 << j, size)
            yield Step(partner, _elements(block, given), partner, _elements(block, mine), reduce=True)
            done.append((partner, mine, given))
            span = mine
        for partner, mine, given in reversed(done):  # allgather
            yield Step(partner, _elements(block, mine), partner, _elements(block, given))
    yield from unfold(rank, size, count)


def _elements(block: tuple[range, ...], blocks: range) -> tuple[range, ...]:
    """Return the elements of consecutive blocks as one range."""
    return (range(block[blocks[0]].start, block[blocks[-1]].stop),)
