"""Repetition of a cell: changing inputs, checked results, and calls until the median is precise.

Calls on an unchanged input, of which only the last is checked, hide an all-reduce that skips the others, remembers
results, or leaves a part of the vector unchanged. So between calls a line in each part of the input gets other exact
numbers, at a random position: a quarter of the lines at the beginning of their part and a quarter at its end, where
faults are likelier. After random calls the lines of the result are checked. All this happens between the exit from a
call and the common start of the next one. In a cold cell the lines are those of the place that the call used, which
then has time to leave the cache. In place the lines are those of the input that is kept: it is set before each call,
and is no result, as a poisoned output is none.
"""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from mpi4py import MPI

from ..executing import Changes, Place
from ..runs.cell import splitmix64
from ..runs.plan import INPUTS
from ..watching.whereabouts import doing
from .budget import SINGLE, Ahead, Budget, ahead, warmups_ahead
from .calls import Approach, CellTimes, TimedCalls, TimedLoop, Timing, Turn
from .sync import Barrier, Clock, Sync
from .vectors import KNOWN, Check, Lines, calls_for_all, exact_inputs, lines_of, poison

if TYPE_CHECKING:
    from .cold_calls import Rotation


LOOKED, FEW = 2, 8  # one call in LOOKED is checked, at random; in a batch of fewer than FEW calls each


class Changing:
    """Changing lines in all places of a cell, and the random draws of a batch of calls: the same on all ranks.

    A line is a run of consecutive elements; unsigned integers represent their bits.
    """

    def __init__(self, check: Check, rank: int, wait: Callable[[], object] | None = None):
        """Take `check` of the cell's inputs; the numbers of the lines have a seed of their own.

        `wait` for all ranks after each call if they share cores: otherwise a rank that checks could occupy a core that
        another one needs to leave the call.
        """
        self._wait = wait
        (self._seed,) = splitmix64(check.seed, np.array([-1])).tolist()
        operand, result = exact_inputs(check._replace(length=KNOWN, seed=self._seed), rank)
        self._operand, self._result = _bits(operand), _bits(result)
        self._lines = lines_of(check.size, check.length, operand.itemsize)
        self._span, self._drawn = np.arange(self._lines.length), 0
        self._places, self._used = list[_Place](), _only
        self._is_new, self._first = True, 0  # no call since `start`; first call of a batch with changed lines
        self._wrong = np.zeros(1, np.int64)
        self._next, self.calls_to_check = self._draw(0), np.zeros(0, np.int64)

    @property
    def wrong(self) -> int:
        """Return the elements on this rank found wrong in lines: of results, and of inputs that a call changed."""
        return int(self._wrong[0])

    def start(self, places: Sequence[Place], used: Callable[[], int] | None = None) -> None:
        """Register new inputs of `places`, left unchanged for one call. `used` returns the place of the last call."""
        self._used, self._is_new = used or _only, True
        self._places = [_Place(place, self._lines) for place in places]

    def prepare(self, calls: int) -> None:
        """Draw the changes for a batch of `calls`; `calls_to_check` [call] is 1 if the result is to be checked."""
        self._next = self._draw(calls)
        numbers = splitmix64(self._seed, np.arange(self._drawn, self._drawn + calls))
        self.calls_to_check = ((numbers % np.uint64(LOOKED) == 0) | (calls < FEW)).astype(np.int64)
        self._first = int(self._is_new)
        self.calls_to_check[: self._first], self._is_new = 0, False

    def before(self, call: int) -> None:
        """Change the lines of the last call's place before a call of the batch."""
        if call < self._first:
            return
        place = self._places[self._used()]
        if place.is_changed:
            place.sent[place.index] = place.kept
        place.at[:], place.source[:], place.is_changed = self._next.at[call], self._next.source[call], True
        place.find(self._span)
        place.kept[:] = place.sent[place.index]
        place.sent[place.index] = self._operand[place.known]

    def after(self, call: int) -> None:
        """Check the lines of the call's place, if that was drawn."""
        if self._wait:
            self._wait()
        place = self._places[self._used()]
        self.calls_to_check[call] &= place.is_changed
        if self.calls_to_check[call]:
            self._check_lines(place)

    def changes(self) -> Changes:
        """Return the changes for a loop that applies them itself, in the only place."""
        (place,) = self._places
        place.is_changed |= len(self.calls_to_check) > self._first
        known, now = (self._operand, self._result), (place.at, place.source, place.kept)
        return Changes(self._wait is not None, self._first, *known, *now, *self._next, self.calls_to_check, self._wrong)

    def hide(self, number: int, result: np.ndarray) -> None:
        """Check the lines of a place after a call; then make its input and result one period again, as in `result`.

        So a check of the whole vector finds the period everywhere.
        """
        place = self._places[number]
        if place.is_changed:
            self._check_lines(place)
            place.got[place.index] = _bits(result)[place.index % max(1, result.size)]
            self.restore(number)

    def restore(self, number: int) -> None:
        """Make the input of a place one period again."""
        place = self._places[number]
        if place.is_changed:
            place.find(self._span)
            self._wrong += np.count_nonzero(place.sent[place.index] != self._operand[place.known])
            place.sent[place.index], place.is_changed = place.kept, False

    def _draw(self, calls: int) -> "_Next":
        starts, rooms, length = self._lines
        first, self._drawn = self._drawn, self._drawn + calls
        numbers = np.arange(first * len(starts), self._drawn * len(starts)).reshape(calls, len(starts))
        bits = splitmix64(self._seed ^ 1, numbers)
        shift = (bits % (2 * rooms).astype(np.uint64)).astype(np.int64) - rooms // 2
        source = (bits >> np.uint64(32)) % np.uint64(KNOWN - length + 1)
        return _Next(starts + np.clip(shift, 0, rooms - length), source.astype(np.int64))

    def _check_lines(self, place: "_Place") -> None:
        place.find(self._span)
        self._wrong += np.count_nonzero(place.got[place.index] != self._result[place.known])
        self._wrong += np.count_nonzero(place.sent[place.index] != self._operand[place.known])


