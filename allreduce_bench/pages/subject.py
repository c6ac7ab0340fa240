"""What is shown: an algorithm on so many ranks, its nodes, its count, and its proved schedules."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm

from ..algorithms import find
from ..schedule import Schedule
from ..schedule.algorithm import Algorithm, AlgorithmError
from ..schedule.topology import Topology
from ..schedule.verify import Proof, verify

MOST_RANKS = 32  # of a picture: more do not fit side by side
MOST_BLOCKS = 64  # of a picture
MOST_MESSAGES = 10_000  # of a picture


@dataclass(frozen=True)
class Subject:
    """The proved schedules of one algorithm."""

    algorithm: Algorithm
    topology: Topology
    count: int  # elements
    segment: int  # elements
    schedules: Sequence[Schedule]
    proof: Proof


def subject(
    name: str, ranks: int, count: int | None = None, segment: int | None = None, ranks_per_node: int | None = None
) -> Subject:
    """The schedules of the algorithm `name` (or of the only one in a user's .py file) on `ranks` ranks, proved.

    By default the count cuts into equal blocks, the segment is the whole vector, and nodes are as `_usual_topology`
    says. Raises AlgorithmError where there is no such algorithm, where it does not fit, or where a picture would be too
    large; Refusal where it is no all-reduce.
    """
    refuse_many_ranks(ranks)
    chosen = list(find([name]).values())
    if len(chosen) > 1:
        raise AlgorithmError(f"{name}: holds {len(chosen)} algorithms; a picture shows one, so keep one in the file")
    (algorithm,) = chosen
    count = even_count(ranks) if count is None else count
    if count < 1:
        raise AlgorithmError(f"--count {count}: a picture needs an element")
    segment = segment or count
    topology = Topology.filled(ranks, ranks_per_node) if ranks_per_node else _usual_topology(algorithm, ranks)
    if reason := algorithm.unmet(ranks, topology):
        raise AlgorithmError(reason)
    schedules = algorithm.schedules(ranks, topology, count, segment)
    messages = sum(bool(step.send) for steps in schedules for step in steps)
    if messages > MOST_MESSAGES:
        raise AlgorithmError(
            f"{algorithm.name}: {messages:,} messages; a picture shows at most {MOST_MESSAGES:,}; "
            "use fewer ranks or a longer --segment, or leave out -o for the text"
        )
    return Subject(algorithm, topology, count, segment, schedules, verify(schedules, count))


def refuse_many_ranks(ranks: int) -> None:
    """Raises AlgorithmError where a picture cannot show so many ranks."""
    if ranks > MOST_RANKS:
        raise AlgorithmError(
            f"-n {ranks}: a picture shows at most {MOST_RANKS} ranks; leave out -o, or name a .txt file, for the text"
        )


def even_count(ranks: int) -> int:
    """The elements that every algorithm cuts into equal blocks, and every pipeline into equal segments of 1/32."""
    return lcm(ranks, 2 * 32)


def _usual_topology(algorithm: Algorithm, ranks: int) -> Topology:
    """One node; but several of several ranks each, as square as can be, for an algorithm that heeds nodes."""
    count, one_node = even_count(ranks), Topology.one_node(ranks)
    divisors = [number for number in range(2, ranks) if ranks % number == 0 and number * number <= ranks]
    if not divisors:
        return one_node
    several = Topology.filled(ranks, ranks // divisors[-1])
    if algorithm.unmet(ranks, one_node):
        return several
    on_one, on_several = (algorithm.schedules(ranks, topology, count, count) for topology in (one_node, several))
    return several if on_one != on_several else one_node
