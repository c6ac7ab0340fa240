"""Context of a launch that all its ranks agree on: plan, nodes, clock and common start of calls."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from mpi4py import MPI

from ..runs.plan import Launch, Plan
from ..schedule.algorithm import Algorithm, Topology
from ..units import format_ranges
from .clock import Clock
from .sync import Sync

if TYPE_CHECKING:
    from .energy import Energy


class Party(NamedTuple):
    """Ranks that all-reduce with this one: its group, or all."""

    comm: MPI.Comm
    real: Topology
    topology: Topology
    number: int = 0  # of its group
    ranks: tuple[int, ...] = ()  # of a group, numbered among all ranks; empty without groups

    @property
    def within(self) -> str:
        """Return a prefix for texts that count a group's ranks from 0: `within ranks 4-7: `; empty without groups."""
        return f"within ranks {format_ranges(self.ranks)}: " if self.ranks else ""


class Node(NamedTuple):
    """Facts and counters of this node, on one of its ranks; empty on the others."""

    facts: dict | None = None  # see `machine.node`
    read_counts: Callable[[], dict] = dict  # see `surroundings`: processor time, and the node's counts
    sent_bytes: Callable[[], dict[str, int] | None] = lambda: None  # of its interfaces


@dataclass(frozen=True)
class Measured:
    """What was measured of a launch so far, as far as later cells depend on it."""

    first_calls: dict[str, tuple[int, float]] = field(default_factory=dict)  # competitor -> bytes, s: largest size
    begun: set[int] = field(default_factory=set)  # sizes in bytes of which a yardstick is measured
    given_up: set[int] = field(default_factory=set)  # sizes in bytes at which no time was left for a yardstick


@dataclass(frozen=True)
class Context:
    """Context of a launch on a rank, the same on all ranks unless noted."""

    comm: MPI.Comm
    plan: Plan
    launch: Launch
    real: Topology  # nodes as MPI reports them
    topology: Topology  # the same, or as declared
    algorithms: dict[str, Algorithm]
    clock: Clock  # of all ranks
    sync: Sync  # common start of calls
    party: Party  # ranks that all-reduce with this one
    parties: tuple[tuple[Sequence[int], Topology], ...]  # ranks and declared layout of each party
    deadline: float | None = None  # seconds since the epoch; None: none
    memory_per_rank: int | None = None  # bytes free on the fullest node, per rank
    cold_nbytes: int = 0  # touched by a rank between two uses of a buffer, if calls are cold
    is_crowded: bool = False  # ranks share cores
    node: Node = Node()
    energy: "Energy | None" = None  # its count, if asked for
    measured: Measured = field(default_factory=Measured)


def nodes_of(comm) -> Topology:
    """Return which ranks of the mpi4py communicator share memory, by MPI's own split."""
    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    leader = node.bcast(comm.rank)
    node.Free()
    return Topology.from_labels(comm.allgather(leader))
