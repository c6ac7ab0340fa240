"""Whether a cell may run in its launch: ranks, memory, time. Rank 0 decides.

`budget` decides when a running cell ends.
"""

import time

from ..algorithms import is_of_library
from ..runs.plan import BOUNDED_RANKS, TIME_USED_UP, Cell
from ..units import format_size, format_time
from .context import Context
from .vectors import CALLS

VECTORS = 6  # of the cell's size at a rank's peak: input, output, scratch, reference, and two temporary ones
MEMORY_SHARE = 0.5  # of a node's free memory: the rest is for the MPI and others
LONGEST_CALL = 20  # times --cell-time; cells with longer calls are skipped
LARGEST_SHARE = 0.25  # of the launch's remaining time, for a single cell
YARDSTICKS = ("native", "ring")  # without them the other times of a size answer no question
CALLS_AFTER_FIRST = 12  # at least, in a cell: checks and the calls after them, a warm-up, six repetitions
SCALES_FROM = 64 * 1024  # bytes; above, time grows at least about as size does
MAX_SEGMENTS = 65536  # of one vector; with more, the proof takes longer than the call


def reason_to_skip(context: Context, cell: Cell) -> dict | None:
    """Return state and reason if this cell is not measured, else None; rank 0 decides."""
    is_owed = cell.algorithm in YARDSTICKS and cell.size_bytes in context.measured.begun
    if context.deadline is not None and time.time() > context.deadline and not is_owed:
        return {"state": "left out", "reason": TIME_USED_UP}
    if cell.size_bytes in context.measured.given_up and not is_owed:
        return {"state": "left out", "reason": f"no time left for {' and '.join(YARDSTICKS)} at this size"}
    if reason := unfit(context, cell):
        return {"state": "skipped", "reason": reason}
    size_bytes, time_s = context.measured.first_calls.get(cell.competitor, (0, 0.0))
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
    if context.deadline is not None and not (is_yardstick and cell.size_bytes in context.measured.begun):
        left_s = max(0.0, context.deadline - time.time())
        calls = CALLS_AFTER_FIRST + (CALLS if plan.check == "bits" else 0)
        share = 1 / len(set(YARDSTICKS).intersection(plan.algorithms)) if is_yardstick else LARGEST_SHARE
        if call_s * calls > share * left_s:
            if is_yardstick:
                context.measured.given_up.add(cell.size_bytes)
            return {"state": "left out", "reason": "time ran out: too little is left of --within"}
    if plan.iters is None and call_s > LONGEST_CALL * max(plan.cell_time_s, plan.min_time_s):
        limit = f"more than {LONGEST_CALL} times --cell-time {plan.cell_time_s:g}s; increase --cell-time to measure it"
        return {"state": "skipped", "reason": f"{estimate}, {limit}"}
    return None


def after_first_call(context: Context, cell: Cell, time_s: float) -> dict | None:
    """Record the first call's `time_s` for larger sizes; return state and reason if the cell is not repeated."""
    if cell.size_bytes > context.measured.first_calls.get(cell.competitor, (0, 0.0))[0]:
        context.measured.first_calls[cell.competitor] = cell.size_bytes, time_s
    too_long = _too_long(context, cell, time_s, f"its first call took {format_time(time_s)}")
    if cell.algorithm in YARDSTICKS and not too_long:
        context.measured.begun.add(cell.size_bytes)
    return too_long
