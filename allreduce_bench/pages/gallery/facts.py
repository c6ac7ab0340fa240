"""Facts on the pages of the gallery: the paragraphs of its docstring, and costs counted in verified schedules."""

import re
from collections.abc import Callable, Sequence
from textwrap import dedent
from typing import NamedTuple

from ...algorithms import builtin
from ...algorithms.torus import Dimensions, nearly_square
from ...models.machine import Prices, bare_machine
from ...models.prediction import BEST, Layout, competing_models
from ...schedule import Schedule, elements
from ...schedule.algorithm import Algorithm, Topology
from ...schedule.distance import distance
from ...schedule.price import border, price
from ...schedule.verify import Proof, cases, same_at_any_length, verify


class Paragraph(NamedTuple):
    """Paragraph of a docstring; `drawn`: its line breaks count, as in a table of rounds."""

    text: str
    drawn: bool


class Telling(NamedTuple):
    """Docstring of an algorithm in parts; missing ones are empty."""

    title: str
    idea: tuple[Paragraph, ...]


def telling(algorithm: Algorithm) -> Telling:
    """Split the docstring of `algorithm` into its title and its paragraphs."""
    title, *rest = [part for part in re.split(r"\n\s*\n", algorithm.doc.strip("\n")) if part.strip()] or [""]
    return Telling(" ".join(title.split()), tuple(map(_paragraph, rest)))


def _paragraph(lines: str) -> Paragraph:
    """Return a paragraph; one that is indented is drawn."""
    is_drawn = lines.startswith("    ")
    return Paragraph(dedent(lines) if is_drawn else " ".join(lines.split()), is_drawn)


# Costs and promises of algorithms, counted in verified schedules: the numbers of the gallery's pages.
#
# The usual first lesson on all-reduce is checked against the same schedules: its transfer table (`transfers`), and two
# claims of many articles (`steps_of`, `times_over_ranks`).


# Schedules to count
PER_NODE = 4  # ranks per node in the layouts
PIECES = 8  # segments of the vector in pipelined algorithms
BLOCKS = 2**5 * 3 * 5 * 7  # elements are a multiple of it, so that most numbers of ranks have equal blocks

# Claims of articles: `steps_of` uses CLAIM_GPUS, `times_over_ranks` the rest
CLAIM_GPUS = 1024
CLAIM_PRICES = Prices(5e-6, 1 / 12.5e9)  # 5 us a message, bytes over 100 Gbit/s
CLAIM_SIZES = (1 << 10, 1 << 20, 1 << 30)  # bytes
CLAIM_RANKS = tuple(1 << power for power in range(1, 15))
CLAIM_ALGORITHMS = ("ring", "two_tree", "rabenseifner", "recursive_doubling")


class Facts(NamedTuple):
    """Costs of one algorithm on some ranks; volumes are shares of the vector's n elements."""

    algorithm: Algorithm
    topology: Topology
    rounds: int  # messages on the critical path
    steps: int  # maximum over ranks
    sent: float  # maximum over ranks
    sent_in_all: float
    sent_between_nodes: float
    peers: int  # maximum over ranks: partners that one sends to or receives from
    depth: int  # most roundings of any input
    torus: Dimensions  # nearly square, of all ranks
    passed: float  # times links of that torus
    busiest: float  # over its busiest link

    @property
    def ranks(self) -> int:
        """Return the number of ranks."""
        return len(self.topology.node_of)


class Promises(NamedTuple):
    """Numbers of ranks, among those `tried`, at which every schedule keeps a promise."""

    tried: tuple[int, ...]
    same_bits: tuple[int, ...]
    rank_ordered: tuple[int, ...]
    any_length: tuple[int, ...]  # elements are added up in the same order, whatever the length of the vector


