"""Environment of a launch that all its ranks agree on; and whether a cell may run in it: ranks, memory, time.

`budget` decides when a running cell ends.
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from mpi4py import MPI

from ..algorithms import is_of_library
from ..runs.plan import BOUNDED_RANKS, TIME_USED_UP, Cell, Launch, Plan
from ..schedule.algorithm import Algorithm, Topology
from ..units import format_ranges, format_size, format_time
from .calls import Approach
from .sync import Clock, Sync
from .vectors import CALLS

VECTORS = 6  # of the cell's size at a rank's peak: input, output, scratch, reference, and two temporary ones
MEMORY_SHARE = 0.5  # of a node's free memory: the rest is for the MPI and others
LONGEST_CALL = 20  # times --cell-time; cells with longer calls are skipped
LARGEST_SHARE = 0.25  # of the launch's remaining time, for a single cell
YARDSTICKS = ("native", "ring")  # without them the other times of a size answer no question
CALLS_AFTER_FIRST = 12  # at least, in a cell: checks and the calls after them, a warm-up, six repetitions
SCALES_FROM = 64 * 1024  # bytes; above, time grows at least about as size does
MAX_SEGMENTS = 65536  # of one vector; with more, the proof takes longer than the call


class Grouping(NamedTuple):
    """Groups of --groups, and this rank's place among them; without groups all ranks all-reduce together."""

    groups: tuple[tuple[int, ...], ...] = ()  # ranks of each
    number: int = 0  # this rank's group
    layouts: tuple[Topology, ...] = ()  # declared layout of each group


class Party(NamedTuple):
    """The ranks that all-reduce with this one: its group, or all."""

    comm: MPI.Comm
    real: Topology
    topology: Topology
    ranks: tuple[int, ...] = ()  # of a group, numbered among all ranks

    @property
    def within(self) -> str:
        """Return a prefix for texts that count a group's ranks from 0: `within ranks 4-7: `; empty without groups."""
        return f"within ranks {format_ranges(self.ranks)}: " if self.ranks else ""


class Node(NamedTuple):
    """Facts and counters of this node, on one of its ranks; empty on the others."""

    facts: dict | None = None  # see `machine.node`
    since_start: Callable[[], dict] = dict  # see `surroundings`: processor time, and the node's counts


class Context(NamedTuple):
    """State of a launch on a rank, the same on all ranks unless noted."""

    comm: MPI.Comm
    plan: Plan
    launch: Launch
    real: Topology  # nodes as MPI reports them
    topology: Topology  # the same, or as declared
    algorithms: dict[str, Algorithm]
    memory_per_rank: int | None  # bytes free on the fullest node, per rank
    deadline: float | None  # seconds since the epoch; None: none
    counters: Callable[[], dict[str, int] | None]  # interfaces of this node; None on all but one of its ranks
    first_calls: dict[str, tuple[int, float]]  # competitor -> bytes and seconds of its first call at the largest size
    given_up: set[int]  # sizes in bytes at which the time left did not suffice for a yardstick
    begun: set[int]  # sizes in bytes at which a yardstick is measured: the other one is, too, whatever time is left
    clock: Clock  # of all ranks
    sync: Sync  # common start of calls
    cold_nbytes: int = 0  # touched by a rank between two uses of a buffer, if calls are cold
    grouping: Grouping = Grouping()
    group: Party | None = None  # this rank's group, or all ranks in another order; None: all, as started
    crowded: bool = False  # ranks share cores
    approach: Approach | None = None  # action of ranks before each call of the cell; None: none
    node: Node = Node()

    @property
    def party(self) -> Party:
        """Return the ranks that all-reduce with this one."""
        return self.group or Party(self.comm, self.real, self.topology)

    @property
    def parties(self) -> list[tuple[Sequence[int], Topology]]:
        """Return ranks and declared layout of each group, or of all ranks without groups."""
        return list(zip(self.grouping.groups, self.grouping.layouts)) or [
            (range(len(self.topology.node_of)), self.topology)
        ]


def nodes_of(comm) -> Topology:
    """Return which ranks of the mpi4py communicator share memory, by MPI's own split."""
    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    leader = node.bcast(comm.rank)
    node.Free()
    return Topology.from_labels(comm.allgather(leader))


