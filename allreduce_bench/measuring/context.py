"""Where a launch runs: what all its ranks agree on."""

from collections.abc import Callable
from typing import NamedTuple

from mpi4py import MPI

from ..runs.plan import Launch, Plan
from ..schedule.algorithm import Algorithm
from ..schedule.topology import Topology
from ..units import format_ranges
from .clock import Clock
from .sync import Sync


class Context(NamedTuple):
    """What a rank knows of its launch, the same on all ranks where nothing else is said."""

    comm: MPI.Comm
    plan: Plan
    launch: Launch
    real: Topology  # as MPI says
    topology: Topology  # the same, or as was declared
    algorithms: dict[str, Algorithm]
    memory_per_rank: int | None  # bytes free on the fullest node, for each of its ranks
    deadline: float | None  # seconds since the epoch; None: none
    counters: Callable[[], dict[str, int] | None]  # of the interfaces of this node; None on all but one of its ranks
    first_calls: dict[str, tuple[int, float]]  # algorithm -> nbytes and seconds of its first call at the largest size
    clock: Clock  # of all ranks
    sync: Sync  # how they enter a call together
    cold_nbytes: int = 0  # what a rank touches between two uses of a buffer, where calls are cold
    groups: tuple[tuple[int, ...], ...] = ()  # the ranks of each of --groups; none: all ranks all-reduce together
    number: int = 0  # of the group that this rank is in
    group: "Context | None" = None  # that group, as if nobody else had been launched; None: there are none
    ranks: tuple[int, ...] = ()  # of a group: what its ranks are called among all
    layouts: tuple[Topology, ...] = ()  # the declared one of each group
    machine: dict | None = None  # this node; None on all but one of its ranks

    @property
    def party(self) -> "Context":
        """Those that all-reduce with this rank: its group, or all."""
        return self.group or self

    @property
    def within(self) -> str:
        """What goes before words that count the ranks of a group from 0: `within ranks 4-7: `; of all nothing."""
        return f"within ranks {format_ranges(self.ranks)}: " if self.ranks else ""


def nodes_of(comm) -> Topology:
    """Which ranks of the mpi4py communicator share memory, by MPI's own split."""
    from mpi4py import MPI  # late: see the module's docstring

    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    leader = node.bcast(comm.rank)
    node.Free()
    return Topology.from_labels(comm.allgather(leader))
