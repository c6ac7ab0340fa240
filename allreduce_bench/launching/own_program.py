"""Program of a user under supervision: starts its mpirun, with each rank in a wrapper that reports how it ends."""

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from ..machine.variables import drop_values
from ..runs.hosts import drop_domain
from ..runs.start import Start
from ..watching.lifeline import COMMAND_VARIABLE, MONITOR_VARIABLE, TERMINATE, adopt_orphans, end_with_parent
from .find import mpirun_command
from .launcher import Launcher, on_one_node
from .leftovers import note_launcher, remove_leftovers
from .supervisor import Supervisor, is_stopped, names_of_this_node
from .tied_process import (
    ENDING_S,
    end_orphans,
    end_process,
    how_it_ended,
    interrupts_put_off,
    shell_status,
    with_mpi4py,
)
from .wrapped_rank import UNWATCHED

LAUNCHER = "the launcher"
SIGNALLED = 128  # a shell's exit status of a process that signal N ended is this and N
KILLED = SIGNALLED + signal.SIGKILL
LONGEST_LINE = 1 << 16  # bytes
LOOK_S = 5.0  # most seconds between two checks of the launcher
GRACE_S = 3.0  # in which a rank that a signal killed is reported, after ranks that failed because they missed it
WRAPPER = "allreduce_bench.launching.wrapped_rank"
ABORTED = (  # launchers' messages about a rank that called MPI_Abort
    re.compile(r"MPI_ABORT was invoked on rank (\d+)"),
    re.compile(r"application called MPI_Abort\(.*\) - process (\d+)"),
)
TRACEBACK = "Traceback (most recent call last):"
LOST_NODE = re.compile(r"Remote daemon:\s+\[\S+\] on node (\S+)")  # Open MPI's message about a node that is gone


class Place(NamedTuple):
    """A rank and where it ran."""

    rank: int
    host: str  # empty: unknown

    def __str__(self) -> str:
        return f"rank {self.rank}{f' on {self.host}' if self.host else ''}"


class FirstToEnd(NamedTuple):
    """A rank that ended badly."""

    place: Place
    how: str  # `was killed by SIGKILL`
    status: int  # exit status of its process, in a shell's notation
    reported_at: float = 0.0  # monotonic seconds

    @property
    def sentence(self) -> str:
        """Return `rank 2 on n1 was killed by SIGKILL`."""
        return f"{self.place} {self.how}"

    @property
    def is_lost(self) -> bool:
        """Whether a signal ended it: its program did not choose to."""
        return SIGNALLED < self.status < SIGNALLED + signal.NSIG


class Ending(NamedTuple):
    """Exit status of a program, the reason in words, empty on success, and the ranks that were lost.

    Lost is a rank that a signal killed, or that does not respond; not one whose program ended with a status of its own.
    """

    status: int
    reason: str
    lost: tuple[Place, ...] = ()


