"""Timed calls of a cell: made batch by batch, gathered on rank 0, reduced to columns; and loops of calls.

The columns are pure functions of arrays: `entry` and `exit` are float64 [call, rank], in seconds. Differences of one
rank's stamps need no common clock; comparisons between ranks do.
"""

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from ..executing import CommonStart, Prepared
from ..executing.call_numbers import CallNumbers
from ..machine import finding
from ..runs.schema import BARRIER, COMPLETION, MAX_LOCAL
from ..units import format_ranges, format_time
from ..watching.whereabouts import doing
from .budget import BATCH_S, Sample
from .clock import Clock, ClockLine
from .sync import Barrier, Sync

NextCall = Callable[[], Callable[[], object]]  # returns the call to time
TimedLoop = Callable[[int, CommonStart | None, CallNumbers | None], np.ndarray]  # see `executing.Prepared.timed_calls`


class Approach(NamedTuple):
    """What a rank does before it enters a call; see `work`."""

    phase: Callable[[], object] | None = None  # its work, before the common start
    delay: Callable[[float, Callable[[], float]], object] | None = None  # after it, given its time and the clock
    late_by_s: float | None = None  # largest delay

    @property
    def is_completion(self) -> bool:
        """Whether the time of a call begins with the last entry."""
        return self.delay is not None


class Timing(NamedTuple):
    """Method of timing: each call from `prepare`, or all of them by `loop`, with the clock `now`."""

    prepare: NextCall
    now: Callable[[], float] = perf_counter
    loop: TimedLoop | None = None
    approach: Approach | None = None  # its loop is in Python
    numbers: CallNumbers | None = None

    def batch(self, sync: Sync, calls: int) -> np.ndarray:
        """Time `calls` calls; return entry, exit (seconds, own clock) and whether the start was on time: [3, call].

        With an approach [5, call]: the further rows are when the rank began, and when it was ready. `loop` reads only
        the clock of perf_counter.
        """
        if self.approach is not None or self.loop is None or self.now is not perf_counter:
            return timed(self.prepare, sync, self.now, calls, self.numbers, self.approach)
        return self.loop(calls, sync.common_start(), self.numbers)


@doing("in the common start of a call", counts="call", times=("entry", "exit"))
def timed(
    prepare: NextCall,
    sync: Sync,
    now: Callable[[], float],
    calls: int,
    numbers: CallNumbers | None = None,
    approach: Approach | None = None,
) -> np.ndarray:
    """Time calls as `Timing.batch`, in Python."""
    rows = [(0.0,) * 5] * calls
    enter, (phase, delay, _) = sync.begin, approach or Approach()
    begin = ready = 0.0
    for call in range(calls):
        if numbers:
            numbers.write()
        run = prepare()
        if phase:
            begin = now()
            phase()
            ready = now()
        on_time = enter()
        if delay:
            begin = now()
            delay(begin, now)
        entry = now()
        run()
        exit = now()
        rows[call] = entry, exit, on_time, begin, entry if delay else ready
        if numbers:
            numbers.look()
    return np.array(rows, float).reshape(calls, 5).T[: 5 if approach else 3].copy()


@doing("in the common start of a call", counts="call")
def call_by_call(
    next_loop: Callable[[], TimedLoop], calls: int, start: CommonStart | None, numbers: CallNumbers | None = None
) -> np.ndarray:
    """Time calls as `Timing.batch`, each in a compiled loop of one call, because Python works between them.

    `next_loop` prepares a call, before the common start, and returns its loop.
    """
    blocks = [np.empty((3, 0))]
    for call in range(calls):  # noqa: B007 - the monitor reads it
        if numbers:
            numbers.write()
        blocks.append(next_loop()(1, start, None))
        if numbers:
            numbers.look()
    return np.hstack(blocks)


def with_input(call: Prepared, sendbuf: np.ndarray, recvbuf: np.ndarray) -> Prepared:
    """Return a call that reduces `recvbuf` in place, with its input kept in `sendbuf` and set before each call."""
    set_input, loop = partial(np.copyto, recvbuf, sendbuf), call.timed_calls
    if loop is None:
        return call._replace(set_input=set_input)

    def next_loop() -> TimedLoop:
        set_input()
        return loop

    return call._replace(set_input=set_input, timed_calls=partial(call_by_call, next_loop))


