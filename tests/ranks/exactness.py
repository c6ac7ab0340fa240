"""Every algorithm over real MPI on vectors whose result is known exactly.

Each case is run twice on one binding and must give the expected vector both times and leave its input untouched.
Synchronous, no message is buffered, whatever its size: each send waits for its receive, so that a schedule that leans
on buffers hangs. Every operation meets every type of element at every count but the largest; in a sample, and there,
they take turns. Of half of the algorithms the others are run on one rank more. A damaged schedule overwrites where it
should reduce.
"""

from collections.abc import Iterable
from itertools import count as counter
from itertools import product

import numpy as np
from mpi4py import MPI
from plain_ring import plain_ring

from allreduce_bench.algorithms import builtin
from allreduce_bench.executing.sendrecv import sendrecv
from allreduce_bench.measuring.vectors import Check, exact_inputs, poison
from allreduce_bench.runs.dtypes import DTYPES, is_float, teach_numpy
from allreduce_bench.schedule import Step, split
from allreduce_bench.schedule.algorithm import Topology

LONG = 100_003  # elements: above the size up to which MPI libraries send without waiting for the receiver
KINDS = [
    (op, dtype)
    for op, dtype in product(("sum", "prod", "max", "min", "avg"), sorted(DTYPES))
    if op != "avg" or is_float(dtype)
]


class Synchronous(MPI.Intracomm):
    """A communicator that buffers nothing: a send completes only once its receive has begun."""

    def Send_init(self, buf, dest, tag=0):
        return self.Ssend_init(buf, dest, tag)

    def Sendrecv(self, sendbuf, dest, sendtag=0, recvbuf=None, source=MPI.ANY_SOURCE, recvtag=MPI.ANY_TAG, status=None):
        request = self.Issend(sendbuf, dest, sendtag) if dest != MPI.PROC_NULL else MPI.REQUEST_NULL
        if source != MPI.PROC_NULL:
            self.Recv(recvbuf, source, recvtag, status)
        request.Wait()


