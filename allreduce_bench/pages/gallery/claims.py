"""Two sentences of many articles on ring all-reduce, held against schedules and declared costs.

"A tree of 1,024 GPUs takes 10 communication steps, the ring 1024": a tree has to be climbed and descended, and the ring
goes round twice. "The time of a ring is nearly independent of the number of GPUs": of its bytes that is so, of its
messages not.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ...algorithms import builtin
from ...models.machine import Prices, bare_machine
from ...models.prediction import BEST, Layout, competing_models
from ...schedule import Schedule
from ...schedule.price import price
from ...schedule.topology import Topology
from ...schedule.verify import verify

GPUS = 1024  # of the first claim
PRICES = Prices(5e-6, 1 / 12.5e9)  # of the second: a message and a byte over 100 Gbit/s
SIZES = (1 << 10, 1 << 20, 1 << 30)  # bytes
RANKS = tuple(1 << power for power in range(1, 15))
COMPARED = ("ring", "two_tree", "rabenseifner", "recursive_doubling")


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


class Line(NamedTuple):
    """The predicted times of one algorithm at one size."""

    algorithm: str
    nbytes: int
    ranks: tuple[int, ...]
    times_s: tuple[float, ...]

    def growth(self, fewest: int, most: int) -> float:
        """How many times as long it takes on `most` ranks as on `fewest`; both are among `ranks`."""
        time_of = dict(zip(self.ranks, self.times_s))
        return time_of[most] / time_of[fewest]


def steps_of(ranks: int = GPUS) -> Steps:
    """Count the steps of a short vector, which is one segment, and of the ring's blocks.

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


def times_over_ranks(sizes: Sequence[int] = SIZES, ranks: Sequence[int] = RANKS) -> list[Line]:
    """The times of COMPARED at each of `sizes` (bytes) over `ranks`, by the declared costs at PRICES."""
    (group,) = competing_models(bare_machine(*PRICES), COMPARED, Layout(segment=BEST))
    lines = []
    for nbytes in sizes:
        for name in COMPARED:
            predictions = [group.at(name, number, nbytes).prediction for number in ranks]
            times_s = tuple(prediction.time_s for prediction in predictions if prediction)
            lines.append(Line(name, nbytes, tuple(ranks), times_s))
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
