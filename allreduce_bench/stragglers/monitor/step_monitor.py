"""`StepMonitor`: names late ranks in the steps of a program of one's own, while it runs.

Ranks exchange their times in blocks of steps; `arguments` are checked before.
"""

from collections.abc import Callable
from contextlib import suppress
from math import nan
from os import PathLike
from pathlib import Path
from socket import gethostname
from time import monotonic, perf_counter, sleep
from types import TracebackType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ...units import printable
from . import words
from .arguments import check_duration, check_every, check_function, check_log
from .blocks import HEAD, START, Block, CommonClock, block_of, empty_row, error_of_two
from .observer import MonitoredJob, Observer
from .transport import Gathering, Lost, StepMonitorError, Transport
from .transport_of_comm import transport_of
from .watchdog import StepProgress, watchdog_of

# Blocks of unspecified length: as many steps as take so long
FEWEST_OF_BLOCK, MOST_OF_BLOCK, BLOCK_S = 10, 100, 1.0
TAKEN_AFTER = 1  # steps after which sent rows are taken: each step's all-reduce has driven their progress

# Intervals between comparisons of clocks, seconds; sooner if the error reaches this share of a step
CLOCK_S, LATEST_CLOCK_S, CLOCK_SHARE = 1.0, 60.0, 0.01

# The end: wait for late ranks
CLOSE_S, POLL_S = 10.0, 0.001

LONGEST_NAME = 64  # characters that are kept of the name of a host


class _Rank(NamedTuple):
    """The facts that ranks exchange at the start."""

    host: str
    kernel: str  # whose clock it reads; empty: not known
    every: int | None
    median_step_s: float  # so far