def reason_to_skip(context: Context, cell: Cell) -> dict | None:
    """Return state and reason if this cell is not measured, else None; rank 0 decides."""
    is_owed = cell.algorithm in YARDSTICKS and cell.size_bytes in context.begun
    if context.deadline is not None and time.time() > context.deadline and not is_owed:
        return {"state": "left out", "reason": TIME_USED_UP}
    if cell.size_bytes in context.given_up and not is_owed:
        return {"state": "left out", "reason": f"no time left for {' and '.join(YARDSTICKS)} at this size"}
    if reason := unfit(context, cell):
        return {"state": "skipped", "reason": reason}
    size_bytes, time_s = context.first_calls.get(cell.competitor, (0, 0.0))
    call_s = time_s * cell.size_bytes / size_bytes if size_bytes >= SCALES_FROM else 0.0
    if call_s > time_s:
        return _too_long(
            context, cell, call_s, f"a call would take about {format_time(call_s)} by {format_size(size_bytes)}"
        )
    return None


def unfit(context: Context, cell: Cell) -> str | None:
    """Return why this cell cannot or should not run on these ranks, or None."""
    size = context.party.comm.size
    if cell.algorithm in context.plan.bounded and size > BOUNDED_RANKS:
        return f"{cell.algorithm} is limited to {BOUNDED_RANKS} ranks unless named with -a"
    need, free = _memory(context, cell), context.memory_per_rank
    if free is not None and need > MEMORY_SHARE * free:
        return f"needs {format_size(need)} of buffers a rank, more than half of the {format_size(free)} that are free"
    count = context.plan.element_count(cell)
    if cell.segment and count > MAX_SEGMENTS * cell.segment:
        return f"{count // cell.segment} segments are more than {MAX_SEGMENTS}; use a larger --segment"
    if is_of_library(cell.algorithm) or cell.competitor.is_reference:
        return None
    layouts = dict.fromkeys(layout for _, layout in context.parties)
    return next(filter(None, (context.algorithms[cell.algorithm].unmet(size, layout) for layout in layouts)), None)


def _memory(context: Context, cell: Cell) -> int:
    """Return the bytes of a rank's buffers at its peak."""
    size_bytes, itemsize = cell.size_bytes, context.plan.itemsize
    scratch = (cell.window or 0) * min((cell.segment or 0) * itemsize, size_bytes)
    if context.plan.cache == "warm":
        return VECTORS * size_bytes + scratch
    from .cold_calls import memory_for  # late: few runs are cold

    return VECTORS * size_bytes + scratch + memory_for(size_bytes, context.cold_nbytes)


def _too_long(context: Context, cell: Cell, call_s: float, estimate: str) -> dict | None:
    """Return state and reason of a cell whose calls of `call_s` are too long, else None; `estimate` tells how known.

    A yardstick may take all of the time left, with its like; where it is left out, so are the other cells of its size.
    """
    plan, is_yardstick = context.plan, cell.algorithm in YARDSTICKS
    if context.deadline is not None and not (is_yardstick and cell.size_bytes in context.begun):
        left_s = max(0.0, context.deadline - time.time())
        calls = CALLS_AFTER_FIRST + (CALLS if plan.check == "bits" else 0)
        share = 1 / len(set(YARDSTICKS).intersection(plan.algorithms)) if is_yardstick else LARGEST_SHARE
        if call_s * calls > share * left_s:
            if is_yardstick:
                context.given_up.add(cell.size_bytes)
            return {"state": "left out", "reason": "time ran out: too little is left of --within"}
    if plan.iters is None and call_s > LONGEST_CALL * max(plan.cell_time_s, plan.min_time_s):
        limit = f"more than {LONGEST_CALL} times --cell-time {plan.cell_time_s:g}s; increase --cell-time to measure it"
        return {"state": "skipped", "reason": f"{estimate}, {limit}"}
    return None


def after_first_call(context: Context, cell: Cell, time_s: float) -> dict | None:
    """Record the first call's `time_s` for larger sizes; return state and reason if the cell is not repeated."""
    if cell.size_bytes > context.first_calls.get(cell.competitor, (0, 0.0))[0]:
        context.first_calls[cell.competitor] = cell.size_bytes, time_s
    too_long = _too_long(context, cell, time_s, f"its first call took {format_time(time_s)}")
    if cell.algorithm in YARDSTICKS and not too_long:
        context.begun.add(cell.size_bytes)
    return too_long