class _Next(NamedTuple):
    """Positions of a batch's lines in the vectors and in the known numbers: int64 [call, line]."""

    at: np.ndarray
    source: np.ndarray


class _Place:
    """Current positions of the lines of one place."""

    def __init__(self, place: Place, lines: Lines):
        self.sent, self.got = _bits(place.sendbuf), _bits(place.recvbuf)
        self.at, self.source, self.is_changed = lines.starts.copy(), np.zeros(len(lines.starts), np.int64), False
        self.find(np.arange(lines.length))
        self.kept = self.sent[self.index]  # original elements at the lines

    def find(self, span: np.ndarray) -> None:
        """Compute the indices of the lines in vectors and in known numbers: a compiled loop may have moved them."""
        self.index, self.known = self.at[:, None] + span, self.source[:, None] + span


def _bits(vector: np.ndarray) -> np.ndarray:
    return vector.view(f"u{vector.itemsize}")


def _only() -> int:
    return 0


# Repetition of one cell: check, warm up and time calls, with checks between them; gives raw times


FIRST, FEWEST = 5, 2  # checked calls before anything is timed: usually, and at least, for long vectors
LONG = 1 << 20  # bytes; vectors beyond are checked as often as the time allows
SHARE = 0.1  # of a cell's time: limit of optional checks between its timed calls
BLOCK = 1 << 18  # elements compared at a time, so that no vector is allocated


