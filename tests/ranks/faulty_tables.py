"""Compiled all-reduces whose table goes wrong in some calls of a batch, each in a whole cell: does it end as wrong?

    mpirun -n 4 python faulty_tables.py [--sample] [--cell-time S]

The kernel runs the rows as they are found in memory: before a call the fault writes others there. Calls that are made
one by one, and those of the checks before them, are sound. Rank 0 prints a line of JSON for each fault and setting.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from itertools import product
from unittest.mock import patch

import numpy as np
from faults import context_of
from mpi4py import MPI

from allreduce_bench.executing import EXECUTORS as ALL_EXECUTORS
from allreduce_bench.executing import NATIVES as ALL_NATIVES
from allreduce_bench.executing import CommonStart, Prepared
from allreduce_bench.executing.call_numbers import CallNumbers
from allreduce_bench.executing.kernel import BUFFER, INTO, INTO_LENGTH, INTO_OFFSET, KIND, LENGTH, OFFSET
from allreduce_bench.executing.table import COPY, EXCHANGE, REDUCE
from allreduce_bench.measuring import cell
from allreduce_bench.measuring.context import Context
from allreduce_bench.runs.dtypes import teach_numpy
from allreduce_bench.runs.plan import Cell

KINDS = [("sum", "float32"), ("max", "int32"), ("avg", "bfloat16"), ("prod", "float64")]
COUNTS = (1, 17, 3000)  # elements
SOUND = {**ALL_EXECUTORS, **ALL_NATIVES}
Rows = np.ndarray  # int64 [row, column]


def _empty(rows: Rows) -> None:
    rows[:, KIND] = COPY
    rows[:, [LENGTH, INTO_LENGTH]] = 0


def all_left_out(rows: Rows) -> None:
    _empty(rows)


def second_half_left_out(rows: Rows) -> None:
    _empty(rows[len(rows) // 2 :])


def last_row_left_out(rows: Rows) -> None:
    _empty(rows[-1:])


def first_reduction_left_out(rows: Rows) -> None:
    _empty(rows[_place(rows, REDUCE, 0)])


def last_reduction_left_out(rows: Rows) -> None:
    _empty(rows[_place(rows, REDUCE, -1)])


def what_arrived_twice(rows: Rows) -> None:
    """The last reduction is of what arrived with itself, without the own input."""
    last = rows[_place(rows, REDUCE, -1)]
    last[:, [BUFFER, OFFSET]] = last[:, [INTO, INTO_OFFSET]]


def nothing_in_the_last_message(rows: Rows) -> None:
    rows[_place(rows, EXCHANGE, -1), LENGTH] = rows[_place(rows, EXCHANGE, -1), INTO_LENGTH] = 0


def one_element_fewer(rows: Rows) -> None:
    """In every row that has any."""
    lengths = rows[:, [LENGTH, INTO_LENGTH]]
    rows[:, [LENGTH, INTO_LENGTH]] = np.maximum(lengths - 1, 0)


def _place(rows: Rows, kind: int, number: int) -> slice:
    """Where the first or the last row of a kind is; nowhere if there is none."""
    found = np.flatnonzero(rows[:, KIND] == kind)
    return slice(found[number], found[number] + 1) if len(found) else slice(0, 0)


Fault = Callable[[Rows], None]
FAULTS: dict[str, Fault] = {
    "all rows left out": all_left_out,
    "second half of the rows left out": second_half_left_out,
    "last row left out": last_row_left_out,
    "first reduction left out": first_reduction_left_out,
    "last reduction left out": last_reduction_left_out,
    "what arrived twice, without the own input": what_arrived_twice,
    "nothing in the last message": nothing_in_the_last_message,
    "one element fewer in every row": one_element_fewer,
}
WHEN: dict[str, Callable[[int, int], bool]] = {  # of a call and the calls of its batch
    "in all calls but the first": lambda call, calls: call > 0,
    "in all calls but the last": lambda call, calls: call < calls - 1,
    "in every second call": lambda call, calls: call % 2 == 1,
}


changed = [0]  # calls of the cell whose rows were others, and not only in rows of nothing


def faulty(fault: Fault, when: Callable[[int, int], bool], sound: Prepared) -> Prepared:
    """`sound`, with these rows in some calls of its batches."""
    assert sound.timed_calls is not None
    loop, rows = sound.timed_calls, sound.timed_calls.args[0].rows  # type: ignore[attr-defined]

    def timed_calls(calls: int, start: CommonStart | None, numbers: CallNumbers | None) -> np.ndarray:
        blocks = []
        for call in range(calls):
            kept = rows.copy()
            if when(call, calls):
                fault(rows)
                changed[0] += bool((rows != kept)[kept[:, [LENGTH, INTO_LENGTH]].any(axis=1)].any())
            blocks.append(loop(1, start, numbers))
            rows[:] = kept
        return np.hstack(blocks)

    return sound._replace(timed_calls=timed_calls)


def settings(size: int, sample: bool) -> Iterator[tuple]:
    """(fault, when, algorithm, op, dtype, count) of each cell; a sample goes through them in turn."""
    cases = list(product(FAULTS, WHEN, ("ring", "recursive_doubling"), KINDS, COUNTS))
    cases += list(product(["all rows left out"], WHEN, ("native",), KINDS[:2], COUNTS))
    for number, (name, when, algorithm, kind, count) in enumerate(cases):
        if count < size > 2:
            continue  # ranks have other rows: one without a message would let another one wait for ever
        if not sample or number % 29 == size % 29:
            yield name, when, algorithm, *kind, count


def outcome(context: Context, fault: Fault | None, when: str, algorithm: str, count: int) -> dict:
    """The facts of a cell with this fault, None: with none; and how many calls of any rank had it."""
    changed[0] = 0
    for table, way in ((cell.EXECUTORS, "compiled"), (cell.NATIVES, "native@compiled")):
        table[way] = lambda *bound, sound=SOUND[way], **more: _bound(fault, when, sound(*bound, **more))
    facts = cell.outcome_of(context, Cell(f"{algorithm}@compiled", count * context.plan.itemsize, None), 1).facts
    return facts | {"changed": context.comm.allreduce(changed[0])}


def _bound(fault: Fault | None, when: str, sound: Prepared) -> Prepared:
    return faulty(fault, WHEN[when], sound) if fault else sound


def of_settings(comm: MPI.Comm, cell_time_s: float, sample: bool) -> list[dict]:
    """Return what each setting came to, and some of them without a fault."""
    teach_numpy("bfloat16")
    found = []
    with patch.dict(cell.EXECUTORS), patch.dict(cell.NATIVES):
        for number, (name, when, algorithm, op, dtype, count) in enumerate(settings(comm.size, sample)):
            context = context_of(comm, op, dtype, number, cell_time_s)
            for fault in (name, "none") if number % 7 == 0 else (name,):
                facts = outcome(context, FAULTS.get(fault), when, algorithm, count)
                setting = f"{when}: {op} {dtype} {count} {algorithm}"
                kept = {key: facts.get(key) for key in ("changed", "state", "wrong", "reason")}
                found.append({"fault": fault, "setting": setting, "caught": facts["state"] == "wrong"} | kept)
    return found


def main() -> None:
    """All settings, or a sample."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--cell-time", type=float, default=0.1)
    options = parser.parse_args()
    found = of_settings(MPI.COMM_WORLD.Dup(), options.cell_time, options.sample)
    if MPI.COMM_WORLD.rank == 0:
        print(*map(json.dumps, found), sep="\n", flush=True)


if __name__ == "__main__":
    main()
