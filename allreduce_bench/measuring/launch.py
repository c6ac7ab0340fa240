"""One launch, on every rank: which cells in which order, each kept before the next begins.

Where time may not suffice sizes come in such an order that what is left out in the end hurts least. They are measured
in sets, one set after the other, and the cells of a set in random order: so a slow drift of the machine does not fall
upon one size or one algorithm, and time that runs out cuts the sizes of one set only. Whole sizes must be complete, for
only then can algorithms be compared. The sizes of a set lie in the widest gaps between those before them, but one that
would take too much of the time that is left waits for cheaper ones.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from ..runs.cell import competitor_name
from ..runs.folder import CellKey
from ..runs.plan import Cell
from ..runs.recorder import Recorder
from ..runs.schema import ALONE, FLOORS, PLAIN_STAMPS
from ..units import format_size, format_time
from ..watching.whereabouts import doing
from .calls import CellTimes
from .cell import CellOutcome, outcome_of
from .context import Context

doing("writing the rows of a cell", counts="rows")(Recorder.cell)
doing("waiting for the disk")(Recorder.cell_of_lines)


# sets of sizes
LARGEST_SHARE = 1 / 3  # of the time left: a size that is expected to take more has to wait
SHARE_OF_SET = 1 / 2  # of the time left: what the sizes of a set are expected to take together, at most
SCALES_FROM = 4 * 1024  # bytes: from here on the cost of a size grows at most as its bytes do
ALIKE, FIRST = 64 * 1024, 3  # the first set: so many sizes of at most so many bytes, whose cells cost about the same


class ProgressListener(Protocol):
    """Whom rank 0 tells how far it is, between cells."""

    def begin(self, label: str, facts: dict) -> None:
        """A cell begins: what readers call it, and the facts that stand in its row whatever becomes of it."""

    def end(self, done: int, cells: int, label: str, failed: bool) -> None:
        """Cell `done` of `cells` has ended; its label ends with its result."""

    def is_warned(self) -> bool:
        """Whether no further cell shall begin, although some are left."""


@doing(counts="number")
def measure_cells(
    context: Context, recorder: Recorder | None, finished: set[CellKey], listener: ProgressListener
) -> int:
    """Measure the cells that are not finished; only rank 0 has a recorder, and tells.

    Before each cell rank 0 says whether it was warned: one broadcast, outside of what is timed. Returns the number of
    wrong or refused cells.
    """
    for comm in (context.comm, context.party.comm):
        comm.allreduce(0)  # the first one of mpi4py makes a communicator, and until then no other thread runs
    cells = context.comm.bcast([cell for cell in context.plan.cells(context.launch) if cell.key not in finished])
    failed: list[bool] = []
    all_reduces_left = sum(not cell.executor.is_reference for cell in cells)
    size_sets: list[list[int]] = []
    for number, cell in enumerate(_in_order(context, cells, size_sets), start=1):
        if context.comm.bcast(listener.is_warned()):
            break
        facts = _facts_before(context, cell)
        name = FLOORS[cell.algorithm] if cell.executor.is_reference else competitor_name(cell.algorithm, cell.executor)
        label = f"{name} {format_size(facts['nbytes'])}"
        where = cell.placement if len(context.plan.placement) > 1 else ""
        label += "".join(f" {word}" for word in (cell.groups, cell.arrival, where) if word)
        if recorder is not None:
            listener.begin(label, {**facts, "attempt": recorder.attempt})
        outcome = _outcome(context, cell, all_reduces_left)
        all_reduces_left -= not cell.executor.is_reference
        failed.append(outcome.facts["state"] in ("wrong", "refused"))
        if recorder is not None:
            _record(context, recorder, facts | outcome.facts, outcome.times)
            listener.end(number, len(cells), label + _format_result(outcome), failed[-1])
    if recorder is not None and size_sets:
        recorder.keep(size_sets=size_sets)
    return sum(failed)


def _outcome(context: Context, cell: Cell, cells_left: int) -> CellOutcome:
    if cell.groups != ALONE:
        return outcome_of(context, cell, cells_left)
    from .in_groups import outcome_alone  # late: few runs have groups

    return outcome_alone(context, cell, cells_left)


def _facts_before(context: Context, cell: Cell) -> dict:
    """What is known of a cell before it is measured."""
    plan = context.plan
    return {
        "algorithm": cell.algorithm,
        "executor": cell.executor,
        "segment": cell.segment,
        "window": cell.window,
        "ranks": context.comm.size,
        "nodes": len(context.real.nodes),
        "nodes_declared": len(context.topology.nodes) if plan.pretend_ranks_per_node else None,
        "dtype": plan.dtype,
        "op": plan.op,
        "count": cell.count,
        "nbytes": cell.count * plan.itemsize,
        "cache": cell.cache,
        "groups": cell.groups,
        "arrival": cell.arrival,
        "placement": cell.placement,
    }


def _record(context: Context, recorder: Recorder, facts: dict, times: CellTimes | None) -> None:
    """Give the cell to the recorder: its findings, the stamps if they are wanted, its facts, and one row per call."""
    if times is None:
        recorder.cell(facts, [])
        return
    for finding in times.findings:
        recorder.found(finding)
    if times.stamps is not None and (context.plan.record == "all" or len(times.stamps) > len(PLAIN_STAMPS)):
        facts["stamps"] = recorder.stamps(times.stamps)
    recorder.cell(facts, _rows(facts, times))


def _rows(facts: dict, times: CellTimes) -> Iterator[dict]:
    facts_of_calls = {**facts, "in_place": False, "iterations": 1}
    for i, values in enumerate(zip(*times.calls.values())):
        yield {**facts_of_calls, "repetition": i, "warmup": i < times.warmups, **dict(zip(times.calls, values))}


def _format_result(outcome: CellOutcome) -> str:
    facts = outcome.facts
    if outcome.times is None or facts["state"] != "done":
        return f": {facts['state']}: {facts.get('reason') or str(facts.get('wrong')) + ' wrong elements'}"
    return f"  {format_time(_median(outcome.times.valid_s()))}"


def _median(times: list[float]) -> float:
    """Without numpy.median, which imports numpy.ma, and without statistics, which imports more."""
    ordered = sorted(times)
    return (ordered[(len(times) - 1) // 2] + ordered[len(times) // 2]) / 2


def _in_order(context: Context, cells: list[Cell], size_sets: list[list[int]]) -> Iterator[Cell]:
    """The cells in their random order; with a deadline set by set of sizes, as rank 0's clock allows.

    The sizes of each set, bytes, are added to `size_sets`.
    """
    if context.deadline is None:
        yield from cells
        return

    itemsize, spent_s = context.plan.itemsize, dict[int, float]()
    waiting = spread_sizes(sorted({cell.count * itemsize for cell in cells}))
    while waiting:
        chosen = context.comm.bcast(next_set(waiting, spent_s, context.deadline - time.time()))
        size_sets.append(sorted(chosen))
        waiting = [size for size in waiting if size not in chosen]
        for cell in cells:
            if (size := cell.count * itemsize) in chosen:
                begun = time.time()
                yield cell
                spent_s[size] = spent_s.get(size, 0.0) + time.time() - begun


def next_set(waiting: Sequence[int], spent_s: Mapping[int, float], left_s: float) -> list[int]:
    """Those of the `waiting` sizes (bytes, as `spread_sizes` has them) that come next: never none.

    `spent_s` holds the seconds that each size before took, all its algorithms together; `left_s` are left. Where no
    size is worth its time, the smallest comes alone.
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
    """The seconds that a size is expected to take; 0 where nothing is known.

    In proportion to the largest size below it, at most what a larger one took.
    """
    above = [spent_s[measured] for measured in spent_s if measured >= size]
    below = [measured for measured in spent_s if measured < size]
    expected = max((spent_s[measured] for measured in below), default=0.0)
    if below and max(below) >= SCALES_FROM:
        expected = max(expected, spent_s[max(below)] * size / max(below))
    return min([expected, *above]) if above else expected


def spread_sizes(sizes: Sequence[int]) -> list[int]:
    """The first of the ascending `sizes`, the middle, the last, the middles of the halves, and so on."""
    order, gaps = [0, (len(sizes) - 1) // 2, len(sizes) - 1], [(0, (len(sizes) - 1) // 2)]
    gaps.append((gaps[0][1], len(sizes) - 1))
    for low, high in gaps:  # grows while it is read
        middle = (low + high) // 2
        if low < middle < high:
            order.append(middle)
            gaps += [(low, middle), (middle, high)]
    return [sizes[i] for i in dict.fromkeys(order)]