def facts(algorithm: Algorithm, topology: Topology) -> Facts:
    """Count the costs of `algorithm` on `topology` for a vector of equal blocks, in PIECES segments if pipelined.

    Raises AlgorithmError if it has no schedule there, Refusal if the schedules are no all-reduce.
    """
    ranks = len(topology.node_of)
    count = ranks * BLOCKS
    schedules = algorithm.schedules(ranks, topology, count, count // PIECES)
    proof = verify(schedules, count)
    torus = nearly_square(ranks)
    passed, busiest = (value / count for value in distance(schedules, torus))
    return Facts(
        algorithm=algorithm,
        topology=topology,
        rounds=price(schedules, alpha=1, beta=0).messages,
        steps=proof.steps,
        sent=proof.sent / count,
        sent_in_all=sum(elements(step.send) for steps in schedules for step in steps) / count,
        sent_between_nodes=border(schedules, topology.node_of).crossing / count,
        peers=max(len(peers(steps)) for steps in schedules),
        depth=proof.depth,
        torus=torus,
        passed=passed,
        busiest=busiest,
    )


def promises(algorithm: Algorithm, sizes: Sequence[int]) -> Promises:
    """Prove `algorithm` at `sizes` on all layouts, counts and segments that `verify` tries; return the promises kept.

    Raises as `facts`.
    """
    proofs_at: dict[int, list[Proof]] = {}
    layouts_at: dict[int, set[Topology]] = {}
    for size in sizes:
        for case in cases(algorithm, size, (), (), None):
            schedules = algorithm.schedules(case.size, case.topology, case.count, case.segment)
            proofs_at.setdefault(size, []).append(verify(schedules, case.count))
            layouts_at.setdefault(size, set()).add(case.topology)
    same = tuple(size for size, proofs in proofs_at.items() if all(proof.same_bits for proof in proofs))
    ordered = tuple(size for size, proofs in proofs_at.items() if all(proof.rank_ordered for proof in proofs))
    any_length = tuple(
        size
        for size, layouts in layouts_at.items()
        if all(same_at_any_length(algorithm, size, layout) for layout in layouts)
    )
    return Promises(tuple(proofs_at), same, ordered, any_length)


def peers(steps: Schedule) -> set[int]:
    """Return the ranks that one rank's steps send to or receive from."""
    return {peer for step in steps for peer in (step.dest, step.source) if peer is not None}


class Steps(NamedTuple):
    """Number of consecutive messages on `ranks`, counted in schedules."""

    ranks: int
    tree_height: int  # edges from the farthest leaf to the root
    tree_levels: int  # edges up to the root and down to the farthest leaf
    tree_rounds: int  # if a rank receives one message at a time, as over one port
    two_tree_rounds: int
    doubling_rounds: int
    halving_rounds: int  # of Rabenseifner's algorithm
    ring_steps: int


class PredictedTimes(NamedTuple):
    """Predicted times of one algorithm at one size."""

    algorithm: str
    size_bytes: int
    ranks: tuple[int, ...]
    times_s: tuple[float, ...]

    def growth(self, fewest: int, most: int) -> float:
        """Return the ratio of the time on `most` ranks to that on `fewest`; both are among `ranks`."""
        time_of = dict(zip(self.ranks, self.times_s))
        return time_of[most] / time_of[fewest]


def steps_of(ranks: int = CLAIM_GPUS) -> Steps:
    """Count the steps for a vector so short that it is one segment, and of the ring's blocks.

    Checks "a tree of 1,024 GPUs takes 10 communication steps, the ring 1024": a tree has to be climbed and descended,
    and the ring goes round twice.

    The trees and recursive doubling are proved on all `ranks`. For the ring and Rabenseifner's algorithm only the steps
    of rank 0 are counted: on hundreds of ranks all schedules are millions of steps, and each rank has as many.
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

    Checks "the time of a ring is nearly independent of the number of GPUs": true of its bytes, not of its messages.
    """
    (group,) = competing_models(bare_machine(*CLAIM_PRICES), CLAIM_ALGORITHMS, Layout(segment=BEST))
    lines = []
    for size_bytes in sizes:
        for name in CLAIM_ALGORITHMS:
            predictions = [group.at(name, number, size_bytes).prediction for number in ranks]
            times_s = tuple(prediction.time_s for prediction in predictions if prediction)
            lines.append(PredictedTimes(name, size_bytes, tuple(ranks), times_s))
    return lines


def _proved(name: str, topology: Topology) -> list[Schedule]:
    """Return the proved schedules for two elements, the least that gives each of the two trees one."""
    schedules = builtin()[name].schedules(len(topology.node_of), topology, 2, 2)
    verify(schedules, 2)
    return schedules


def _height(schedules: Sequence[Schedule]) -> int:
    """Return the most edges from a rank to the root of a tree; a reduction's sender is the child of its receiver."""
    parents = {step.source: rank for rank, steps in enumerate(schedules) for step in steps if step.reduce}
    return max((_edges_above(rank, parents) for rank in range(len(schedules))), default=0)


def _edges_above(rank: int, parents: dict[int | None, int]) -> int:
    edges = 0
    while rank in parents:
        rank, edges = parents[rank], edges + 1
    return edges


class Scheme(NamedTuple):
    """Row of the transfer table of the usual first lesson, where G ranks add up vectors of N elements.

    The ring's numbers are those of Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009.
    """

    title: str
    algorithm: str
    formula_in_all: str
    in_all: Callable[[int, int], float]  # (G, N) -> elements
    formula_per_rank: str
    per_rank: Callable[[int, int], float]  # (G, N) -> elements that the busiest rank sends


class Transfer(NamedTuple):
    """Elements that the schedules of one scheme move."""

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

    Raises Refusal if a schedule is no all-reduce.
    """
    return [_transfer(scheme, ranks, count) for scheme in SCHEMES]


def _transfer(scheme: Scheme, ranks: int, count: int) -> Transfer:
    schedules = builtin()[scheme.algorithm].schedules(ranks, Topology.one_node(ranks), count, max(count, 1))
    verify(schedules, count)
    sent = [sum(elements(step.send) for step in steps) for steps in schedules]
    return Transfer(scheme, sum(sent), max(sent), min(sent))
