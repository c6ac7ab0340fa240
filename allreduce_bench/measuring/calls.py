"""The calls of a cell: made and timed batch by batch, gathered on rank 0, in the end what follows from them.

What follows is computed by functions of arrays alone, which ask no clock: `entry` and `exit` are float64 [call, rank],
in seconds. Differences of one rank's stamps need no common clock; whatever compares ranks does.
"""

from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple, Protocol

import numpy as np
from mpi4py import MPI

from ..executing import CommonStart
from ..runs.schema import time_definition
from ..units import format_ranges
from ..watching.whereabouts import doing
from .budget import Sample
from .clock import ClockLine
from .sync import Barrier, Sync

Turn = Callable[[], Callable[[], object]]  # gives the call to time
TimedLoop = Callable[[int, CommonStart | None], np.ndarray]  # see `executing.Prepared.timed_calls`
FurtherColumns = Callable[[np.ndarray, np.ndarray], dict[str, np.ndarray]]  # of entry and exit, on rank 0


class Approach(Protocol):
    """What each rank does before it enters a call; see `work`."""

    def timed(self, turn: Turn, sync: Sync, now: Callable[[], float], calls: int) -> np.ndarray:
        """As `Timing.batch` [5, call]: after the rows of plain calls when the rank began, and when it was ready."""


class Timing(NamedTuple):
    """How calls are timed: each that `turn` gives, or, with a `loop`, by that; by the clock `now`."""

    turn: Turn
    now: Callable[[], float] = perf_counter
    loop: TimedLoop | None = None
    approach: Approach | None = None  # its loop is Python's

    def batch(self, sync: Sync, calls: int) -> np.ndarray:
        """Entry, exit (seconds on the own clock) and whether it was on time, of `calls` calls of this rank: [3, call].

        A loop of its own reads the clock of perf_counter only.
        """
        if self.approach is not None:
            return self.approach.timed(self.turn, sync, self.now, calls)
        if self.loop is None or self.now is not perf_counter:
            return timed(self.turn, sync, self.now, calls)
        return self.loop(calls, sync.common_start())


@doing("in the common start of a call", counts="call", times=("entry", "exit"))
def timed(turn: Turn, sync: Sync, now: Callable[[], float], calls: int) -> np.ndarray:
    """As `Timing.batch`, from Python."""
    entries, exits, on_times = [0.0] * calls, [0.0] * calls, [False] * calls
    begin = sync.begin
    for call in range(calls):
        run = turn()
        on_time = begin()
        entry = now()
        run()
        exit = now()
        entries[call], exits[call], on_times[call] = entry, exit, on_time
    return np.array([entries, exits, on_times], float)


def no_columns(entry: np.ndarray, exit: np.ndarray) -> dict[str, np.ndarray]:
    """No further columns of calls."""
    return {}


class CellTimes(NamedTuple):
    """What came of the calls of a cell, warm-ups first; all but rank 0 know of no call."""

    calls: dict[str, list]  # a column of REPETITIONS -> its value of each call; None: not known
    warmups: int
    facts: dict  # columns of CELLS
    stamps: np.ndarray | None  # float64 [2 or 4, call, rank]: begin and ready where ranks do something before a call,
    # entry and exit; seconds on the common clock; None: there is none
    findings: list[dict]
    unusable: str | None  # why no timed call is valid, as all ranks know; None: some are

    @property
    def number(self) -> int:
        """Calls, warm-ups included."""
        return len(self.calls.get("time_s", ()))

    def valid_s(self) -> list[float]:
        """`time_s` of the valid calls that are no warm-ups."""
        pairs = list(zip(self.calls.get("time_s", ()), self.calls.get("valid", ())))
        return [time_s for time_s, valid in pairs[self.warmups :] if valid]


