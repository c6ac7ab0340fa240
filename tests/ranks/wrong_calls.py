"""Ways in which a bound all-reduce can go wrong; `faults.py` puts them into whole cells."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from allreduce_bench.executing import Prepared
from allreduce_bench.executing.sendrecv import UFUNCS
from allreduce_bench.measuring import calls

timed = [False]  # whether the call is one of those that are timed, or a warm-up of them
left = [0, 0]  # calls of the batch, this one included, and all calls of the batch
bounds: "list[Bound]" = []  # of the cell


class Bound:
    """A bound all-reduce, which the faults below call."""

    def __init__(self, run: Callable[[], None], sendbuf: np.ndarray, recvbuf: np.ndarray, comm: MPI.Comm, op: str):
        self.reduce, self.sendbuf, self.recvbuf, self.comm, self.op = run, sendbuf, recvbuf, comm, op
        self.calls = self.timed_calls = 0
        self.kept: np.ndarray | None = None
        self.results: dict[bytes, np.ndarray] = {}  # of inputs
        self.remembered = 0  # timed calls that did no work
        self.left_out = 0  # timed calls whose result is wrong since a part, or all, was left as it was

    def remember(self, key: bytes) -> None:
        """The result that all ranks have for these keys of theirs, or a new one."""
        if self.comm.allreduce(key in self.results, MPI.LAND):
            self.recvbuf[:] = self.results[key]
            self.remembered += timed[0]
        else:
            self.reduce()
            self.results[key] = self.recvbuf.copy()

    def leave(self, part: np.ndarray, kept: np.ndarray) -> None:
        """Put back what was there before the call; of few known numbers it may be the right result."""
        self.left_out += part.tobytes() != kept.tobytes()
        part[:] = kept

    def flip(self, element: int) -> None:
        """The last bit of an element of the result."""
        self.recvbuf[element : element + 1].view(f"u{self.recvbuf.itemsize}")[:] ^= 1

    def combine(self, ranks: list[int]) -> None:
        """Reduce the inputs of these ranks only, of some perhaps twice."""
        inputs = self.comm.allgather(self.sendbuf)
        self.recvbuf[:] = inputs[ranks[0]]
        for rank in ranks[1:]:
            UFUNCS[self.op](self.recvbuf, inputs[rank], out=self.recvbuf)
        if self.op == "avg":
            np.divide(self.recvbuf, self.comm.size, self.recvbuf)


Run = Callable[[Bound], None]


def sound(bound: Bound) -> None:
    """No fault."""
    bound.reduce()


def first_result_for_ever(bound: Bound) -> None:
    if bound.kept is None:
        bound.reduce()
        bound.kept = bound.recvbuf.copy()
    bound.recvbuf[:] = bound.kept


def result_of_the_call_before(bound: Bound, always: bool = True) -> None:
    bound.reduce()
    last, bound.kept = bound.kept, bound.recvbuf.copy()
    if last is not None and (always or timed[0]):
        bound.recvbuf[:] = last


def zeros_when_timed(bound: Bound) -> None:
    if timed[0]:
        bound.recvbuf[:] = 0
    else:
        bound.reduce()


def no_call_when_timed(bound: Bound) -> None:
    if not timed[0]:
        bound.reduce()


def input_spoiled_when_timed(bound: Bound) -> None:
    """What is timed leaves another input; before the next call, timed or not, it is restored."""
    if bound.kept is not None and bound.sendbuf.size:
        bound.sendbuf[:1].view(f"u{bound.sendbuf.itemsize}")[:] ^= 1
    bound.kept = None
    bound.reduce()
    if timed[0]:
        bound.sendbuf[:1].view(f"u{bound.sendbuf.itemsize}")[:] ^= 1
        bound.kept = bound.sendbuf


def nothing_communicated(bound: Bound) -> None:
    bound.recvbuf[:] = bound.sendbuf


def only_where(is_made: Callable[[], bool]) -> Run:
    """Of the calls of a batch only some are made, the others leave what was there."""

    def run(bound: Bound) -> None:
        left_as_it_was = bound.recvbuf.copy()
        bound.reduce()
        if timed[0] and not is_made():
            bound.leave(bound.recvbuf, left_as_it_was)

    return run


def is_last() -> bool:
    return left[0] == 1


def is_first() -> bool:
    return left[0] == left[1]


def left_from(first: Callable[[int, int], int]) -> Run:
    """From the second call of a batch on the result is left as it was from this element of so many, of ranks, on."""

    def run(bound: Bound) -> None:
        part = bound.recvbuf[first(bound.recvbuf.size, bound.comm.size) :]
        kept = part.copy()
        bound.reduce()
        if timed[0] and not is_first():
            bound.leave(part, kept)

    return run


def early_on_one_rank(bound: Bound) -> None:
    """The last rank leaves a timed call without its result."""
    left_as_it_was = bound.recvbuf.copy()
    bound.reduce()
    if timed[0] and bound.comm.rank == bound.comm.size - 1:
        bound.recvbuf[:] = left_as_it_was


def remembered_by_a_line(bound: Bound) -> None:
    """Results are remembered by the first 64 bytes of the input."""
    bound.remember(bound.sendbuf.tobytes()[:64])


def remembered_by_the_input(bound: Bound) -> None:
    """Results are remembered by the whole input: right, but without the work."""
    bound.remember(bound.sendbuf.tobytes())


def one_ulp_on_one_rank(bound: Bound) -> None:
    bound.reduce()
    if bound.comm.rank == bound.comm.size - 1:
        bound.flip(bound.recvbuf.size // 2)


def negative_zeros(bound: Bound) -> None:
    bound.reduce()
    bound.recvbuf[bound.recvbuf == 0] = -0.0


def two_elements_swapped(bound: Bound) -> None:
    bound.reduce()
    bound.recvbuf[[0, -1]] = bound.recvbuf[[-1, 0]]


def every_call(period: int, only_timed: bool = False) -> Run:
    """A wrong element on rank 0 in every so-manieth call."""

    def run(bound: Bound) -> None:
        bound.reduce()
        counted = bound.timed_calls if only_timed else bound.calls
        if bound.comm.rank == 0 and counted % period == 0 and (timed[0] or not only_timed):
            bound.flip(bound.recvbuf.size // 2)

    return run


def one_call_of(most: int, seed: int) -> Run:
    """A wrong element on rank 0 in one call of `most`, drawn at random, not where numbers of calls lie often."""
    random = np.random.default_rng(seed)

    def run(bound: Bound) -> None:
        bound.reduce()
        if bound.comm.rank == 0 and random.integers(most) == 0:
            bound.flip(bound.recvbuf.size // 3)

    return run


def of_ranks(choose: Callable[[int], list[int]]) -> Run:
    """The reduction of these ranks' inputs, chosen by the number of all."""
    return lambda bound: bound.combine(choose(bound.comm.size))