class CellTimes(NamedTuple):
    """Results of the calls of a cell, warm-ups first; columns on rank 0 only."""

    calls: dict[str, list]  # column of CALLS -> value per call; None: unknown
    warmups: int
    facts: dict  # columns of CELLS
    stamps: np.ndarray | None  # float64 [2 or 4, call, rank]: begin and ready (with an approach),
    # entry and exit; seconds on the common clock, None without one
    findings: list[dict]
    unusable: str | None  # why no timed call is valid, on all ranks; None: some are

    @property
    def number(self) -> int:
        """Return the number of calls, warm-ups included."""
        return len(self.calls.get("time_s", ()))

    @property
    def least_s(self) -> float:
        """Return the least exit - entry of any rank in valid timed calls; 0 without any."""
        pairs = list(zip(self.calls.get("shortest_s", ()), self.calls.get("valid", ())))
        return min((shortest_s for shortest_s, valid in pairs[self.warmups :] if valid), default=0.0)

    def valid_s(self) -> list[float]:
        """Return `time_s` of the valid calls after the warm-ups."""
        pairs = list(zip(self.calls.get("time_s", ()), self.calls.get("valid", ())))
        return [time_s for time_s, valid in pairs[self.warmups :] if valid]


class TimedCalls:
    """Calls so far: all of them on rank 0; on other ranks only the first entry and the last exit."""

    def __init__(self, comm: MPI.Comm, approach: Approach | None = None):
        """Take `approach`, what ranks do before each call."""
        self.comm, self.warmups = comm, 0
        self.is_completion = approach is not None and approach.is_completion  # the time of a call
        self.late_by_s = approach and approach.late_by_s
        self.span: list[float] = []  # first entry and last exit, own clock
        self._blocks: list[np.ndarray] = []  # [rank, 3 or 5, call] each
        self._syncs: list[str] = []  # name of the common start of each call
        self._valid_s: list[float] = []  # without warm-ups
        self._late = 0  # consecutive last calls with a late rank

    def end_warmups(self) -> None:
        """End the warm-ups: only later calls count."""
        self.warmups, self._valid_s, self._late = len(self._syncs), [], 0

    def add(self, block: np.ndarray, sync: Sync) -> None:
        """Add the stamps of `Timing.batch`; collective."""
        calls = block.shape[1]
        if calls == 0:
            return
        self.span = [*self.span[:1], *([] if self.span else [block[0, 0]]), block[1, -1]]
        self._syncs += [sync.name] * calls
        blocks = np.empty((self.comm.size, *block.shape)) if self.comm.rank == 0 else None
        self.comm.Gather(block, blocks)
        if blocks is None:
            return
        self._blocks.append(blocks)
        entry, exit, on_time, *_ = blocks.transpose(1, 2, 0)
        all_on_time = on_time.all(axis=1)
        valid = all_on_time & ~ran_backwards(entry, exit).any(axis=1)
        known_now = "shortest_s" if self.is_completion else "time_s"  # no common clock; completions: the last to enter
        self._valid_s += durations(entry, exit)[known_now][valid].tolist()
        self._late = 0 if all_on_time.any() else self._late + calls
        sync.learn(1 - float(np.count_nonzero(all_on_time)) / calls)

    def sample(self, done: int, spent_s: float) -> Sample:
        """Return rank 0's view of the last `done` calls, which took `spent_s` seconds."""
        by_barrier = bool(self._syncs) and self._syncs[-1] == BARRIER
        return Sample(done, spent_s, self._valid_s, self._late, by_barrier)

    def times(self, line: ClockLine | None, stopped: str) -> CellTimes:
        """Compute the results of all calls; `line` maps this rank's clock to the common one, None without one."""
        lines = self.comm.gather(line)
        if lines is None:
            return CellTimes({}, self.warmups, {}, None, [], self.comm.bcast(None))
        entry, exit, on_time, *before = np.concatenate(self._blocks, axis=2).transpose(1, 2, 0)
        backwards = ran_backwards(entry, exit)
        stamps = None if backwards.any() else on_common_clock(lines, (*before, entry, exit))
        columns = self._columns(entry, exit, stamps)
        columns["valid"] = on_time.all(axis=1) & ~backwards.any(axis=1)
        if self.is_completion and stamps is None:
            columns["valid"][:] = False
        timed = np.flatnonzero(columns["valid"][self.warmups :]) + self.warmups
        facts: dict = {"stopped": stopped, "late_by_s": self.late_by_s, "start": self._syncs[-1]}
        facts["time_definition"] = COMPLETION if self.is_completion else MAX_LOCAL
        facts["imb_t_max_s"] = longest_mean(entry[timed], exit[timed])
        if stamps is not None:
            facts["clock_error_s"] = max(line.error_s for line in lines)
        backwards_ranks = np.flatnonzero(backwards.any(axis=0)).tolist()
        findings, unusable = self._doubts(lines, backwards_ranks, timed.size > 0)
        calls = {name: values.tolist() for name, values in columns.items()}
        return CellTimes(calls, self.warmups, facts, stamps, findings, self.comm.bcast(unusable))

    def _columns(self, entry: np.ndarray, exit: np.ndarray, stamps: np.ndarray | None) -> dict[str, np.ndarray]:
        """Return columns of CALLS; `stamps` are on the common clock, or None without one."""
        columns = durations(entry, exit)
        if stamps is not None and self.comm.size > 1:
            columns |= arrivals(*stamps[-2:])
        if stamps is not None and self.is_completion:
            columns |= completions(*stamps[-2:])
        return columns

    def _doubts(
        self, lines: Sequence[ClockLine | None], backwards: list[int], some_valid: bool
    ) -> tuple[list[dict], str | None]:
        """Return findings about how the calls were timed, and why none is valid, or None."""
        unsteady, fell_back = [rank for rank, line in enumerate(lines) if line is None], len(set(self._syncs)) > 1
        if some_valid and not (backwards or unsteady or fell_back):
            return [], None

        unusable = None if some_valid else why_unusable(backwards, unsteady, self.is_completion)
        return findings(unsteady, backwards, fell_back), unusable


