"""Repetition of a cell: calls until the median is precise, and checks of their results.

Whole results are checked on exact inputs before anything is timed, after batches of calls, and after the last call. In
between each call has its number in the input, see `executing.call_numbers`, and its result is looked at there: so no
call is left out. All this happens between the exit from a call and the common start of the next one. In place the
numbers are written into the input that is kept: it is set before each call, and no output is poisoned.
"""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from mpi4py import MPI

from ..executing import Place
from ..executing.call_numbers import PARTS, CallNumbers
from ..watching.whereabouts import doing
from .budget import Ahead, Budget, ahead, warmups_ahead
from .calls import Approach, CellTimes, NextCall, TimedCalls, TimedLoop, Timing
from .clock import Clock
from .sync import Barrier, Sync
from .vectors import Check, calls_for_all, exact_inputs, poison, values_of_calls

if TYPE_CHECKING:
    from .cold_calls import Rotation


FIRST, FEWEST = 5, 2  # checked calls before anything is timed: usually, and at least, for long vectors
LONG = 1 << 20  # bytes; vectors beyond are checked as often as the time allows
SHARE = 0.1  # of a cell's time: limit of optional checks between its timed calls
BLOCK = 1 << 18  # elements compared at a time, so that no vector is allocated


class Checks:
    """Checks of a cell: each whole one has new inputs, and compares every bit of the result.

    A random fault of one call in N is missed with probability (1 - 1/N)^c, c the number of whole checks; in vectors up
    to LONG bytes a fault that recurs within FIRST calls, or timed calls, is always detected. A part that keeps the old
    contents is detected by the numbers of calls, see `CallNumbers`, and right after new inputs, when the outputs hold
    what no call leaves.
    """

    def __init__(self, comm: MPI.Comm, op: str, seed: int, place: Place, wait: Callable[[], object] | None = None):
        """Check `place`; `seed` is the same on all ranks of `comm`, and another one in other groups.

        `wait`: as in CallNumbers.
        """
        self.comm, self.op, self.seed = comm, op, seed
        self._place = place
        self._rotation: Rotation | None = None
        self._wrong = 0  # elements on this rank, found by checks of whole vectors
        self.calls = 0  # whose whole result was checked
        self.untimed = 0  # calls made between the timed ones
        self._number = 0
        self._spent_s = self._price_s = 0.0  # of all pauses so far; of the last check
        self._operand = self._result = place.sendbuf[:0]
        values = values_of_calls(comm.size, place.sendbuf.dtype.name, op)
        self.numbers = CallNumbers(comm.rank, comm.size, place.sendbuf.size, values, seed & PARTS, wait)
        self._is_numbered = False

    @property
    def wrong(self) -> int:
        """Return the wrong elements on this rank so far."""
        return self._wrong + int(self.numbers.wrong[0])

    def rotate(self, rotation: "Rotation | None") -> None:
        """Make further calls take turns over the places of `rotation`; None: over the only one."""
        self._rotation = rotation

    def renew(self) -> None:
        """Set new inputs in every place, and results that no call leaves."""
        self._make_inputs()
        self._set_inputs()

    @doing("making the inputs of a check")
    def _make_inputs(self) -> None:
        vector = self._place.sendbuf
        check = Check(self.comm.size, vector.size, vector.dtype.name, self.op, self.seed, self._number)
        self._operand, self._result = exact_inputs(check, self.comm.rank)
        self._number += 1

    @doing("setting the inputs of a check")
    def _set_inputs(self) -> None:
        for place in self._places():
            repeat_into(place.sendbuf, self._operand)
            place.recvbuf[:] = poison(place.recvbuf.dtype.name, self.op)
        if self._rotation:
            self._rotation.start_over()
        self._is_numbered = False

    def start_numbers(self) -> None:
        """Number the calls from now on; their inputs are set."""
        vectors = [(place.sendbuf, place.recvbuf) for place in self._places()]
        self.numbers.start(vectors, self._rotation.used if self._rotation else None)
        self._is_numbered = True

    def _places(self) -> Sequence[Place]:
        return self._rotation.places if self._rotation else [self._place]

    @doing("checking the result")
    def check_result(self) -> None:
        """Count the wrong elements after the last call on this rank, including inputs that it changed."""
        number = self._rotation.used() if self._rotation else 0
        self._remove_number(number)
        place = self._places()[number]
        self.calls += 1
        self._wrong += wrong_elements(place.recvbuf, self._result) + wrong_elements(place.sendbuf, self._operand)

    def _remove_number(self, number: int) -> None:
        if self._is_numbered:
            self.numbers.remove(number, self._result)

    @doing("checking the result")
    def check_inputs(self) -> None:
        """Check the inputs of the other places, at the end, because it brings them into the cache."""
        last = self._rotation.used() if self._rotation else 0
        for number, place in enumerate(self._places()):
            if number != last:
                self._remove_number(number)
                self._wrong += wrong_elements(place.sendbuf, self._operand)

    @doing("checking the result")
    def call(self) -> float:
        """Make and check a call on new inputs; return its seconds, not comparable, as others may have entered later."""
        begun = perf_counter()
        self.renew()
        run = self._place.call.prepare_call()
        self.comm.Barrier()
        entry = perf_counter()
        run()
        time_s = perf_counter() - entry
        self.check_result()
        self._price_s = perf_counter() - begun
        return time_s

    def further_calls(self, most_s: float) -> int:
        """Return how many checks follow the first: those that the inputs need, and FIRST in all, if affordable.

        Long vectors may take `most_s` for them.
        """
        vector = self._place.sendbuf
        needed = calls_for_all(self.comm.size, vector.size, vector.dtype.name, self.op)
        affordable = int(most_s / self._price_s) if vector.nbytes > LONG else FIRST
        return max(needed, FEWEST, min(FIRST, affordable)) - 1

    def pause(self, prepare: NextCall) -> float:
        """Check the last timed call, make an untimed call, and set new inputs; return the seconds taken.

        The untimed call precedes the inputs, or it would leave the result that timed calls have to make.
        """
        begun = perf_counter()
        self.check_result()
        self._make_inputs()
        self._call_untimed(prepare)
        self._set_inputs()
        self.start_numbers()
        self._price_s = perf_counter() - begun
        self._spent_s += self._price_s
        return self._price_s

    @doing("calling between timed calls")
    def _call_untimed(self, prepare: NextCall) -> None:
        """Re-warm caches and branch predictors."""
        self.untimed += 1
        prepare()()

    def plan(self, batch: Ahead, time_s: float) -> Ahead:
        """Decide on rank 0, after a timed call, whether a check comes before `batch`, in a cell with `time_s`.

        Vectors up to LONG bytes are checked after each batch, the first of which have one call; longer ones as far as
        a share of the time allows.
        """
        is_cheap = self._place.sendbuf.nbytes <= LONG or self._spent_s + self._price_s <= SHARE * time_s
        return batch._replace(check=batch.calls > 0 and is_cheap)


