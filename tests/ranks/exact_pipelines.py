"""Every algorithm over real MPI with messages posted ahead, as `exactness.py` does with blocking exchanges.

Steps are cut into segments of 1 element (of up to 257), an odd number, and more than the vector has; windows,
operations and types take turns. On random floats the result has to have the bits of blocking exchanges.
"""

from functools import partial
from itertools import count as counter

import numpy as np
from exactness import KINDS, LONG, Synchronous, by_hand, chosen, in_two_ranges, layouts, summed_up, wrong_elements
from mpi4py import MPI

from allreduce_bench.algorithms import builtin
from allreduce_bench.executing import EXECUTORS
from allreduce_bench.runs.dtypes import teach_numpy
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.schedule.cut import cut

WINDOWS = (1, 2, 4, 7)
LARGEST_CUT_TO_ELEMENTS = 257
ODD = {LONG: 9973}  # a segment for each count; 3 for shorter ones


def cases(size: int, sample: bool, half: bool):
    """(name, topology, count, segment) of every case, the same on all ranks."""
    counts = sorted({0, 1, size - 1, size, size + 1, LARGEST_CUT_TO_ELEMENTS, LONG})
    for number, (name, algorithm) in enumerate(chosen(size, half)):
        for topology in layouts(size) if name == "hierarchical_ring" and not sample else layouts(size)[:1]:
            if algorithm.unmet(size, topology):
                continue
            for count in counts[number % 3 :: 3] if sample and size > 3 else counts:  # many ranks take long turns
                smallest = {1} if count <= LARGEST_CUT_TO_ELEMENTS else set()
                for segment in sorted({ODD.get(count, 3), count + 1} | smallest):
                    yield name, topology, count, segment


def all_cases(comm: MPI.Comm, sample: bool, half: bool, damaged: bool):
    """(words, what was wrong) of everything."""
    turn, executor = counter(), EXECUTORS["pipelined"]
    for name, topology, count, segment in cases(comm.size, sample, half):
        algorithm = builtin()[name]
        whole = list(algorithm.steps(comm.rank, comm.size, topology, count, segment))
        steps = whole if algorithm.segmented else cut(whole, segment)
        if damaged:
            steps = [step._replace(reduce=False) for step in steps]
        for _ in range(1 if sample else 4):
            number = next(turn)
            window, (op, dtype) = WINDOWS[number % len(WINDOWS)], KINDS[number % len(KINDS)]
            words = f"{name}, {op}, {count} {dtype}, segments of {segment}, window {window}"
            bind = partial(bound, executor, window)
            yield words, wrong_elements(steps, count, op, dtype, comm, bind)
        yield f"bits of {words}", comm.allreduce(int(other_bits(whole, steps, count, comm, bind)))
    yield from two_range_cases(comm, executor, half)


def two_range_cases(comm: MPI.Comm, executor, half: bool):
    """(words, wrong elements) of messages that are made of two ranges."""
    for count, dtype, window in ((5, "float64", 2), (2 * comm.size + 7, "bfloat16", 1), (LONG, "float32", 4)):
        segment, bind = ODD.get(count, 3), partial(bound, executor, window)
        steps = cut(by_hand(comm.rank, comm.size, count), segment)
        yield f"by hand, {count} elements of {dtype}", wrong_elements(steps, count, "sum", dtype, comm, bind)
        for name, algorithm in chosen(comm.size, half):
            topology = Topology.one_node(comm.size)
            if not algorithm.unmet(comm.size, topology):
                whole = list(algorithm.steps(comm.rank, comm.size, topology, count, segment))
                steps = in_two_ranges(cut(whole, segment))
                yield f"{name} in two ranges, {count}", wrong_elements(steps, count, "sum", "float32", comm, bind)


def bound(executor, window: int, *arguments):
    return executor(*arguments, window)


def other_bits(whole, steps, count: int, comm: MPI.Comm, bind) -> bool:
    """Whether random floats end in other bits than by blocking exchanges of the whole steps."""
    vector = np.random.default_rng([count, comm.rank]).standard_normal(count)
    results = [np.empty_like(vector), np.empty_like(vector)]
    calls = EXECUTORS["sendrecv"](whole, vector, results[0], comm, "sum"), bind(steps, vector, results[1], comm, "sum")
    for call in calls:
        call.run()
        call.close()
    return results[0].tobytes() != results[1].tobytes()


def pipelined(
    comm: MPI.Comm, synchronous: bool = False, sample: bool = False, half: bool = False, damaged: bool = False
) -> tuple[int, list[str]]:
    """Run all cases; return their number, and what was wrong."""
    teach_numpy("bfloat16")
    return summed_up(all_cases(Synchronous(comm) if synchronous else comm, sample, half, damaged))
