"""Facts of an algorithm for its page: the paragraphs of its docstring, costs and promises of its verified schedules."""

import re
from collections.abc import Sequence
from textwrap import dedent
from typing import NamedTuple

from ..algorithms.torus import Dimensions, nearly_square
from ..schedule import Schedule, elements
from ..schedule.algorithm import Algorithm, Topology
from ..schedule.distance import distance
from ..schedule.price import border, price
from ..schedule.verify import Proof, cases, same_at_any_length, verify


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


# Schedules to count
PER_NODE = 4  # ranks per node in the layouts
PIECES = 8  # segments of the vector in pipelined algorithms
BLOCKS = 2**5 * 3 * 5 * 7  # elements are a multiple of it, so that most numbers of ranks have equal blocks


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
