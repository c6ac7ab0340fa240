"""All-reduces that go wrong on purpose, each in a whole cell: does the cell end as wrong? Run it with

    mpirun -n 4 python faults.py [--sample] [--in-place] [--cell-time S] [--one-of N --cells M]

The executor and native are replaced by ones that go wrong; everything else is as in a run. Rank 0 prints a line of JSON
for each fault and setting: the fault, whether it was caught, and what the cell said. With --one-of each of M cells has
calls that go wrong one time in N, drawn at random, and the line has the probability that the cell promises.
"""

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from unittest.mock import patch

from mpi4py import MPI
from wrong_calls import FAULTS, Fault, Run, bounds, faulty, one_call_of, sound, timed_calls_are_known

from allreduce_bench.algorithms import builtin
from allreduce_bench.executing.native import native
from allreduce_bench.executing.sendrecv import sendrecv
from allreduce_bench.measuring import calls, cell, skipping
from allreduce_bench.measuring.clock import Clock
from allreduce_bench.measuring.context import Context, Measured, Party
from allreduce_bench.measuring.sync import Barrier
from allreduce_bench.runs.dtypes import is_float, teach_numpy
from allreduce_bench.runs.plan import Cell, Launch, Plan
from allreduce_bench.schedule.algorithm import Topology

FLOATS = ("float16", "bfloat16", "float32", "float64")
KINDS = [("sum", dtype) for dtype in (*FLOATS, "int32")] + [("max", "float32"), ("min", "bfloat16"), ("prod", "int64")]
KINDS += [("prod", "float16"), ("avg", "float32"), ("max", "int32"), ("min", "float64")]
COUNTS = (1, 2, 3000)  # elements
ODD_COUNT = 3001  # elements in which faults strike at random: with 2 ranks one holds a number in one call of 3000


def context_of(comm: MPI.Comm, op: str, dtype: str, seed: int, cell_time_s: float, in_place: bool = False) -> Context:
    """One node of all ranks; a common start by a barrier."""
    choices = {"seed": seed, "dtype": dtype, "op": op, "cell_time_s": cell_time_s, "in_place": in_place}
    plan = Plan(("ring",), (), (comm.size,), 1, **choices)
    node = Topology.one_node(comm.size)
    clock = Clock(comm, shared=True)
    return Context(
        comm,
        plan,
        Launch(comm.size, 1),
        node,
        node,
        builtin(),
        clock,
        Barrier(comm),
        Party(comm, node, node),
        ((range(comm.size), node),),
    )


def outcome(context: Context, fault: Run, algorithm: str, count: int, cache: str = "warm") -> cell.CellOutcome:
    """A cell of native or of a schedule whose every call has this fault."""
    bounds.clear()
    cell.NATIVES["native"] = lambda *place: faulty(fault, native(*place), *place)
    cell.EXECUTORS["sendrecv"] = lambda steps, *place, **more: faulty(fault, sendrecv(steps, *place, **more), *place)
    return cell.outcome_of(
        replace(context, plan=replace(context.plan, cache=cache), measured=Measured(), cold_nbytes=1 << 20),
        Cell(algorithm, count * context.plan.itemsize),
        1,
    )


def settings(size: int, sample: bool) -> Iterator[tuple]:
    """(name, fault, op, dtype, count, cache) of every fault and setting; a sample goes through the kinds in turn."""
    for number, (name, fault) in enumerate({"none": Fault(sound), **FAULTS}.items()):
        if size < fault.ranks:
            continue
        kinds = [kind for kind in KINDS if kind[0] in fault.ops and (is_float(kind[1]) or not fault.floats)]
        counts = [count for count in COUNTS if count >= fault.count]
        cases = [(kind, count, "warm") for kind, count in product(kinds, counts)]
        cases += [(kinds[number % len(kinds)], counts[number % len(counts)], "cold")]
        for kind, count, cache in cases[number % 7 :: 7] if sample else cases:
            yield name, fault.run, *kind, count, cache


def works_anyway(name: str) -> bool:
    """Whether the work of every timed call, or of nearly every one, was done all the same.

    Results that are remembered by the input were not used, since inputs changed; a fault of all calls of a batch but
    one found no batch of more than one call, as on a busy machine.
    """
    remembered, timed = sum(bound.remembered for bound in bounds), sum(bound.timed_calls for bound in bounds)
    if "remembered" in name:
        return remembered <= timed / 100
    return ("batch" in name or "left as" in name) and not sum(bound.left_out for bound in bounds)


@contextmanager
def ways_are_put_back() -> Iterator[None]:
    """What a fault replaces is as before afterwards."""
    teach_numpy("bfloat16")
    never_too_long = patch.object(skipping, "LONGEST_CALL", 10**6)  # however busy the cores are
    timed = patch.object(calls, "timed", calls.timed)
    with patch.dict(cell.NATIVES), patch.dict(cell.EXECUTORS), timed, never_too_long:
        timed_calls_are_known()
        yield


def of_settings(comm: MPI.Comm, cell_time_s: float, sample: bool, in_place: bool = False) -> list[dict]:
    """Return what each fault and setting came to; in place nothing is cold."""
    found = []
    with ways_are_put_back():
        for number, (name, fault, op, dtype, count, cache) in enumerate(settings(comm.size, sample)):
            if in_place and cache == "cold":
                continue
            algorithm = "native" if number % 3 == 0 and dtype not in ("float16", "bfloat16") else "ring"
            context = context_of(comm, op, dtype, number, cell_time_s, in_place)
            facts = outcome(context, fault, algorithm, count, cache).facts
            setting = f"{op} {dtype} {count} {algorithm} {cache}"
            is_caught = facts["state"] == "wrong" or works_anyway(name)
            kept = {name: facts.get(name) for name in ("state", "wrong", "checks", "reason")}
            found.append({"fault": name, "setting": setting, "caught": is_caught} | kept)
    return found


def of_one_call(comm: MPI.Comm, most: int, cells: int, cell_time_s: float) -> list[dict]:
    """Return what so many cells came to, whose calls go wrong one time in `most`; on rank 0."""
    found = []
    with ways_are_put_back():
        context = context_of(comm, "sum", "float32", 1, cell_time_s)
        for number in range(cells):
            facts = outcome(context, one_call_of(most, number), "ring", ODD_COUNT).facts
            other = outcome(context, sound, "ring", ODD_COUNT)  # the first may have ended early
            if other.times is not None:
                by_number = (1 - 1 / ODD_COUNT / most) ** other.times.number
                promised = 1 - (1 - 1 / most) ** other.facts["checks"] * by_number
                found.append({"caught": facts["state"] == "wrong", "promised": promised, "checks": facts["checks"]})
    return found


def main() -> None:
    """All faults, or the one that strikes at random."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--in-place", action="store_true")
    parser.add_argument("--cell-time", type=float, default=0.5)
    parser.add_argument("--one-of", type=int)
    parser.add_argument("--cells", type=int, default=100)
    options = parser.parse_args()
    comm = MPI.COMM_WORLD.Dup()
    if options.one_of:
        found = of_one_call(comm, options.one_of, options.cells, options.cell_time)
    else:
        found = of_settings(comm, options.cell_time, options.sample, options.in_place)
    if comm.rank == 0:
        print(*map(json.dumps, found), sep="\n", flush=True)


if __name__ == "__main__":
    main()
