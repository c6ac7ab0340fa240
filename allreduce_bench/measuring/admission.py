"""Whether a cell may run: ranks, memory, time. On rank 0's word; when one that runs is over says `budget`."""

import time

from ..runs.plan import BOUNDED_RANKS, LEFT_OUT, Cell
from ..runs.schema import FLOOR
from ..units import format_size, format_time
from .context import Context
from .random_floats import CALLS

VECTORS = 6  # of the cell's size at a rank's peak: input, output, scratch, reference, and two that come and go
MEMORY_SHARE = 0.5  # of what is free on a node: the rest is the MPI's, and others'
LONGEST_CALL = 20  # times --cell-time: a call that takes longer is skipped
LARGEST_SHARE = 0.25  # of the time that a launch has left: no single cell gets more
CALLS_AFTER_FIRST = 8  # of a cell at least: two checks, one warm-up, five repetitions
SCALES_FROM = 64 * 1024  # bytes: from here on, time grows at least about as size does
MAX_SEGMENTS = 65536  # of one vector: beyond, the schedule takes longer to prove than the call to run


def reason_to_skip(launched: Context, cell: Cell) -> dict | None:
    """Why this cell is not measured, on rank 0's word: its state and its reason; None: it is."""
    if launched.deadline is not None and time.time() > launched.deadline:
        return {"state": "left out", "reason": LEFT_OUT}
    if reason := _unfit(launched, cell):
        return {"state": "skipped", "reason": reason}
    nbytes, time_s = launched.first_calls.get(cell.algorithm, (0, 0.0))
    call_s = time_s * cell.count * launched.plan.itemsize / nbytes if nbytes >= SCALES_FROM else 0.0
    if call_s > time_s:
        return _too_long(launched, call_s, f"a call would take about {format_time(call_s)} by {format_size(nbytes)}")
    return None


def _unfit(launched: Context, cell: Cell) -> str | None:
    """Why this cell cannot, or shall not, run on these ranks."""
    size = launched.party.comm.size
    if cell.algorithm in launched.plan.bounded and size > BOUNDED_RANKS:
        return f"{cell.algorithm} stops at {BOUNDED_RANKS} ranks unless -a names it"
    need, free = _memory(launched, cell), launched.memory_per_rank
    if free is not None and need > MEMORY_SHARE * free:
        return f"needs {format_size(need)} of buffers a rank, more than half of the {format_size(free)} that are free"
    if cell.segment and cell.count > MAX_SEGMENTS * cell.segment:
        return f"{cell.count // cell.segment} segments are more than {MAX_SEGMENTS}; use a larger --segment"
    if cell.executor in ("native", FLOOR):
        return None
    layouts = dict.fromkeys(launched.layouts or (launched.topology,))
    return next(filter(None, (launched.algorithms[cell.algorithm].unmet(size, layout) for layout in layouts)), None)


def _memory(launched: Context, cell: Cell) -> int:
    """Bytes of buffers of a rank at its peak."""
    nbytes = cell.count * launched.plan.itemsize
    if cell.cache == "warm":
        return VECTORS * nbytes
    from .cold_calls import memory_for  # late: few runs are cold

    return VECTORS * nbytes + memory_for(nbytes, launched.cold_nbytes)


def _too_long(launched: Context, call_s: float, words: str) -> dict | None:
    """State and reason of a cell whose calls take `call_s`, as `words` say, if that is more than it is worth."""
    plan = launched.plan
    if launched.deadline is not None:
        left_s = max(0.0, launched.deadline - time.time())
        calls = CALLS_AFTER_FIRST + (CALLS if plan.check == "bits" else 0)
        if call_s * calls > LARGEST_SHARE * left_s:
            return {"state": "left out", "reason": "its calls take too long for the time that --within left"}
    if plan.iters is None and call_s > LONGEST_CALL * max(plan.cell_time_s, plan.min_time_s):
        limit = f"more than {LONGEST_CALL} times --cell-time {plan.cell_time_s:g}s; raise that to measure it"
        return {"state": "skipped", "reason": f"{words}, {limit}"}
    return None


def after_first_call(launched: Context, cell: Cell, time_s: float) -> dict | None:
    """State and reason of a cell that is not repeated; its first call, of `time_s`, is noted for larger sizes."""
    nbytes = cell.count * launched.plan.itemsize
    if nbytes > launched.first_calls.get(cell.algorithm, (0, 0.0))[0]:
        launched.first_calls[cell.algorithm] = nbytes, time_s
    return _too_long(launched, time_s, f"its first call took {format_time(time_s)}")