class StepMonitor:
    """A monitor of the steps of a program: `with StepMonitor(comm) as step:`, in each step `step.ready()`, then
    `step()`.

    `comm`: a communicator of mpi4py; a process group of torch.distributed, None for its default one. All its ranks
    enter the `with` together and call `step()` equally often. Every `every` steps, else after about a second, each
    rank's times go to all ranks in a non-blocking allgather; `stragglers.step_alarm` judges them. Rank 0 reports on
    stderr and in `log` (lines of JSON); `on_alert` is called with each Alert on all ranks, and with each Stall on rank
    0, from another thread. `stall_after`: seconds or `90s`; else ten
    medians of the steps so far, 60 s at least, 300 s for the first step. When ranks are lost, those left call
    `step.go_on(comm)`.

    Raises ValueError and TypeError for invalid arguments, StepMonitorError for invalid calls.
    """

    def __init__(
        self,
        comm: Any = None,
        *,
        every: int | None = None,
        log: str | PathLike | None = None,
        stall_after: str | float | None = None,
        on_alert: Callable[..., object] | None = None,
    ):
        self._comm, self._given_every, self._on_alert = comm, check_every(every), check_function(on_alert)
        self._log = check_log(log)
        self._progress = StepProgress(check_duration(stall_after))
        self._transport: Transport | None = None
        self._ended = ""  # the code of the reason why `step` is no longer valid
        self._count = 0  # steps of this rank in the row
        self._pending: Gathering | None = None
        self._abandoned: list[Gathering | None] = []
        self._is_watching = False

    def __enter__(self) -> "StepMonitor":
        """Set up with the other ranks; all must enter."""
        if self._transport or self._ended:
            raise StepMonitorError("a StepMonitor is entered once; make another one for another `with`")
        self._begin(transport_of(self._comm))
        return self

    def go_on(self, comm: Any) -> None:
        """Watch the ranks of `comm` from now on, with all of which it is called: those left when others were lost.

        The step that was hit begins again; steps that were not exchanged yet are judged by nobody. Ranks have the
        numbers of `comm` in what follows. Raises StepMonitorError, TypeError.
        """
        if self._transport is None:
            self._refuse()
        self._stop()
        with suppress(Lost):  # one more: the next all-reduce says so, and what follows it calls this again
            self._begin(transport_of(comm))

    def _stop(self) -> None:
        """Watch nobody until `go_on`, because ranks are gone."""
        self._abandoned.append(self._pending)  # MPI may still write there
        self._pending = None
        if self._is_watching:
            self._is_watching = False
            self._watchdog.close()
            self._observer.close(complete=False, raised=words.LOST)

    def _begin(self, transport: Transport) -> None:
        """Set up with the other ranks of `transport`, which all do so after the same number of steps."""
        progress = self._progress
        own = printable(gethostname()[:LONGEST_NAME]), _read_kernel(), self._given_every, progress.median_step_s
        ranks = [_Rank(*values) for values in transport.exchange(own)]
        if len({its.every for its in ranks}) > 1:
            transport.free()  # all ranks see it, and leave
            values = ", ".join(f"{its.every} on rank {rank}" for rank, its in enumerate(ranks[: words.MOST_NAMED]))
            raise StepMonitorError(f"StepMonitor: every must be the same on all ranks, and is {values}")
        kernels = [its.kernel or f"rank {rank}" for rank, its in enumerate(ranks)]
        self._leader_of = [kernels.index(kernel) for kernel in kernels]
        nodes = list(dict.fromkeys((its.host, its.kernel) for its in ranks))
        node_of = tuple(nodes.index((its.host, its.kernel)) for its in ranks)
        self._clock = CommonClock(transport, sorted(set(self._leader_of)))
        error_s = error_of_two(self._leader_of, transport.exchange(self._clock.line.error_s))
        hosts = tuple(host for host, _ in nodes)
        job = MonitoredJob(transport.rank, node_of, hosts, self._given_every, error_s)
        self._observer = Observer(job, self._log, self._on_alert)
        progress.median_step_s = max(its.median_step_s for its in ranks)  # not all may have had the last block
        self._watchdog = watchdog_of(transport, len(nodes) == 1, progress, self._observer.tell)
        self._watchdog.start()
        self._first_step, self._end_s, self._compared = progress.steps, nan, 0.0
        self._block: Block | None = None
        self._new_row()
        self._row[START] = perf_counter()
        progress.since, progress.is_ready = monotonic(), False
        self._transport, self._is_watching = transport, True

    def ready(self) -> None:
        """Stamp that this rank is ready for the collective call of this step; of several calls the last counts."""
        now = perf_counter()
        if self._transport is None:
            self._refuse()
        progress = self._progress
        if progress.steps and not progress.says_ready:
            raise StepMonitorError(
                f"step {progress.steps}: ready() came, and not in earlier steps; call it in all or in none"
            )
        progress.says_ready = progress.is_ready = True
        self._row[HEAD + self._count] = now

    def __call__(self) -> None:
        """End the step. Every so many steps the ranks exchange their times."""
        now = perf_counter()
        if self._transport is None or not self._transport.is_usable():
            self._refuse()
        progress = self._progress
        if progress.says_ready and not progress.is_ready:
            raise StepMonitorError(
                f"step {progress.steps}: step() came without ready(); call ready() in all steps or in none"
            )
        self._row[HEAD + self._every + self._count] = now
        self._count += 1
        progress.next_step()
        try:
            if self._count == TAKEN_AFTER:
                self._take_pending()
            if self._count == self._every:
                self._exchange()
        except Lost:
            self._stop()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Finish. After an exception nothing is expected of the other ranks, which may be elsewhere."""
        transport, self._transport = self._transport, None
        self._ended = "the `with` of this StepMonitor has ended"
        if transport is None or not self._is_watching:
            return
        self._progress.end()
        complete = False
        try:
            with suppress(Lost):
                complete = kind is None and self._exchange_rest(transport)
        finally:
            self._watchdog.close()
            self._observer.close(complete=complete, raised=kind.__name__ if kind else "")
        if complete:
            transport.free()

    def _refuse(self) -> NoReturn:
        if self._transport is None:
            raise StepMonitorError(self._ended or "a StepMonitor watches steps inside of its `with` only")
        raise StepMonitorError("the communicator of this StepMonitor was freed; end its `with` before that")

    def _exchange(self) -> None:
        """Send the row to all ranks."""
        if not self._is_watching:
            self._new_row()
            return
        assert self._transport is not None
        self._post(self._transport)
        if self._block and self._is_clock_due(self._block):
            self._compared = self._end_s
            self._clock.compare()

    def _take_pending(self) -> None:
        """Take the rows sent before, on all ranks after the same step."""
        if self._pending is not None:
            rows, self._pending = self._pending.rows(), None
            self._take(rows)

    def _post(self, transport: Transport) -> None:
        self._row[:START] = self._clock.line
        self._pending = transport.gather(self._row)
        self._new_row()

    def _new_row(self) -> None:
        """Begin a row, of a length that all ranks agree on."""
        median_s = self._progress.median_step_s
        fitting = min(MOST_OF_BLOCK, max(FEWEST_OF_BLOCK, int(BLOCK_S / median_s))) if median_s else FEWEST_OF_BLOCK
        self._every, self._count = self._given_every or fitting, 0
        self._row = empty_row(self._every)

    def _take(self, rows: np.ndarray) -> None:
        block = block_of(rows, self._leader_of, self._first_step, self._end_s)
        self._first_step, self._end_s = self._first_step + len(block.step_s), block.end_s
        self._block = block
        if len(block.step_s):
            self._progress.median_step_s = block.median_step_s
        self._observer.take(block)

    def _is_clock_due(self, block: Block) -> bool:
        """Return whether the leaders compare clocks again: the same on all ranks, by their common block."""
        since_s = self._end_s - self._compared
        wide = block.clock_error_s > CLOCK_SHARE * self._progress.median_step_s
        return len(set(self._leader_of)) > 1 and since_s > (CLOCK_S if wide else LATEST_CLOCK_S)

    def _exchange_rest(self, transport: Transport) -> bool:
        """Exchange the steps since the last exchange; return False if some rank has not finished within CLOSE_S."""
        if not transport.is_usable():
            return False
        deadline = monotonic() + CLOSE_S
        for post in (False, True):
            if post:
                self._post(transport)
            while self._pending is not None and not self._pending.is_done():
                if monotonic() > deadline:
                    return False
                sleep(POLL_S)
            self._take_pending()
        return True


def _read_kernel() -> str:
    """Identify the clock that processes share: the running kernel, and its time namespace."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        time_of = Path("/proc/self/timens_offsets")
        return f"{boot} {time_of.read_text() if time_of.exists() else ''}"
    except OSError:
        return ""
