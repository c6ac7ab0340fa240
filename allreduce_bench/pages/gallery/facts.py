"""What the algorithms cost and promise, counted in verified schedules: the numbers of the gallery's pages.

The usual first lesson on all-reduce is held against the same schedules: its transfer table (`transfers`), and two
sentences of many articles (`steps_of`, `times_over_ranks`).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...algorithms import builtin
from ...models.machine import Prices, bare_machine
from ...models.prediction import BEST, Layout, competing_models
from ...schedule import Schedule, elements
from ...schedule.algorithm import Algorithm, Topology
from ...schedule.price import price
from ...schedule.verify import Proof, cases, verify

# Schedules that are counted
PER_NODE = 4  # ranks, in the layouts that are counted
PIECES = 8  # in which pipelined algorithms cut the vector
BLOCKS = 2**5 * 3 * 5 * 7  # elements are a multiple of it: so that most numbers of ranks have equal blocks

# Sentences of articles: `steps_of` at CLAIM_GPUS, `times_over_ranks` of the rest
CLAIM_GPUS = 1024
CLAIM_PRICES = Prices(5e-6, 1 / 12.5e9)  # 5 us a message, bytes over 100 Gbit/s
CLAIM_SIZES = (1 << 10, 1 << 20, 1 << 30)  # bytes
CLAIM_RANKS = tuple(1 << power for power in range(1, 15))
CLAIM_ALGORITHMS = ("ring", "two_tree", "rabenseifner", "recursive_doubling")


class Facts(NamedTuple):
    """What one algorithm costs on some ranks; volumes are shares of the vector's n elements."""

    algorithm: Algorithm
    topology: Topology
    rounds: int  # messages on the critical path
    steps: int  # the most in one rank
    sent: float  # the most by one rank
    sent_in_all: float
    sent_between_nodes: float
    peers: int  # the most whom one rank sends to or receives from
    depth: int  # roundings that an input meets, at most

    @property
    def ranks(self) -> int:
        """How many ranks take part."""
        return len(self.topology.node_of)


class Promises(NamedTuple):
    """At which of the numbers of ranks that were `tried` every schedule keeps a promise."""

    tried: tuple[int, ...]
    same_bits: tuple[int, ...]
    rank_ordered: tuple[int, ...]