class WatchedProgram:
    """Program `words`, run on `ranks` ranks by `launcher` as `start` says; it shares this process's output."""

    def __init__(self, launcher: Launcher, ranks: int, start: Start, words: Sequence[str], timeout_s: float):
        """End the program if a rank or the launcher does not respond, or stays stopped, for `timeout_s`."""
        local = on_one_node(launcher, ranks, start, os.environ)
        self._ended: list[FirstToEnd] = []
        self._aborted: int | None = None  # the rank that called MPI_Abort
        self._lost_nodes: set[str] = set()  # of which the launcher says so
        self._words, self._error_at = words, 0.0  # monotonic seconds of Python's first traceback; 0: none
        self._is_error_told = False
        self._woken = threading.Event()
        self._timeout_s = timeout_s
        self._stopped_since: dict[Place | str, float] = {}  # stopped by a signal -> monotonic seconds
        self._stopped_for_long: Place | str = ""  # first of them to exceed the timeout
        wrapped = [sys.executable, "-m", WRAPPER, *words]
        self._command = mpirun_command(launcher, ranks, start, wrapped)
        self._supervisor = Supervisor(
            ranks,
            timeout_s,
            local=local,
            on_message=self._take_message,
            on_trouble=lambda trouble: self._woken.set(),
            only_answers=True,
        )

    @property
    def command(self) -> list[str]:
        """Return the command line of the launcher."""
        return self._command

    def run(self) -> Ending:
        """Run it to its end. Raises KeyboardInterrupt after all ranks have been ended, OSError."""
        address = self._supervisor.address(names_of_this_node())
        command = shlex.join(drop_values(self._command))
        variables = {COMMAND_VARIABLE: command, MONITOR_VARIABLE: address}
        process, ending = None, None
        adopt_orphans()
        try:
            with interrupts_put_off():
                remove_leftovers()
                process = subprocess.Popen(
                    self._command,
                    env={**os.environ, **variables},
                    preexec_fn=partial(end_with_parent, TERMINATE, os.getpid()),
                    stderr=subprocess.PIPE,
                )
                note_launcher(process.pid)
                forwarding = threading.Thread(target=self._forward, args=(process,), daemon=True)
                forwarding.start()
                threading.Thread(target=self._await_end, args=(process,), daemon=True).start()
            self._wait(process)
            status = self._end_of(process)
            forwarding.join(1)  # for the last output
            is_lost = self._first is not None and self._first.is_lost
            if not (is_lost or self._stopped_for_long or status == -signal.SIGPIPE):  # that ended the launcher first
                self._supervisor.settle()  # a launcher that lost a node may end with status 0 before a rank is missed
            ending = self._ending(status)
            return ending
        finally:
            if process is not None and process.poll() is None:
                self._end(process)
            if ending is None or ending.status:  # of one that ended well, daemons may stay
                end_orphans()
            self._supervisor.close()

    def _wait(self, process: subprocess.Popen) -> None:
        """Wait until the program ends, or a part of it has been stopped for too long."""
        pause_s, looked = min(LOOK_S, self._timeout_s / 8), time.monotonic()
        while not self._woken.wait(pause_s):
            now = time.monotonic()
            if now - looked > 2 * pause_s:  # this process was stopped itself, as by Ctrl-Z: restart the clocks
                self._stopped_since = dict.fromkeys(self._stopped_since, now)
            looked = now
            if self._error_at and not self._is_error_told and now - self._error_at > self._timeout_s:
                self._is_error_told = True
                self._tell_error()
            if is_stopped(process.pid):
                self._stopped_since.setdefault(LAUNCHER, now)
            else:
                self._stopped_since.pop(LAUNCHER, None)
            for who, since in [*self._stopped_since.items()]:
                if now - since > self._timeout_s:
                    self._stopped_for_long = who
                    return

    def _tell_error(self) -> None:
        """Tell that ranks may wait for one that failed, unless mpi4py would have ended them."""
        if with_mpi4py(self._words) == [*self._words]:
            told = f"warning: a traceback was printed {self._timeout_s:g} s ago, and no rank has ended"
            print(f"{told}; if ranks wait for the one that failed, interrupt it", file=sys.stderr, flush=True)

    def _forward(self, process: subprocess.Popen) -> None:
        """Forward stderr of the launcher and the ranks as it comes; read its lines."""
        assert process.stderr
        rest = b""
        while data := os.read(process.stderr.fileno(), LONGEST_LINE):
            data = data.replace(b"\0", b"")  # Open MPI's mpirun ends its own messages with one
            sys.stderr.buffer.write(data)
            sys.stderr.buffer.flush()
            *lines, rest = re.split(rb"[\r\n]", rest[-LONGEST_LINE:] + data)
            for line in lines:
                self._read(line.decode(errors="replace"))
        self._read(rest.decode(errors="replace"))

    def _read(self, line: str) -> None:
        """Record which rank called MPI_Abort, lost nodes, ranks that run unheard, and errors."""
        for found in filter(None, (words.search(line) for words in ABORTED)):
            self._aborted = int(found[1]) if self._aborted is None else self._aborted
        if TRACEBACK in line:
            self._error_at = self._error_at or time.monotonic()
        self._supervisor.patience.may_be_absent |= UNWATCHED in line
        self._lost_nodes.update(map(drop_domain, LOST_NODE.findall(line)))

    def _await_end(self, process: subprocess.Popen) -> None:
        process.wait()
        remove_leftovers()
        self._woken.set()

    def _take_message(self, message: dict) -> None:
        """Record the ranks that end badly, and which are stopped; runs in the supervisor's thread."""
        if message["kind"] in ("stopped", "continued"):
            who = Place(int(message["rank"]), str(message["host"]))
            self._stopped_since.pop(who, None)
            if message["kind"] == "stopped":
                self._stopped_since[who] = time.monotonic()
        if message["kind"] == "failed":
            known = {one.place.rank for one in self._ended}
            rank = next(rank for rank in self._supervisor.patience.ranks if rank.failure and rank.rank not in known)
            place = Place(rank.rank, rank.host)
            self._ended.append(FirstToEnd(place, str(message["why"]), int(message["status"]), time.monotonic()))
            self._woken.set()

    @property
    def _first(self) -> FirstToEnd | None:
        """The rank that ended first; before it the first that was lost, which others may have missed and so failed."""
        lost = [one for one in self._ended if one.is_lost and one.reported_at - self._ended[0].reported_at < GRACE_S]
        return next(iter([*lost, *self._ended]), None)

    def _end_of(self, process: subprocess.Popen) -> int:
        """Return the launcher's status; it is ended unless it ends by itself, as launchers do after a rank has."""
        if self._stopped_for_long or self._supervisor.trouble:
            self._end(process)
        try:
            return process.wait(ENDING_S)
        except subprocess.TimeoutExpired:
            self._end(process)
            return process.returncode

    def _end(self, process: subprocess.Popen) -> None:
        self._supervisor.end_ranks()
        end_process(process)

    def _ending(self, status: int) -> Ending:
        first = self._first
        ranks = [Place(rank.rank, rank.host) for rank in self._supervisor.patience.ranks]
        if on_lost_nodes := tuple(place for place in ranks if drop_domain(place.host) in self._lost_nodes):
            names = ", ".join(sorted(self._lost_nodes))  # other ranks may have been ended before these were missed
            sentence = f"the launcher lost {names}; the ranks of other nodes were ended"
            return Ending(_status(status, on_lost_nodes), sentence, on_lost_nodes)
        if stopped := self._stopped_for_long:
            why = f"{stopped} was stopped by a signal for {self._timeout_s:g} s (--timeout)"
            stopped_ranks = (stopped,) if isinstance(stopped, Place) else ()
            return Ending(_status(status, stopped_ranks), f"{why}; all ranks were ended", stopped_ranks)
        if self._aborted is not None and not (first and first.is_lost):  # ranks also abort because another was lost
            return Ending(shell_status(status) or 1, f"rank {self._aborted} called MPI_Abort; it ended all ranks")
        if first:
            reason = f"{first.sentence}; the other ranks were ended"
            return Ending(first.status or 1, reason, (first.place,) if first.is_lost else ())
        if trouble := self._supervisor.trouble:
            lost = tuple(Place(rank.rank, rank.host) for rank in self._supervisor.patience.culprits)
            return Ending(_status(status, lost), f"{trouble.reason}; the other ranks were ended", lost)
        if not status:
            ended = self._supervisor.patience.first_to_go
            return (
                Ending(
                    1,
                    (
                        f"{ended} was ended by the launcher, which says that all went well; another rank has ended "
                        "without MPI_Finalize, as by os._exit(0)"
                    ),
                )
                if ended
                else Ending(0, "")
            )
        reason = f"the launcher {how_it_ended(status)}: it ended all ranks for a reason of its own, or of MPI_Abort"
        return Ending(shell_status(status), reason)


def _status(of_launcher: int, lost: Sequence[Place]) -> int:
    """Return the exit status of a program that was ended: where ranks were lost always that of a signal."""
    status = shell_status(of_launcher)
    return KILLED if lost and status <= SIGNALLED else status or 1
