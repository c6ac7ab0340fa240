"""What the algorithms cost and promise, counted in verified schedules: the rows of the gallery's tables."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...schedule import Schedule, elements
from ...schedule.algorithm import Algorithm
from ...schedule.price import price
from ...schedule.topology import Topology
from ...schedule.verify import Proof, verify
from ...schedule.verify_all import cases

PER_NODE = 4  # ranks, in the layouts that are counted
PIECES = 8  # in which pipelined algorithms cut the vector
BLOCKS = 2**5 * 3 * 5 * 7  # elements are a multiple of it: so that most numbers of ranks have equal blocks


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
