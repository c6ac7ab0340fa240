"""One launch on every rank: the order of its cells, each recorded before the next begins.

With a time limit, sizes are ordered so that leaving out the last ones hurts least. They are measured in sets, one after
the other: first the yardsticks at the sizes of the set, then the usual algorithms, then the others and the reference
times, each in random order. So a slow drift of the machine does not bias one size, and running out of time cuts the
sizes of one set only, and of these the algorithms that are asked for least. The sizes of a set lie in the widest gaps
between earlier ones; one that would take too much of the time left waits for cheaper ones.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from ..algorithms import USUAL
from ..medians import median
from ..runs.competitor import FLOOR_PREFIX
from ..runs.folder import CellKey
from ..runs.plan import Cell
from ..runs.recorder import Recorder
from ..runs.schema import CALLS, FLOORS, PLAIN_STAMPS, names, state_words
from ..units import format_size, format_time
from ..watching.whereabouts import doing
from .calls import CellTimes
from .cell import CellOutcome, outcome_of
from .context import Context
from .skipping import YARDSTICKS

doing("writing the rows of a cell", counts="rows")(Recorder.cell)
doing("waiting for the disk")(Recorder.cell_of_lines)


CLOCK_DIGITS = 9  # of a time in seconds: the clock counts nanoseconds

# Sets of sizes
LARGEST_SHARE = 1 / 3  # of the time left: a size expected to take more waits
SHARE_OF_SET = 1 / 2  # of the time left: expected for all sizes of a set, at most
SCALES_FROM = 4 * 1024  # bytes; above, the cost of a size grows at most as its bytes do
ALIKE, FIRST = 64 * 1024, 3  # the first set: so many sizes of at most so many bytes, at about the same cost


class ProgressListener(Protocol):
    """Receiver of rank 0's progress, between cells."""

    def begin(self, label: str, facts: dict) -> None:
        """Begin a cell: its label, and the facts of its row whatever its outcome."""

    def end(self, done: int, cells: int, label: str, failed: bool) -> None:
        """End cell `done` of `cells`; its label ends with its result."""

    def is_warned(self) -> bool:
        """Return whether no further cell may begin, although some are left."""


@doing(counts="number")
def measure_cells(
    context: Context, recorder: Recorder | None, finished: set[CellKey], listener: ProgressListener
) -> int:
    """Measure the unfinished cells; only rank 0 has a recorder and reports.

    Before each cell rank 0 broadcasts whether it was warned, outside of timed calls. Returns the number of wrong or
    refused cells.
    """
    for comm in (context.comm, context.party.comm):
        comm.allreduce(0)  # mpi4py's first one makes a communicator, while no other thread may run
    cells = context.comm.bcast([cell for cell in context.plan.cells(context.launch) if cell.key not in finished])
    failed: list[bool] = []
    all_reduces_left = sum(not cell.competitor.is_reference for cell in cells)
    size_sets: list[list[int]] = []
    for number, cell in enumerate(_in_order(context, cells, size_sets), start=1):
        if context.comm.bcast(listener.is_warned()):
            break
        facts = _facts_before(context, cell)
        name = FLOORS[cell.algorithm.removeprefix(FLOOR_PREFIX)] if cell.competitor.is_reference else cell.competitor
        label = f"{name} {format_size(facts['size_bytes'])}"
        if recorder is not None:
            listener.begin(label, {**facts, "attempt": recorder.attempt})
        outcome = outcome_of(context, cell, all_reduces_left)
        all_reduces_left -= not cell.competitor.is_reference
        failed.append(outcome.facts["state"] in ("wrong", "refused"))
        if recorder is not None:
            _record(context, recorder, facts | outcome.facts, outcome.times)
            listener.end(number, len(cells), label + _format_result(outcome), failed[-1])
    if recorder is not None and size_sets:
        recorder.keep(size_sets=size_sets)
    return sum(failed)


def _facts_before(context: Context, cell: Cell) -> dict:
    """Return the facts of a cell that are known before it is measured."""
    plan = context.plan
    return {
        "competitor": cell.competitor,
        "segment": cell.segment,
        "ranks": context.comm.size,
        "nodes": len(context.real.nodes),
        "nodes_declared": len(context.topology.nodes) if plan.pretend_ranks_per_node else None,
        "size_bytes": cell.size_bytes,
    }