class Fault(NamedTuple):
    """A way to go wrong, and where that is wrong at all."""

    run: Run
    ops: tuple[str, ...] = ("sum", "avg", "prod", "max", "min")
    ranks: int = 2  # at least
    count: int = 1  # at least
    floats: bool = False  # only of them


ADDED = ("sum", "avg", "prod")
FAULTS = {
    "first result for ever": Fault(first_result_for_ever),
    "result of the call before": Fault(result_of_the_call_before),
    "result of the call before, when timed": Fault(lambda bound: result_of_the_call_before(bound, always=False)),
    "zeros when timed": Fault(zeros_when_timed),
    "no call when timed": Fault(no_call_when_timed),
    "input spoiled when timed": Fault(input_spoiled_when_timed),
    "nothing communicated": Fault(nothing_communicated),
    "broadcast from the last rank": Fault(of_ranks(lambda size: [size - 1])),
    "broadcast from rank 0": Fault(of_ranks(lambda size: [0])),
    "without rank 0": Fault(of_ranks(lambda size: list(range(1, size)))),
    "without ranks 1 and 3": Fault(of_ranks(lambda size: [0, *range(2, size, 2)]), ranks=4),
    "rank 1 twice": Fault(of_ranks(lambda size: [*range(size), 1]), ops=ADDED),
    "rank 0 for rank 1": Fault(of_ranks(lambda size: [0, 0, *range(2, size)])),
    "one ULP on one rank": Fault(one_ulp_on_one_rank),
    "negative zeros": Fault(negative_zeros, floats=True),
    "only the last call of a batch": Fault(only_where(is_last)),
    "only the first call of a batch": Fault(only_where(is_first)),
    "half of the vector left as it was": Fault(left_from(lambda count, ranks: count // 2)),
    "last block left as it was": Fault(left_from(lambda count, ranks: count - max(1, count // ranks))),
    "one rank leaves early": Fault(early_on_one_rank),
    "results remembered by a line of the input": Fault(remembered_by_a_line, count=100),
    "results remembered by the input": Fault(remembered_by_the_input, count=100),
    "two elements swapped": Fault(two_elements_swapped, count=2),
    "wrong element in every 3rd call": Fault(every_call(3)),
    "wrong element in every 5th call": Fault(every_call(5)),
    "wrong element in every 3rd timed call": Fault(every_call(3, only_timed=True)),
    "wrong element in every 5th timed call": Fault(every_call(5, only_timed=True)),
}


def faulty(fault: Run, sound_call: Prepared, *place) -> Prepared:
    """`sound_call` with a fault."""
    bound = Bound(sound_call.run, *place)
    bounds.append(bound)

    def run() -> None:
        bound.calls += 1
        bound.timed_calls += timed[0]
        fault(bound)
        left[0] -= timed[0]

    return sound_call._replace(run=run)


def timed_calls_are_known() -> None:
    """Note which calls are timed, as the suite makes them."""
    suite = calls.timed

    def noting(*arguments):
        timed[0], left[:] = True, [arguments[3]] * 2
        try:
            return suite(*arguments)
        finally:
            timed[0] = False

    calls.timed = noting