def repeat_into(vector: np.ndarray, period: np.ndarray) -> None:
    """Fill `vector` with repetitions of `period`, without another vector of its length."""
    whole = vector.size - vector.size % (period.size or 1)
    if whole:
        vector[:whole].reshape(-1, period.size)[:] = period
    vector[whole:] = period[: vector.size - whole]


def wrong_elements(vector: np.ndarray, period: np.ndarray) -> int:
    """Count the elements of `vector` whose bits differ from `period` repeated; negative zeros and NaN are distinct."""
    found, correct = (array.view(f"u{vector.itemsize}") for array in (vector, period))
    whole = vector.size - vector.size % (period.size or 1)
    wrong = np.count_nonzero(found[whole:] != correct[: vector.size - whole])
    lines, rows = found[:whole].reshape(-1, period.size or 1), max(1, BLOCK // (period.size or 1))
    for first in range(0, len(lines), rows):
        wrong += np.count_nonzero(lines[first : first + rows] != correct)
    return int(wrong)


@doing("between calls", counts="done")
def repeat(
    prepare: NextCall,
    comm: MPI.Comm,
    budget: Budget,
    sync: Sync,
    clock: Clock,
    checks: Checks | None = None,
    loop: TimedLoop | None = None,
    approach: Approach | None = None,
) -> CellTimes:
    """Warm up and time calls on all ranks, each after a common start, until rank 0 decides that it is enough.

    `prepare` returns the call to time, and is called before each start. If no call began on time, a barrier replaces
    the start, and the calls so far count as warm-ups. `checks`: check results in pauses outside the budget, and the
    last call; its inputs are set. `loop` makes the calls of `prepare` without the interpreter. `approach`: what ranks
    do before each call; its loop is in Python.
    """
    clock.compare_if_due()
    jumps, calls = clock.jumps, TimedCalls(comm, approach)
    timing = Timing(prepare, clock.now, loop, approach, checks.numbers if checks else None)
    if checks:
        checks.start_numbers()
    if budget.warmups:
        _warm_up(budget, sync, calls, timing)
    calls.end_warmups()
    start, done = perf_counter(), 0
    while (batch := _agree(comm, _ahead(budget, calls, done, start, checks))).calls:
        if checks and batch.check:
            start += checks.pause(prepare)
        if batch.fall_back:
            sync, done, start = Barrier(comm), 0, perf_counter()
            calls.end_warmups()
        calls.add(timing.batch(sync, batch.calls), sync)
        done += batch.calls
    if checks:
        checks.check_result()
        checks.check_inputs()
    clock.compare()
    return calls.times(clock.line(*calls.span) if clock.jumps == jumps else None, batch.stopped)


@doing("between calls", counts="done")
def _warm_up(budget: Budget, sync: Sync, calls: TimedCalls, timing: Timing) -> None:
    start, done, few = perf_counter(), 0, 1
    while few:
        calls.add(timing.batch(sync, few), sync)
        done += few
        few = _agree(calls.comm, warmups_ahead(budget, done, start, perf_counter())) if done < budget.warmups else 0


def _ahead(budget: Budget, calls: TimedCalls, done: int, start: float, checks: Checks | None) -> Ahead | None:
    """Return what follows the `done` calls since `start`; None on all but rank 0, which decides."""
    if calls.comm.rank:
        return None
    now = perf_counter()
    batch = ahead(budget, calls.sample(done, now - start), now)
    return checks.plan(batch, max(budget.time_s, now - start)) if checks and calls.span else batch


@doing("waiting for rank 0")
def _agree(comm: MPI.Comm, decision):
    return comm.bcast(decision)