def facts(algorithm: Algorithm, topology: Topology) -> Facts:
    """Count what `algorithm` does on `topology` with a vector that its blocks divide, in PIECES where it is segmented.

    Raises AlgorithmError where it has no schedule, Refusal where that is no all-reduce.
    """
    ranks = len(topology.node_of)
    count = ranks * BLOCKS
    schedules = algorithm.schedules(ranks, topology, count, count // PIECES)
    proof = verify(schedules, count)
    sent = [_sent(schedules, lambda rank, dest: True), _sent(schedules, lambda a, b: _apart(topology, a, b))]
    return Facts(
        algorithm=algorithm,
        topology=topology,
        rounds=price(schedules, alpha=1, beta=0).messages,
        steps=proof.steps,
        sent=proof.sent / count,
        sent_in_all=sent[0] / count,
        sent_between_nodes=sent[1] / count,
        peers=max(len(peers(steps)) for steps in schedules),
        depth=proof.depth,
    )


def promises(algorithm: Algorithm, sizes: Sequence[int]) -> Promises:
    """Prove `algorithm` at `sizes` on all layouts, counts and segments that `verify` tries, and ask what is kept.

    Raises what `facts` raises.
    """
    proofs_at: dict[int, list[Proof]] = {}
    for size in sizes:
        for case in cases(algorithm, size, (), (), None):
            schedules = algorithm.schedules(case.size, case.topology, case.count, case.segment)
            proofs_at.setdefault(size, []).append(verify(schedules, case.count))
    same = tuple(size for size, proofs in proofs_at.items() if all(proof.same_bits for proof in proofs))
    ordered = tuple(size for size, proofs in proofs_at.items() if all(proof.rank_ordered for proof in proofs))
    return Promises(tuple(proofs_at), same, ordered)


def peers(steps: Schedule) -> set[int]:
    """The ranks that one rank's steps send to or receive from."""
    return {peer for step in steps for peer in (step.dest, step.source) if peer is not None}


def _sent(schedules: Sequence[Schedule], counts: Callable[[int, int], bool]) -> int:
    """The elements in all messages that count, by sender and receiver."""
    return sum(
        elements(step.send)
        for rank, steps in enumerate(schedules)
        for step in steps
        if step.dest is not None and counts(rank, step.dest)
    )


def _apart(topology: Topology, first: int, second: int) -> bool:
    return topology.node_of[first] != topology.node_of[second]


class Steps(NamedTuple):
    """How many messages follow each other on `ranks`, counted in schedules."""

    ranks: int
    tree_height: int  # edges from the farthest leaf to the root
    tree_levels: int  # edges up to the root and down to the farthest leaf
    tree_rounds: int  # where a rank receives one message at a time, as over one port
    two_tree_rounds: int
    doubling_rounds: int
    halving_rounds: int  # of Rabenseifner's algorithm
    ring_steps: int


class PredictedTimes(NamedTuple):
    """The predicted times of one algorithm at one size."""

    algorithm: str
    nbytes: int
    ranks: tuple[int, ...]
    times_s: tuple[float, ...]

    def growth(self, fewest: int, most: int) -> float:
        """Return how many times as long it takes on `most` ranks as on `fewest`; both are among `ranks`."""
        time_of = dict(zip(self.ranks, self.times_s))
        return time_of[most] / time_of[fewest]


def steps_of(ranks: int = CLAIM_GPUS) -> Steps:
    """Count the steps of a short vector, which is one segment, and of the ring's blocks.

    Held against "a tree of 1,024 GPUs takes 10 communication steps, the ring 1024": a tree has to be climbed and
    descended, and the ring goes round twice.

    The trees and recursive doubling are proved on all `ranks`. Of the ring and of Rabenseifner's algorithm the steps of
    rank 0 are counted: on hundreds of ranks all schedules are millions of steps, and each rank has as many.
    """
    topology = Topology.one_node(ranks)
    whole = {name: _proved(name, topology) for name in ("tree", "two_tree", "recursive_doubling")}
    rounds = {name: price(schedules, alpha=1, beta=0).messages for name, schedules in whole.items()}
    height = _height(whole["tree"])
    first = {name: builtin()[name].schedule(0, ranks, topology, ranks, ranks) for name in ("ring", "rabenseifner")}
    return Steps(
        ranks=ranks,
        tree_height=height,
        tree_levels=2 * height,
        tree_rounds=rounds["tree"],
        two_tree_rounds=rounds["two_tree"],
        doubling_rounds=rounds["recursive_doubling"],
        halving_rounds=len(first["rabenseifner"]),
        ring_steps=len(first["ring"]),
    )


def times_over_ranks(sizes: Sequence[int] = CLAIM_SIZES, ranks: Sequence[int] = CLAIM_RANKS) -> list[PredictedTimes]:
    """Predict CLAIM_ALGORITHMS at each of `sizes` (bytes) over `ranks`, by the declared costs at CLAIM_PRICES.

    Held against "the time of a ring is nearly independent of the number of GPUs": of its bytes that is so, of its
    messages not.
    """
    (group,) = competing_models(bare_machine(*CLAIM_PRICES), CLAIM_ALGORITHMS, Layout(segment=BEST))
    lines = []
    for nbytes in sizes:
        for name in CLAIM_ALGORITHMS:
            predictions = [group.at(name, number, nbytes).prediction for number in ranks]
            times_s = tuple(prediction.time_s for prediction in predictions if prediction)
            lines.append(PredictedTimes(name, nbytes, tuple(ranks), times_s))
    return lines


def _proved(name: str, topology: Topology) -> list[Schedule]:
    """The schedules of a vector of two elements, the fewest of which each tree of the two has one."""
    schedules = builtin()[name].schedules(len(topology.node_of), topology, 2, 2)
    verify(schedules, 2)
    return schedules


def _height(schedules: Sequence[Schedule]) -> int:
    """The most edges between a rank and the root of a tree: the sender of a reduction is the child of its receiver."""
    parents = {step.source: rank for rank, steps in enumerate(schedules) for step in steps if step.reduce}
    return max((_edges_above(rank, parents) for rank in range(len(schedules))), default=0)


def _edges_above(rank: int, parents: dict[int | None, int]) -> int:
    edges = 0
    while rank in parents:
        rank, edges = parents[rank], edges + 1
    return edges


class Scheme(NamedTuple):
    """A row of the transfer table of the usual first lesson, where G ranks add up vectors of N elements.

    The ring's numbers are those of Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009.
    """

    title: str
    algorithm: str
    formula_in_all: str
    in_all: Callable[[int, int], float]  # (G, N) -> elements
    formula_per_rank: str
    per_rank: Callable[[int, int], float]  # (G, N) -> elements that the busiest rank sends


class Transfer(NamedTuple):
    """What the schedules of one scheme move, in elements."""

    scheme: Scheme
    in_all: int
    busiest_sends: int
    idlest_sends: int


SCHEMES = (
    Scheme("naive exchange", "naive", "G(G-1)N", lambda g, n: g * (g - 1) * n, "(G-1)N", lambda g, n: (g - 1) * n),
    Scheme(
        *("single master", "parameter_server", "2(G-1)N", lambda g, n: 2 * (g - 1) * n),
        *("(G-1)N by the master", lambda g, n: (g - 1) * n),
    ),
    Scheme(
        *("ring", "ring", "2(G-1)N", lambda g, n: 2 * (g - 1) * n),
        *("2(G-1)N/G", lambda g, n: 2 * (g - 1) * n / g),
    ),
)


def transfers(ranks: int, count: int) -> list[Transfer]:
    """Count the elements that each of SCHEMES moves on `ranks` for vectors of `count` elements.

    Raises Refusal where a schedule is no all-reduce.
    """
    return [_transfer(scheme, ranks, count) for scheme in SCHEMES]


def _transfer(scheme: Scheme, ranks: int, count: int) -> Transfer:
    schedules = builtin()[scheme.algorithm].schedules(ranks, Topology.one_node(ranks), count, max(count, 1))
    verify(schedules, count)
    sent = [sum(elements(step.send) for step in steps) for steps in schedules]
    return Transfer(scheme, sum(sent), max(sent), min(sent))