def on_common_clock(lines: Sequence[ClockLine | None], kinds: Sequence[np.ndarray]) -> np.ndarray | None:
    """Convert stamps of several kinds, each [call, rank], to the common clock: float64 [kind, call, rank].

    Return None if some rank has no line to it.
    """
    known = [line for line in lines if line is not None]
    if len(known) < len(lines):
        return None
    return np.array([np.column_stack([line.common(own) for line, own in zip(known, kind.T)]) for kind in kinds])


def durations(entry: np.ndarray, exit: np.ndarray) -> dict[str, np.ndarray]:
    """Reduce exit - entry over ranks, for every call: time_s, the maximum; shortest_s; osu_avg_s, the mean.

    slowest_rank is the rank of the maximum.
    """
    spent = exit - entry
    return {
        "time_s": spent.max(axis=1),
        "slowest_rank": spent.argmax(axis=1),
        "shortest_s": spent.min(axis=1),
        "osu_avg_s": spent.mean(axis=1),
    }


def arrivals(entry: np.ndarray, exit: np.ndarray) -> dict[str, np.ndarray]:
    """Return, for every call, from stamps on a common clock: global_s, completion_s, arrival_skew_s, last_rank.

    global_s: last exit - first entry, the global run time of ReproMPI (Hunold and Carpen-Amarie, TPDS 2016);
    completion_s: last exit - last entry; arrival_skew_s: last entry - first entry; last_rank: the last to enter.
    """
    first, last, end = entry.min(axis=1), entry.max(axis=1), exit.max(axis=1)
    return {
        "global_s": end - first,
        "completion_s": end - last,
        "arrival_skew_s": last - first,
        "last_rank": entry.argmax(axis=1),
    }


def completions(entry: np.ndarray, exit: np.ndarray) -> dict[str, np.ndarray]:
    """Return two columns of `durations` for calls that begin with the last entry, from stamps on a common clock.

    time_s: last exit - last entry; slowest_rank: the last to leave.
    """
    return {"time_s": exit.max(axis=1) - entry.max(axis=1), "slowest_rank": exit.argmax(axis=1)}


def ran_backwards(entry: np.ndarray, exit: np.ndarray) -> np.ndarray:
    """Return whether a rank's clock ran backwards in the call or since the one before: bool [call, rank]."""
    backwards = exit < entry
    backwards[1:] |= entry[1:] < exit[:-1]
    return backwards


def longest_mean(entry: np.ndarray, exit: np.ndarray) -> float | None:
    """Return the maximum over ranks of the mean of exit - entry, seconds; None without any call."""
    return float((exit - entry).mean(axis=0).max()) if len(entry) else None


def why_unusable(backwards_ranks: list[int], unsteady: list[int], is_completion: bool) -> str:
    """Return the reason why no timed call is valid; `is_completion`: their time needs a common clock."""
    if is_completion and unsteady and not backwards_ranks:
        return f"no call is valid: {_ranks(unsteady)} had no common clock, and a completion is told by nothing else"
    cause = f"the clock of {_ranks(backwards_ranks)} ran backwards" if backwards_ranks else "every call had a late rank"
    return f"no call is valid: {cause}"