def _record(context: Context, recorder: Recorder, facts: dict, times: CellTimes | None) -> None:
    """Record the cell: its findings, stamps if requested, facts, and one row per call."""
    if times is None:
        recorder.cell(facts, [])
        return
    for finding in times.findings:
        recorder.found(finding)
    if times.stamps is not None and (context.plan.record == "all" or len(times.stamps) > len(PLAIN_STAMPS)):
        facts["stamps"] = recorder.stamps(times.stamps)
    recorder.cell({**facts, "iterations": 1}, _rows(times))


def _rows(times: CellTimes) -> Iterator[dict]:
    """Yield a row a call, its times with as many digits as the clock has."""
    columns = {name: values for name, values in times.calls.items() if name in names(CALLS)}
    for name in filter(lambda name: name.endswith("_s"), columns):
        columns[name] = [value if value is None else round(value, CLOCK_DIGITS) for value in columns[name]]
    for i, values in enumerate(zip(*columns.values())):
        yield {"call": i, "warmup": i < times.warmups, **dict(zip(columns, values))}


def _format_result(outcome: CellOutcome) -> str:
    facts = outcome.facts
    if outcome.times is None or facts["state"] != "done":
        return f": {state_words(facts['state'])}: {facts.get('reason') or str(facts.get('wrong')) + ' wrong elements'}"
    return f"  {format_time(median(outcome.times.valid_s()))}"


def _in_order(context: Context, cells: list[Cell], size_sets: list[list[int]]) -> Iterator[Cell]:
    """Yield the cells in their random order; with a deadline set by set of sizes, as rank 0's clock allows.

    The sizes of each set, bytes, are appended to `size_sets`.
    """
    if context.deadline is None:
        yield from cells
        return

    spent_s = dict[int, float]()
    waiting = spread_sizes(sorted({cell.size_bytes for cell in cells}))
    while waiting:
        chosen = context.comm.bcast(next_set(waiting, spent_s, context.deadline - time.time()))
        size_sets.append(sorted(chosen))
        waiting = [size for size in waiting if size not in chosen]
        of_set = [cell for cell in cells if cell.size_bytes in chosen]
        for cell in sorted(of_set, key=_turn):
            begun = time.time()
            yield cell
            spent_s[cell.size_bytes] = spent_s.get(cell.size_bytes, 0.0) + time.time() - begun


def _turn(cell: Cell) -> int:
    """Return when a cell of a set has its turn: 0 for yardsticks, 1 for other usual algorithms, 2 for all else."""
    return 0 if cell.algorithm in YARDSTICKS else 1 if cell.algorithm in USUAL else 2


def next_set(waiting: Sequence[int], spent_s: Mapping[int, float], left_s: float) -> list[int]:
    """Return the next of the `waiting` sizes (bytes, in the order of `spread_sizes`), at least one.

    `spent_s` holds the seconds of each measured size, all its algorithms together; `left_s` are left. If no size is
    worth its time, the smallest is returned.
    """
    chosen: list[int] = []
    expected_s = 0.0
    for size in waiting:
        size_s = _expected_s(size, spent_s)
        if not spent_s:
            fits = size <= ALIKE and len(chosen) < FIRST
        else:
            fits = size_s <= LARGEST_SHARE * left_s and expected_s + size_s <= SHARE_OF_SET * left_s
        if fits:
            chosen.append(size)
            expected_s += size_s
    return chosen or [min(waiting)]


def _expected_s(size: int, spent_s: Mapping[int, float]) -> float:
    """Return the seconds that a size is expected to take; 0 if nothing is known.

    Proportional to the largest size below it, at most the time of a larger one.
    """
    above = [spent_s[measured] for measured in spent_s if measured >= size]
    below = [measured for measured in spent_s if measured < size]
    expected = max((spent_s[measured] for measured in below), default=0.0)
    if below and max(below) >= SCALES_FROM:
        expected = max(expected, spent_s[max(below)] * size / max(below))
    return min([expected, *above]) if above else expected


def spread_sizes(sizes: Sequence[int]) -> list[int]:
    """Return the ascending `sizes` as the first, the middle, the last, the middles of the halves, and so on."""
    order, gaps = [0, (len(sizes) - 1) // 2, len(sizes) - 1], [(0, (len(sizes) - 1) // 2)]
    gaps.append((gaps[0][1], len(sizes) - 1))
    for low, high in gaps:  # grows during iteration
        middle = (low + high) // 2
        if low < middle < high:
            order.append(middle)
            gaps += [(low, middle), (middle, high)]
    return [sizes[i] for i in dict.fromkeys(order)]
