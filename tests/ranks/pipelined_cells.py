"""Whole cells run pipelined, as a run measures them."""

from dataclasses import replace
from unittest.mock import patch

from faults import context_of
from mpi4py import MPI

from allreduce_bench.algorithms import builtin
from allreduce_bench.measuring import cell, skipping
from allreduce_bench.runs.dtypes import teach_numpy
from allreduce_bench.runs.plan import Cell
from allreduce_bench.schedule import Step, split
from allreduce_bench.schedule.algorithm import Cost, algorithm

COUNT, SEGMENT, WINDOW = 1000, 100, 2


@algorithm(cost=lambda size, topology, count, segment: Cost(1, count, count), exact=False, formula="?")
def crossed(rank, size, topology, count, segment):
    """All elements at once, the halves in another order by each of two ranks: it may not be cut."""
    low, high = split(range(count), 2)
    orders = (low, high), (high, low)
    yield Step(1 - rank, orders[rank], 1 - rank, orders[1 - rank], reduce=True)


def measured(comm: MPI.Comm) -> list[dict]:
    """The facts of one cell of each kind: cut, with segments of its own, whole, and cold."""
    teach_numpy("bfloat16")
    found = []
    for name, op, dtype, cache in (
        ("ring", "avg", "float32", "warm"),
        ("tree", "max", "bfloat16", "warm"),
        ("crossed", "sum", "float64", "warm"),
        ("rabenseifner", "sum", "int32", "cold"),
    ):
        context = context_of(comm, op, dtype, 1, 0.02)
        plan = replace(context.plan, cache=cache)
        context = replace(context, plan=plan, algorithms=builtin() | {"crossed": crossed}, cold_nbytes=1 << 16)
        with patch.object(skipping, "LONGEST_CALL", 10**6):  # however busy the cores are
            outcome = cell.outcome_of(context, Cell(f"{name}@pipelined", COUNT * plan.itemsize, SEGMENT, WINDOW), 1)
        kept = ("state", "wrong", "run_whole", "steps", "path_messages")
        found.append({name: outcome.facts.get(name) for name in kept})
    return found
