"""Recursive doubling: log2 p exchanges of the whole vector, the fewest messages possible.

In round j every rank exchanges what it has with the rank at distance 2^j and adds it up; after log2 p rounds everyone
has everything. Where p is no power of two, ranks are folded into their neighbours (see `_folding`). For p = 4:

    round   rank a    rank b    rank c    rank d
    1       a + b     b + a     c + d     d + c         exchange with the neighbour
    2       ab + cd   ba + dc   cd + ab   dc + ba       exchange with the rank two further
"""

from collections.abc import Iterator

from allreduce_bench.algorithms._folding import crossing, exchanging, fold, folding_hops, place_of, rank_at, unfold
from allreduce_bench.schedule import Step
from allreduce_bench.schedule.algorithm import Cost, Hops, Topology, algorithm


def cost(size: int, topology: Topology, count: int, segment: int) -> Cost:
    """Return the cost of a whole vector per round, and of two if ranks are folded, of which one is reduced."""
    folding, across = folding_hops(size, topology, count), crossing(size, topology)
    hops = folding + [Hops(1, count, between) for between in across]
    return Cost.of(hops, reduced=(len(across) + len(folding)) * count)


@algorithm(
    cost=cost,
    exact=True,
    formula="(L+2x) (alpha + n beta) + (L+x) n gamma, L = floor(log2 p), x = 1 unless p = 2^L",
    known_as="MPICH recursive doubling, Open MPI tuned 3",
    why=(
        "log2 p: each exchange doubles the ranks whose vectors are summed up, and no message can do more. Where p"
        " is no power of two, a round before and one after fold the other ranks in."
    ),
    best="small vectors on any number of ranks.",
    source=(
        'Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", Int. J. '
        "High Performance Computing Applications 19(1), 2005."
    ),
)
def recursive_doubling(rank: int, size: int, topology: Topology, count: int, segment: int) -> Iterator[Step]:
    """Whole vectors are exchanged at distances 1, 2, 4, ..."""
    vector, place, distance = (range(count),), place_of(rank, size), 1
    yield from fold(rank, size, count)
    while place is not None and distance < exchanging(size):
        partner = rank_at(place ^ distance, size)
        yield Step(dest=partner, send=vector, source=partner, recv=vector, reduce=True)
        distance *= 2
    yield from unfold(rank, size, count)