class TimedCalls:
    """The calls so far: all of them on rank 0; on the others only when the first began and the last ended."""

    def __init__(self, comm: MPI.Comm, further_columns: FurtherColumns):
        """`further_columns`: what else is wanted of every call."""
        self.comm, self.further_columns, self.warmups = comm, further_columns, 0
        self.span: list[float] = []  # first entry and last exit on the own clock
        self._blocks: list[np.ndarray] = []  # [rank, 3 or 5, call] each
        self._syncs: list[str] = []  # the name of the common start of each call
        self._valid_s: list[float] = []  # of those that are no warm-ups
        self._late = 0  # calls in a row, up to the last, to which some rank was late

    def end_warmups(self) -> None:
        """From here on calls count."""
        self.warmups, self._valid_s, self._late = len(self._syncs), [], 0

    def add(self, block: np.ndarray, sync: Sync) -> None:
        """Take in what `Timing.batch` gives on every rank; all ranks must."""
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
        self._valid_s += durations(entry, exit)["time_s"][valid].tolist()
        self._late = 0 if all_on_time.any() else self._late + calls
        sync.learn(1 - float(np.count_nonzero(all_on_time)) / calls)

    def sample(self, done: int, spent_s: float) -> Sample:
        """What rank 0 knows of the last `done` calls, which took `spent_s` seconds."""
        by_barrier = bool(self._syncs) and self._syncs[-1] == Barrier.name
        return Sample(done, spent_s, self._valid_s, self._late, by_barrier)

    def times(self, line: ClockLine | None, stopped: str) -> CellTimes:
        """What follows from all calls; `line`: from this rank's clock to the common one, None where there is none."""
        lines = self.comm.gather(line)
        if lines is None:
            return CellTimes({}, self.warmups, {}, None, [], self.comm.bcast(None))
        entry, exit, on_time, *before = np.concatenate(self._blocks, axis=2).transpose(1, 2, 0)
        backwards = ran_backwards(entry, exit)
        valid = on_time.all(axis=1) & ~backwards.any(axis=1)
        timed = np.flatnonzero(valid[self.warmups :]) + self.warmups
        facts = {"stopped": stopped, "imb_t_max_s": longest_mean(entry[timed], exit[timed])}
        columns = {"valid": valid, "time_definition": np.array(list(map(time_definition, self._syncs)))}
        columns |= durations(entry, exit) | self.further_columns(entry, exit)
        stamps = None
        unsteady = [rank for rank, line in enumerate(lines) if line is None]
        if not unsteady and not backwards.any():
            kinds = (*before, entry, exit)
            stamps = np.array([np.column_stack([line.common(own) for line, own in zip(lines, k.T)]) for k in kinds])
            facts["clock_error_s"] = max(line.error_s for line in lines)
            columns |= arrivals(*stamps[-2:]) if self.comm.size > 1 else {}
        backwards_ranks = np.flatnonzero(backwards.any(axis=0)).tolist()
        findings = _findings(unsteady, backwards_ranks, fell_back=len(set(self._syncs)) > 1)
        unusable = None if timed.size else _why_unusable(backwards_ranks)
        calls = {name: values.tolist() for name, values in columns.items()}
        return CellTimes(calls, self.warmups, facts, stamps, findings, self.comm.bcast(unusable))


def _why_unusable(backwards_ranks: list[int]) -> str:
    cause = f"the clock of {_ranks(backwards_ranks)} ran backwards" if backwards_ranks else "every call had a late rank"
    return f"no call is valid: {cause}"


def _findings(unsteady: list[int], backwards: list[int], fell_back: bool) -> list[dict]:
    """What a reader must know of how the calls of a cell were timed."""
    if not (backwards or unsteady or fell_back):
        return []
    from ..machine import finding  # late: most cells have nothing to tell

    findings = []
    if backwards:
        findings.append(
            finding(
                "clock",
                "severe",
                f"the clock of {_ranks(backwards)} ran backwards",
                "the affected calls are marked as invalid and excluded from all statistics",
                "check the clock source of that node, and exclude the node",
            )
        )
    if unsteady:
        findings.append(
            finding(
                "clock",
                "caution",
                f"the clock of {_ranks(unsteady)} has no linear relation to that of rank 0 in some cells",
                "completion and arrival skew are unknown there; time_s needs no common clock and is correct",
                "check whether a time daemon steps the clocks during the measurement",
            )
        )
    if fell_back:
        findings.append(
            finding(
                "sync",
                "caution",
                "in some cells no call started on time, so they fell back to a barrier",
                "their timing method differs from that of other cells, see time_definition",
                "measure with --sync barrier, or on an idle machine",
            )
        )
    return findings


def _ranks(ranks: list[int]) -> str:
    """`rank 3`, or `ranks 0-2, 5`."""
    return f"rank{'s' if len(ranks) > 1 else ''} {format_ranges(ranks)}"


def durations(entry: np.ndarray, exit: np.ndarray) -> dict[str, np.ndarray]:
    """Of every call over its ranks' exit - entry: time_s, the maximum; shortest_s, the minimum; osu_avg_s, the mean;
    and slowest_rank, whose the maximum was.
    """
    spent = exit - entry
    return {
        "time_s": spent.max(axis=1),
        "slowest_rank": spent.argmax(axis=1),
        "shortest_s": spent.min(axis=1),
        "osu_avg_s": spent.mean(axis=1),
    }


def arrivals(entry: np.ndarray, exit: np.ndarray) -> dict[str, np.ndarray]:
    """Of every call, from stamps on a common clock: completion_s, last exit - last entry; arrival_skew_s, last entry -
    first entry; and last_rank, who entered last.
    """
    last = entry.max(axis=1)
    return {
        "completion_s": exit.max(axis=1) - last,
        "arrival_skew_s": last - entry.min(axis=1),
        "last_rank": entry.argmax(axis=1),
    }


def ran_backwards(entry: np.ndarray, exit: np.ndarray) -> np.ndarray:
    """bool [call, rank]: whose clock ran backwards in the call or since the one before."""
    backwards = exit < entry
    backwards[1:] |= entry[1:] < exit[:-1]
    return backwards


def longest_mean(entry: np.ndarray, exit: np.ndarray) -> float | None:
    """The maximum over ranks of each rank's mean of exit - entry, seconds; None without any call."""
    return float((exit - entry).mean(axis=0).max()) if len(entry) else None
