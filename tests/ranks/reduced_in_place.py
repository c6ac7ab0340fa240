"""All-reduces in place over real MPI: of steps with the bits of out of place, those of the library exact.

Every algorithm runs in every way, native from Python and compiled, and every mock-up.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count as counter

import numpy as np
from exactness import chosen, summed_up
from mpi4py import MPI

from allreduce_bench.executing import EXECUTORS, NATIVES, Prepared
from allreduce_bench.executing.compiled import make_ready
from allreduce_bench.executing.mockups import mockup
from allreduce_bench.runs.competitor import MOCKUPS, PIPELINED
from allreduce_bench.runs.dtypes import teach_numpy
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.schedule.cut import cut

KINDS = [("sum", "float32"), ("avg", "float64"), ("max", "float32"), ("sum", "bfloat16"), ("prod", "float64")]
CALLS = 2  # of a bound call


def other_results(comm: MPI.Comm, bind: Callable[..., Prepared], vector: np.ndarray, expected: np.ndarray) -> int:
    """Count the calls in place, over all ranks, whose bits are not the expected ones."""
    both = np.empty_like(vector)
    call, other = bind(both, both), 0
    for _ in range(CALLS):
        both[:] = vector
        call.run()
        other += both.tobytes() != expected.tobytes()
    call.close()
    return comm.allreduce(other)


def of_steps(comm: MPI.Comm, half: bool) -> Iterator[tuple[str, int]]:
    """(words, other results) of every algorithm and way, on random floats."""
    size, turn = comm.size, counter()
    for name, algorithm in chosen(size, half):
        topology = Topology.one_node(size)
        if algorithm.unmet(size, topology):
            continue
        for count in (0, 1, size + 1, 1500):
            segment, (op, dtype) = max(1, count // 3), KINDS[next(turn) % len(KINDS)]
            whole = list(algorithm.steps(comm.rank, size, topology, count, segment))
            vector = np.random.default_rng([count, comm.rank]).standard_normal(count).astype(dtype)
            for way, executor in EXECUTORS.items():
                is_ahead = way in PIPELINED
                steps = cut(whole, segment) if is_ahead and not algorithm.segmented else whole
                result = np.empty_like(vector)
                bind = partial(bound, executor, steps, comm, op, (2,) if is_ahead else ())
                call = bind(vector, result)
                call.run()
                call.close()
                yield f"{name} {way}, {op}, {count} {dtype}", other_results(comm, bind, vector, result)


def bound(executor, steps, comm: MPI.Comm, op: str, window, sendbuf: np.ndarray, recvbuf: np.ndarray) -> Prepared:
    return executor(steps, sendbuf, recvbuf, comm, op, *window)


def of_the_library(comm: MPI.Comm) -> Iterator[tuple[str, int]]:
    """(words, other results) of native and mock-ups, whose order of reduction is not known: on whole numbers."""
    ways = dict(NATIVES) | {name: partial(mockup, name) for name in MOCKUPS}
    for name, way in ways.items():
        for count in (0, 1, comm.size, 1001):
            for op in ("sum", "max", "avg"):
                dtype = "float32" if op == "avg" else "int32"
                index = np.arange(count)
                total = index * comm.size + comm.size * (comm.size + 1) // 2
                expected = {"sum": total, "max": index + comm.size, "avg": total.astype(dtype) / np.float32(comm.size)}
                vector = (index + comm.rank + 1).astype(dtype)
                bind = partial(of_library, way, comm, op)
                yield f"{name}, {op}, {count} {dtype}", other_results(comm, bind, vector, expected[op].astype(dtype))


def of_library(way, comm: MPI.Comm, op: str, sendbuf: np.ndarray, recvbuf: np.ndarray) -> Prepared:
    return way(sendbuf, recvbuf, comm, op)


def in_place(comm: MPI.Comm, half: bool = False) -> tuple[int, list[str]]:
    """Run all cases, or those of half of the algorithms; return their number, and what was wrong."""
    teach_numpy("bfloat16")
    for kind in {dtype for _, dtype in KINDS} | {"int32"}:
        make_ready(kind)
    return summed_up([*of_steps(comm, half), *of_the_library(comm)])