def findings(unsteady: list[int], backwards: list[int], fell_back: bool) -> list[dict]:
    """Return the findings about how the calls of a cell were timed."""
    found = []
    if backwards:
        found.append(
            finding(
                "clock",
                "severe",
                f"the clock of {_ranks(backwards)} ran backwards",
                "the affected calls are marked as invalid and excluded from all statistics",
                "check the clock source of that node, and exclude the node",
            )
        )
    if unsteady:
        found.append(
            finding(
                "clock",
                "caution",
                f"the clock of {_ranks(unsteady)} has no linear relation to that of rank 0 in some cells",
                "completion and arrival skew are unknown there; time_s needs no common clock and is correct",
                "check whether a time daemon steps the clocks during the measurement",
            )
        )
    if fell_back:
        found.append(
            finding(
                "sync",
                "caution",
                "in some cells no call began on time, so they went on by barriers",
                "ranks leave a barrier further apart: below 64 KiB these cells are neither ranked nor compared",
                "measure again on an idle machine, or all cells with --sync barrier",
            )
        )
    return found


def _ranks(ranks: list[int]) -> str:
    """Return `rank 3`, or `ranks 0-2, 5`."""
    return f"rank{'s' if len(ranks) > 1 else ''} {format_ranges(ranks)}"


# Loops of calls without a common start, as nccl-tests times them
#
# Their input stays the same: they are checked at their ends, and by their rate.


LEAST = 0.25  # of the shortest time of a rank in a single call: warmer caches explain no less
AGAIN, SINGLE = 4, 200  # repetitions of a loop, of so many calls, before it is called impossible


def back_to_back(call: Prepared, comm: MPI.Comm, clock: Clock, calls: int) -> float | None:
    """Time a loop of `calls` calls without a common start; return the mean per call over ranks, seconds, on rank 0."""
    comm.Barrier()
    total_s = comm.reduce(_in_loop(call.timed_calls, calls) if call.timed_calls else _in_python(call.run, clock, calls))
    return None if total_s is None else total_s / comm.size / calls


def why_impossible(loop_s: float | None, least_s: float, call: Prepared, comm: MPI.Comm, clock: Clock) -> str:
    """Return why no loop of all-reduces takes `loop_s` seconds a call, or an empty string; collective.

    No rank leaves an all-reduce before the last one has entered it, and that one enters after its exit from the call
    before: so a call of the loop takes at least as long as the last rank to enter spends in one. `least_s`: the least
    exit - entry over timed calls and ranks. If the loop seems too quick, both are timed again, in turn, because the
    machine may have been busy in one of them only.
    """
    for _ in range(AGAIN):
        if comm.bcast(loop_s is None or loop_s >= LEAST * least_s):
            return ""
        loop_s, least_s = back_to_back(call, comm, clock, SINGLE), _least_s(call, comm, clock)
    return comm.bcast(
        f"a loop without common starts took {format_time(loop_s or 0.0)} a call, but a rank spends at least "
        f"{format_time(least_s)} in one alone: the loop left out calls"
    )


def _least_s(call: Prepared, comm: MPI.Comm, clock: Clock) -> float:
    """Return the least exit - entry over ranks and SINGLE calls, each after a barrier."""
    if call.timed_calls:
        entry, exit, _ = call.timed_calls(SINGLE, CommonStart(comm), None)
    else:
        entry, exit, _ = timed(lambda: call.run, Barrier(comm), clock.now, SINGLE)
    return comm.allreduce(float((exit - entry).min()), MPI.MIN)


@doing("between calls", counts="call")
def _in_python(run: Callable[[], object], clock: Clock, calls: int) -> float:
    entry = clock.now()
    for call in range(calls):  # noqa: B007 - the monitor reads it
        run()
    return clock.now() - entry


@doing("between calls", counts="done")
def _in_loop(loop: TimedLoop, calls: int) -> float:
    spent_s, done, batch = 0.0, 0, 1
    while done < calls:
        stamps = loop(min(batch, calls - done), None, None)  # time between batches is excluded
        spent_s += stamps[1, -1] - stamps[0, 0]
        done += stamps.shape[1]
        batch = max(1, int(BATCH_S * done / max(spent_s, 1e-9)))
    return spent_s
