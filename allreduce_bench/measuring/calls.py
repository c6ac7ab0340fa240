"""The calls of a cell: gathered on rank 0 batch by batch, in the end what follows from them."""

from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from ..runs.schema import time_definition
from ..units import format_ranges
from . import stamps
from .budget import Sample
from .clock import ClockLine
from .sync import Barrier, Sync


class CellTimes(NamedTuple):
    """What came of the calls of a cell, warm-ups first; all but rank 0 know of no call."""

    calls: dict[str, list]  # a column of REPETITIONS -> its value of each call; None: not known
    warmups: int
    facts: dict  # columns of CELLS
    stamps: (
        np.ndarray | None
    )  # float64 [2, call, rank]: entry and exit, seconds on the common clock; None: there is none
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
    """The calls so far: all of them on rank 0, on the others only from when to when they were."""

    def __init__(self, comm: MPI.Comm, groups: tuple[tuple[int, ...], ...] = ()):
        """`groups`: the ranks of each group whose own times are wanted."""
        self.comm, self.groups, self.warmups = comm, groups, 0
        self.span: list[float] = []  # first entry and last exit on the own clock
        self._blocks: list[np.ndarray] = []  # [rank, 3, call] each
        self._ways: list[str] = []  # of each call
        self._valid_s: list[float] = []  # of those that are no warm-ups
        self._late = 0  # calls in a row, up to the last, to which somebody was late

    def end_warmups(self) -> None:
        """From here on calls count."""
        self.warmups, self._valid_s, self._late = len(self._ways), [], 0

    def add(self, block: np.ndarray, sync: Sync) -> None:
        """Take in [3, call] of every rank: entry, exit, on time; all ranks must."""
        calls = block.shape[1]
        if calls == 0:
            return
        self.span = [*self.span[:1], *([] if self.span else [block[0, 0]]), block[1, -1]]
        self._ways += [sync.name] * calls
        everyone = np.empty((self.comm.size, 3, calls)) if self.comm.rank == 0 else None
        self.comm.Gather(block, everyone)
        if everyone is None:
            return
        self._blocks.append(everyone)
        entry, exit, on_time = everyone.transpose(1, 2, 0)
        in_time = on_time.all(axis=1)
        valid = in_time & ~stamps.backwards(entry, exit).any(axis=1)
        self._valid_s += stamps.durations(entry, exit)["time_s"][valid].tolist()
        self._late = 0 if in_time.any() else self._late + calls
        sync.learn(1 - float(np.count_nonzero(in_time)) / calls)

    def sample(self, done: int, spent_s: float) -> Sample:
        """What rank 0 knows of the last `done` calls, which took `spent_s` seconds."""
        by_barrier = bool(self._ways) and self._ways[-1] == Barrier.name
        return Sample(done, spent_s, self._valid_s, self._late, by_barrier)

    def times(self, line: ClockLine | None, stopped: str) -> CellTimes:
        """Everything that follows; `line`: from this rank's clock to the common one, None where there is none."""
        lines = self.comm.gather(line)
        if lines is None:
            return CellTimes({}, self.warmups, {}, None, [], self.comm.bcast(None))
        entry, exit, on_time = np.concatenate(self._blocks, axis=2).transpose(1, 2, 0)
        back = stamps.backwards(entry, exit)
        valid = on_time.all(axis=1) & ~back.any(axis=1)
        timed = np.flatnonzero(valid[self.warmups :]) + self.warmups
        facts = {"stopped": stopped, "imb_t_max_s": stamps.longest_mean(entry[timed], exit[timed])}
        calls = {"valid": valid, "time_definition": np.array(list(map(time_definition, self._ways)))}
        calls |= stamps.durations(entry, exit)
        if self.groups:
            from ..runs.groups import MOST_GROUPS, format_group_times  # late: few runs have groups

            if len(self.groups) <= MOST_GROUPS:
                calls["group_times_s"] = np.array(
                    list(map(format_group_times, stamps.durations_of_groups(entry, exit, self.groups)))
                )
        unsteady, common = [rank for rank, line in enumerate(lines) if line is None], None
        if not unsteady and not back.any():
            common = np.array(
                [np.column_stack([line.common(own) for line, own in zip(lines, kind.T)]) for kind in (entry, exit)]
            )
            facts["clock_error_s"] = max(line.error_s for line in lines)
            calls |= stamps.arrivals(*common) if self.comm.size > 1 else {}
        backwards = np.flatnonzero(back.any(axis=0)).tolist()
        findings = _findings(unsteady, backwards, fell_back=len(set(self._ways)) > 1)
        unusable = None if timed.size else _why_unusable(backwards)
        columns = {name: values.tolist() for name, values in calls.items()}
        return CellTimes(columns, self.warmups, facts, common, findings, self.comm.bcast(unusable))


def _why_unusable(backwards: list[int]) -> str:
    why = f"the clock of {_ranks(backwards)} ran backwards" if backwards else "no rank was ever on time"
    return f"none of its calls is valid: {why}"


def _findings(unsteady: list[int], backwards: list[int], fell_back: bool) -> list[dict]:
    """What a reader must know of how the calls of a cell were timed."""
    found: list[dict] = []
    if not (backwards or unsteady or fell_back):
        return found
    from ..machine.finding import finding  # late: most cells have nothing to tell

    if backwards:
        found.append(
            finding(
                "clock",
                "severe",
                f"the clock of {_ranks(backwards)} ran backwards",
                "the calls in which it did are marked as not valid and left out of every statistic",
                "look at the clock source of that node, and leave the node out",
            )
        )
    if unsteady:
        found.append(
            finding(
                "clock",
                "caution",
                f"no straight line leads from the clock of {_ranks(unsteady)} to that of rank 0 in some cells",
                "completion and arrival skew are not known there; time_s needs no common clock and is right",
                "see whether something sets the clocks while it is measured, such as a time daemon that steps",
            )
        )
    if fell_back:
        found.append(
            finding(
                "sync",
                "caution",
                "in some cells no call began on time, so they went on with a barrier",
                "their times have another definition than those of other cells, see time_definition",
                "measure with --sync barrier, or on a machine that nobody else uses",
            )
        )
    return found


def _ranks(ranks: list[int]) -> str:
    """`rank 3`, or `ranks 0-2, 5`."""
    return f"rank{'s' if len(ranks) > 1 else ''} {format_ranges(ranks)}"