class Checks:
    """Checked calls of a cell: each check has new inputs, and compares every bit of the result.

    A random fault of one call in N is missed with probability (1 - 1/N)^c, c the number of checked calls; in vectors up
    to LONG bytes a fault that recurs within FIRST calls, or timed calls, is always detected. A call that leaves the old
    contents is detected only right after new inputs, when the outputs hold what no call leaves: only such calls are
    counted. All checks of a cell of 0.5 s on two busy cores take 0.05 s at 8 B, 0.4 s at 16 MiB, 2 to 4 s at 256 MiB.

    Between the other calls, lines of the inputs change, see `Changing`, which checks these lines only.
    """

    def __init__(
        self,
        comm: MPI.Comm,
        op: str,
        seed: int,
        place: Place,
        inputs: str = INPUTS[0],
        wait: Callable[[], object] | None = None,
    ):
        """Check `place`; `seed` is the same on all ranks of `comm`, and another one in other groups.

        `inputs`: whether they change between calls; one of INPUTS. `wait`: as in Changing.
        """
        self.comm, self.op, self.seed = comm, op, seed
        self._place = place
        self._rotation: Rotation | None = None
        self._wrong = 0  # elements on this rank, found by checks of whole vectors
        self.calls = 0  # checked calls right after new inputs
        self.is_fresh = True  # the last call followed new inputs
        self.untimed = 0  # calls made between the timed ones
        self._number = self._pauses = 0
        self._spent_s = self._price_s = 0.0  # of all pauses so far; of the last check
        self._single = False  # the next batch is one call on new inputs, to be checked
        self._drawn = self._draw() % SINGLE
        self._operand = self._result = place.sendbuf[:0]
        self.between = Changing(self._check(), comm.rank, wait) if inputs == INPUTS[0] else None

    @property
    def wrong(self) -> int:
        """Return the wrong elements on this rank so far."""
        return self._wrong + (self.between.wrong if self.between else 0)

    def _check(self) -> Check:
        vector = self._place.sendbuf
        return Check(self.comm.size, vector.size, vector.dtype.name, self.op, self.seed, self._number)

    def rotate(self, rotation: "Rotation | None") -> None:
        """Make further calls take turns over the places of `rotation`; None: over the only one."""
        self._rotation = rotation

    def renew(self) -> None:
        """Set new inputs in every place, and results that no call leaves."""
        self._make_inputs()
        self._set_inputs()

    @doing("making the inputs of a check")
    def _make_inputs(self) -> None:
        self._operand, self._result = exact_inputs(self._check(), self.comm.rank)
        self._number += 1

    @doing("setting the inputs of a check")
    def _set_inputs(self) -> None:
        places, rotation = self._places(), self._rotation
        for place in places:
            repeat_into(place.sendbuf, self._operand)
            place.recvbuf[:] = poison(place.recvbuf.dtype.name, self.op)
        if self.between:
            self.between.start(places, rotation.used if rotation else None)
        if rotation:
            rotation.start_over()

    def _places(self) -> Sequence[Place]:
        return self._rotation.places if self._rotation else [self._place]

    @doing("checking the result")
    def check_result(self) -> None:
        """Count the wrong elements after the last call on this rank, including inputs that it changed."""
        number = self._rotation.used() if self._rotation else 0
        place = self._places()[number]
        self.calls += self.is_fresh
        if self.between:
            self.between.hide(number, self._result)
        self._wrong += wrong_elements(place.recvbuf, self._result) + wrong_elements(place.sendbuf, self._operand)

    @doing("checking the result")
    def check_inputs(self) -> None:
        """Check the inputs of all places, at the end, because it brings them into the cache."""
        for number, place in enumerate(self._rotation.places if self._rotation else ()):
            if self.between:
                self.between.restore(number)
            self._wrong += wrong_elements(place.sendbuf, self._operand)

    @doing("checking the result")
    def call(self) -> float:
        """Make and check a call on new inputs; return its seconds, not comparable, as others may have entered later."""
        begun = perf_counter()
        self.renew()
        run = self._place.call.turn()
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

    def pause(self, turn: Turn) -> float:
        """Check the last timed call, make an untimed call, and set new inputs; return the seconds taken.

        The untimed call precedes the inputs, or it would leave the result that timed calls have to make.
        """
        begun = perf_counter()
        self.check_result()
        self._make_inputs()
        self.call_untimed(turn)
        self._set_inputs()
        self._price_s = perf_counter() - begun
        self._spent_s += self._price_s
        return self._price_s

    @doing("calling between timed calls")
    def call_untimed(self, turn: Turn) -> None:
        """Re-warm caches and branch predictors."""
        self.untimed += 1
        turn()()

    def plan(self, batch: Ahead, time_s: float) -> Ahead:
        """Decide on rank 0, after a timed call, whether a check comes before `batch`, in a cell with `time_s`.

        Vectors up to LONG bytes are checked after each of the first calls, which run one by one; otherwise when it is
        cheap, and once at random. The call after a check is checked, too. Batches end at random.
        """
        cheap = self._spent_s + self._price_s <= SHARE * time_s
        must = self._pauses <= SINGLE if self._place.sendbuf.nbytes <= LONG else self._pauses == self._drawn
        shorter = self._draw() % (batch.calls // 2) if batch.calls > SINGLE else 0
        self._pauses += not self._single
        check = batch.calls > 0 and (self._single or cheap or must)
        self._single = check and not self._single
        return batch._replace(calls=1 if self._single else batch.calls - shorter, check=check)

    def _draw(self) -> int:
        return int(splitmix64(self.seed, np.array([-2 - self._pauses]))[0])


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
    turn: Turn,
    comm: MPI.Comm,
    budget: Budget,
    sync: Sync,
    clock: Clock,
    checks: Checks | None = None,
    loop: TimedLoop | None = None,
    approach: Approach | None = None,
) -> CellTimes:
    """Warm up and time calls on all ranks, each after a common start, until rank 0 decides that it is enough.

    `turn` returns the call to time, and is called before each start. If no call began on time, a barrier replaces the
    start, and the calls so far count as warm-ups. `checks`: check the first warm-up, in pauses outside the budget,
    and the last call; its inputs are set. `loop` makes the calls of `turn` without the interpreter. `approach`: what
    ranks do before each call; its loop is in Python.
    """
    clock.compare_if_due()
    between = checks.between if checks else None
    jumps, calls = clock.jumps, TimedCalls(comm, approach)
    timing = Timing(turn, clock.now, loop, approach, between)
    if budget.warmups:
        _warm_up(budget, sync, calls, timing, checks)
    calls.end_warmups()
    start, done = perf_counter(), 0
    while (batch := _agree(comm, _ahead(budget, calls, done, start, checks))).calls:
        if checks and batch.check:
            start += checks.pause(turn)
        if batch.fall_back:
            sync, done, start = Barrier(comm), 0, perf_counter()
            calls.end_warmups()
        _add_batch(batch.calls, sync, calls, timing, checks)
        done += batch.calls
        if checks:
            checks.is_fresh = batch.check and batch.calls == 1
    if checks:
        checks.check_result()
        checks.check_inputs()
    clock.compare()
    return calls.times(clock.line(*calls.span) if clock.jumps == jumps else None, batch.stopped)


def _add_batch(number: int, sync: Sync, calls: TimedCalls, timing: Timing, checks: Checks | None) -> None:
    between = checks.between if checks else None
    if between:
        between.prepare(number)
    calls.add(timing.batch(sync, number), sync, between.calls_to_check if between else np.zeros(number, np.int64))


@doing("between calls", counts="done")
def _warm_up(budget: Budget, sync: Sync, calls: TimedCalls, timing: Timing, checks: Checks | None) -> None:
    start, done, few = perf_counter(), 0, 1
    while few:
        _add_batch(few, sync, calls, timing, checks)
        if checks and done == 0:
            checks.check_result()
            if budget.warmups == 1:
                checks.call_untimed(timing.turn)
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