def layouts(size: int) -> list[Topology]:
    """One node; unequal nodes; ranks not numbered node by node."""
    labels = [[0] * size, [rank // 3 for rank in range(size)], [rank % 2 for rank in range(size)]]
    return list(dict.fromkeys(map(Topology.from_labels, labels)))


def chosen(size: int, half: bool):
    """(name, algorithm) of those to run: all, or every second one; on one rank more the others."""
    every = list(builtin().items())
    return every[size % 2 :: 2] if half else every


def cases(size: int, sample: bool, half: bool, kinds=KINDS):
    """(name, count, segment, topology, op, dtype) of every case, the same on all ranks."""
    turn = counter()
    for name, algorithm in chosen(size, half):
        for topology in layouts(size) if name == "hierarchical_ring" else layouts(size)[:1]:
            if algorithm.unmet(size, topology):
                continue
            for count in sorted({0, 1, size - 1, size, size + 1, LONG}):
                some = 2 if sample or count == LONG else len(kinds)
                segments = sorted({max(1, count // 7), max(1, count)}) if algorithm.segmented else [max(1, count)]
                for segment in segments:
                    for _ in range(some):
                        yield name, count, segment, topology, *kinds[next(turn) % len(kinds)]


def wrong_elements(steps, count: int, op: str, dtype: str, comm: MPI.Comm, bind=sendrecv) -> int:
    """Bind `steps`, run them twice, and count what is wrong over all ranks."""
    check = Check(comm.size, count, dtype, op)
    operand, correct = (np.resize(period, count) for period in exact_inputs(check, comm.rank))
    sendbuf, recvbuf = operand.copy(), np.empty(count, dtype)
    call, wrong = bind(steps, sendbuf, recvbuf, comm, op), 0
    for _ in range(2):
        recvbuf[:] = poison(dtype, op)
        call.run()
        wrong += np.count_nonzero(recvbuf != correct) + np.count_nonzero(sendbuf != operand)
    call.close()
    return comm.allreduce(int(wrong))


def in_two_ranges(steps: list[Step]) -> list[Step]:
    """The same steps in messages of two ranges, the upper one first."""

    def halves(ranges):
        return tuple(half for span in ranges for half in split(span, 2)[::-1] if half)

    return [step._replace(send=halves(step.send), recv=halves(step.recv)) for step in steps]


def by_hand(rank: int, size: int, count: int) -> list[Step]:
    """Rank 0 collects and returns the first and the last third in one message, then the middle one."""
    first, middle, last = split(range(count), 3)
    steps = []
    for ranges in ((first, last), (middle,)):
        if rank:
            steps += [Step(0, ranges, None, ()), Step(None, (), 0, ranges)]
            continue
        steps += [Step(None, (), worker, ranges, reduce=True) for worker in range(1, size)]
        steps += [Step(worker, ranges, None, ()) for worker in range(1, size)]
    return steps


def two_range_cases(comm: MPI.Comm, half: bool):
    """(words, wrong elements) of messages that are made of two ranges."""
    for count, op in ((5, "sum"), (2 * comm.size + 7, "max"), (LONG, "sum")):
        yield (
            f"by hand, {count} elements, {op}",
            wrong_elements(by_hand(comm.rank, comm.size, count), count, op, "float64", comm),
        )
        yield (
            f"by hand, {count} elements, {op}, 16 bits",
            wrong_elements(by_hand(comm.rank, comm.size, count), count, op, "bfloat16", comm),
        )
        for name, algorithm in chosen(comm.size, half):
            topology = Topology.one_node(comm.size)
            if not algorithm.unmet(comm.size, topology):
                steps = in_two_ranges(list(algorithm.steps(comm.rank, comm.size, topology, count, max(1, count // 3))))
                words = f"{name} in two ranges, {count} elements, {op}"
                yield words, wrong_elements(steps, count, op, "float32", comm)


def ring_cases(comm: MPI.Comm):
    """(words, ranks that differ): the schedule `ring` on random floats against a ring written by hand, bit by bit."""
    topology = Topology.one_node(comm.size)
    for dtype, count in product(("float32", "float64"), (1, comm.size, 1000, LONG)):
        vector = np.random.default_rng([count, comm.rank]).standard_normal(count).astype(dtype)
        result = np.empty_like(vector)
        call = sendrecv(
            list(builtin()["ring"].steps(comm.rank, comm.size, topology, count, count)), vector, result, comm, "sum"
        )
        call.run()
        call.close()
        same = result.tobytes() == plain_ring(vector, comm).tobytes()
        yield f"ring against the plain ring, {count} {dtype}", comm.allreduce(int(not same))


def all_cases(comm: MPI.Comm, sample: bool, half: bool, damaged: bool):
    """(words, what was wrong) of everything."""
    for name, count, segment, topology, op, dtype in cases(comm.size, sample, half):
        steps = list(builtin()[name].steps(comm.rank, comm.size, topology, count, segment))
        if damaged:
            steps = [step._replace(reduce=False) for step in steps]
        words = f"{name}, {op}, {count} {dtype}, segments of {segment}, nodes {topology.describe()}"
        yield words, wrong_elements(steps, count, op, dtype, comm)
    yield from two_range_cases(comm, half)
    yield from ring_cases(comm)


def blocking(
    comm: MPI.Comm, synchronous: bool = False, sample: bool = False, half: bool = False, damaged: bool = False
) -> tuple[int, list[str]]:
    """Run all cases by blocking exchanges; return their number, and what was wrong."""
    teach_numpy("bfloat16")
    return summed_up(all_cases(Synchronous(comm) if synchronous else comm, sample, half, damaged))


def summed_up(all_cases: Iterable[tuple[str, int]]) -> tuple[int, list[str]]:
    """Return the number of cases, and the words of those in which something was wrong."""
    tried = [*all_cases]
    return len(tried), [f"{words}: {wrong} wrong" for words, wrong in tried if wrong]
