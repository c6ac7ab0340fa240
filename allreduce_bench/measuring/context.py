"""Where a launch runs: what all its ranks agree on; and whether a cell may run there: ranks, memory, time.

When a cell that runs is over says `budget`.
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from mpi4py import MPI

from ..algorithms import is_of_library
from ..runs.cell import competitor_name
from ..runs.plan import BOUNDED_RANKS, TIME_USED_UP, Cell, Launch, Plan
from ..schedule.algorithm import Algorithm, Topology
from ..units import format_ranges, format_size, format_time
from .calls import Approach, FurtherColumns, no_columns
from .sync import Clock, Sync
from .vectors import CALLS

VECTORS = 6  # of the cell's size at a rank's peak: input, output, scratch, reference, and two that come and go
MEMORY_SHARE = 0.5  # of what is free on a node: the rest is the MPI's, and others'
LONGEST_CALL = 20  # times --cell-time: a call that takes longer is skipped
LARGEST_SHARE = 0.25  # of the time that a launch has left: no single cell gets more
CALLS_AFTER_FIRST = 12  # of a cell at least: checks and what follows them, a warm-up, six repetitions
SCALES_FROM = 64 * 1024  # bytes: from here on, time grows at least about as size does
MAX_SEGMENTS = 65536  # of one vector: beyond, the schedule takes longer to prove than the call to run


class Grouping(NamedTuple):
    """The groups of --groups, and this rank among them; without them all ranks all-reduce together."""

    groups: tuple[tuple[int, ...], ...] = ()  # the ranks of each
    number: int = 0  # of the group that this rank is in
    layouts: tuple[Topology, ...] = ()  # the declared one of each group
    ranks: tuple[int, ...] = ()  # within a group: what its ranks are called among all


class Node(NamedTuple):
    """This node, as one of its ranks looks at it for all of them; the others see nothing."""

    facts: dict | None = None  # see `machine.node`
    since_start: Callable[[], dict] = dict  # see `surroundings`: processor time, and what the node counted


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
    first_calls: dict[str, tuple[int, float]]  # competitor -> nbytes and seconds of its first call at the largest size
    clock: Clock  # of all ranks
    sync: Sync  # how they enter a call together
    cold_nbytes: int = 0  # what a rank touches between two uses of a buffer, where calls are cold
    grouping: Grouping = Grouping()
    group: "Context | None" = None  # that of this rank, as if nobody else had been launched; None: there are none
    crowded: bool = False  # ranks share cores
    further_columns: FurtherColumns = no_columns  # of each call, from the stamps of all ranks
    approach: Approach | None = None  # what ranks do before each call of the cell; None: nothing
    node: Node = Node()

    @property
    def party(self) -> "Context":
        """Those that all-reduce with this rank: its group, or all."""
        return self.group or self

    @property
    def parties(self) -> list[tuple[Sequence[int], Topology]]:
        """The ranks and the declared layout of each party that all-reduces by itself: of each group, or of all."""
        return list(zip(self.grouping.groups, self.grouping.layouts)) or [
            (range(len(self.topology.node_of)), self.topology)
        ]

    @property
    def within(self) -> str:
        """What goes before words that count the ranks of a group from 0: `within ranks 4-7: `; of all nothing."""
        return f"within ranks {format_ranges(self.grouping.ranks)}: " if self.grouping.ranks else ""


def nodes_of(comm) -> Topology:
    """Which ranks of the mpi4py communicator share memory, by MPI's own split."""
    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    leader = node.bcast(comm.rank)
    node.Free()
    return Topology.from_labels(comm.allgather(leader))


def reason_to_skip(context: Context, cell: Cell) -> dict | None:
    """Why this cell is not measured, on rank 0's word: its state and its reason; None: it is."""
    if context.deadline is not None and time.time() > context.deadline:
        return {"state": "left out", "reason": TIME_USED_UP}
    if reason := unfit(context, cell):
        return {"state": "skipped", "reason": reason}
    nbytes, time_s = context.first_calls.get(competitor_name(cell.algorithm, cell.executor), (0, 0.0))
    call_s = time_s * cell.count * context.plan.itemsize / nbytes if nbytes >= SCALES_FROM else 0.0
    if call_s > time_s:
        return _too_long(context, call_s, f"a call would take about {format_time(call_s)} by {format_size(nbytes)}")
    return None


def unfit(context: Context, cell: Cell) -> str | None:
    """Why this cell cannot, or shall not, run on these ranks; None: it may."""
    size = context.party.comm.size
    if cell.algorithm in context.plan.bounded and size > BOUNDED_RANKS:
        return f"{cell.algorithm} is limited to {BOUNDED_RANKS} ranks unless named with -a"
    need, free = _memory(context, cell), context.memory_per_rank
    if free is not None and need > MEMORY_SHARE * free:
        return f"needs {format_size(need)} of buffers a rank, more than half of the {format_size(free)} that are free"
    if cell.segment and cell.count > MAX_SEGMENTS * cell.segment:
        return f"{cell.count // cell.segment} segments are more than {MAX_SEGMENTS}; use a larger --segment"
    if is_of_library(cell.algorithm) or cell.executor.is_reference:
        return None
    layouts = dict.fromkeys(layout for _, layout in context.parties)
    return next(filter(None, (context.algorithms[cell.algorithm].unmet(size, layout) for layout in layouts)), None)


def _memory(context: Context, cell: Cell) -> int:
    """Bytes of buffers of a rank at its peak."""
    nbytes = cell.count * context.plan.itemsize
    scratch = (cell.window or 0) * min(cell.segment or 0, cell.count) * context.plan.itemsize
    if cell.cache == "warm":
        return VECTORS * nbytes + scratch
    from .cold_calls import memory_for  # late: few runs are cold

    return VECTORS * nbytes + scratch + memory_for(nbytes, context.cold_nbytes)


def _too_long(context: Context, call_s: float, estimate: str) -> dict | None:
    """State and reason of a cell whose calls take `call_s`, if that is too long; `estimate` says how that is known."""
    plan = context.plan
    if context.deadline is not None:
        left_s = max(0.0, context.deadline - time.time())
        calls = CALLS_AFTER_FIRST + (CALLS if plan.check == "bits" else 0)
        if call_s * calls > LARGEST_SHARE * left_s:
            return {"state": "left out", "reason": "not enough time left of --within"}
    if plan.iters is None and call_s > LONGEST_CALL * max(plan.cell_time_s, plan.min_time_s):
        limit = f"more than {LONGEST_CALL} times --cell-time {plan.cell_time_s:g}s; increase --cell-time to measure it"
        return {"state": "skipped", "reason": f"{estimate}, {limit}"}
    return None


def after_first_call(context: Context, cell: Cell, time_s: float) -> dict | None:
    """State and reason of a cell that is not repeated; its first call, of `time_s`, is noted for larger sizes."""
    nbytes = cell.count * context.plan.itemsize
    name = competitor_name(cell.algorithm, cell.executor)
    if nbytes > context.first_calls.get(name, (0, 0.0))[0]:
        context.first_calls[name] = nbytes, time_s
    return _too_long(context, time_s, f"its first call took {format_time(time_s)}")
