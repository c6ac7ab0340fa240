"""A program of a user under the watch: its mpirun is started, each rank in a wrapper that says how it ends."""

import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from ..machine.node import hide_secrets
from ..runs.start import Start
from ..watching.lifeline import COMMAND_VARIABLE, MONITOR_VARIABLE, end_with_parent
from ..watching.supervisor import Supervisor, names_of_this_node
from .endings import how_it_ended, shell_status
from .find import mpirun_command
from .launcher import Launcher, on_one_node
from .tied_process import ENDING_S, end_process, interrupts_put_off

WRAPPER = "allreduce_bench.launching.wrapped_rank"
ABORTED = (  # what launchers say of a rank that ends all of them itself, by MPI_Abort
    re.compile(r"MPI_ABORT was invoked on rank (\d+)"),
    re.compile(r"application called MPI_Abort\(.*\) - process (\d+)"),
)


class FirstToEnd(NamedTuple):
    """The rank that ended badly before all others."""

    rank: int
    host: str  # empty: unknown
    how: str  # `was killed by SIGKILL`
    status: int  # of its process, as shells have it

    @property
    def sentence(self) -> str:
        """`rank 2 on n1 was killed by SIGKILL`."""
        return f"rank {self.rank}{f' on {self.host}' if self.host else ''} {self.how}"


class Ending(NamedTuple):
    """How a program ended: the status to hand on, and the reason in words, empty where all is well."""

    status: int
    reason: str


class WatchedProgram:
    """`words`, started on `ranks` ranks by `launcher` as `start` says; its output is that of this process."""

    def __init__(self, launcher: Launcher, ranks: int, start: Start, words: Sequence[str]):
        local = on_one_node(launcher, ranks, start, os.environ)
        self._first: FirstToEnd | None = None
        self._aborted: int | None = None  # the rank that called MPI_Abort
        self._woken = threading.Event()
        self._hosts: dict[int, str] = {}
        wrapped = [sys.executable, "-m", WRAPPER, *words]
        self._command = mpirun_command(launcher, ranks, start, wrapped)
        self._supervisor = Supervisor(
            ranks, inf, local=local, on_message=self._take_message, on_trouble=lambda trouble: self._woken.set()
        )

    @property
    def command(self) -> list[str]:
        """The command line of the launcher."""
        return self._command

    def run(self) -> Ending:
        """Run it to its end. Raises KeyboardInterrupt after all ranks have been ended, OSError."""
        address = self._supervisor.address(names_of_this_node())
        command = shlex.join(hide_secrets(self._command))
        variables = {COMMAND_VARIABLE: command, MONITOR_VARIABLE: address}
        process = None
        try:
            with interrupts_put_off():
                process = subprocess.Popen(
                    self._command, env={**os.environ, **variables}, preexec_fn=end_with_parent, stderr=subprocess.PIPE
                )
                forwarding = threading.Thread(target=self._forward, args=(process,), daemon=True)
                forwarding.start()
                threading.Thread(target=self._await_end, args=(process,), daemon=True).start()
            self._woken.wait()
            status = self._end_of(process)
            forwarding.join(1)  # the last that was said
            return self._ending(status)
        finally:
            if process is not None and process.poll() is None:
                self._end(process)
            self._supervisor.close()

    def _forward(self, process: subprocess.Popen) -> None:
        """Pass on what the launcher and the ranks say on stderr, and note who called MPI_Abort."""
        for line in process.stderr or ():
            sys.stderr.buffer.write(line)
            sys.stderr.buffer.flush()
            text = line.decode(errors="replace")
            for found in filter(None, (words.search(text) for words in ABORTED)):
                self._aborted = int(found[1]) if self._aborted is None else self._aborted

    def _await_end(self, process: subprocess.Popen) -> None:
        process.wait()
        self._woken.set()

    def _take_message(self, message: dict) -> None:
        """In the supervisor's thread: the first rank that ends badly is the one to name."""
        if message["kind"] == "failed" and self._first is None:
            ranks = self._supervisor.patience.ranks
            rank = next(rank for rank in ranks if rank.failure)
            self._first = FirstToEnd(rank.rank, rank.host, str(message["why"]), int(message["status"]))
            self._woken.set()

    def _end_of(self, process: subprocess.Popen) -> int:
        """The status of the launcher, which ends by itself when it hears that a rank has; else it is ended."""
        try:
            return process.wait(ENDING_S)
        except subprocess.TimeoutExpired:
            self._end(process)
            return process.returncode

    def _end(self, process: subprocess.Popen) -> None:
        self._supervisor.end_ranks()
        end_process(process)

    def _ending(self, status: int) -> Ending:
        if self._aborted is not None:
            return Ending(shell_status(status) or 1, f"rank {self._aborted} called MPI_Abort; it ended all ranks")
        if self._first is not None:
            return Ending(self._first.status or 1, f"{self._first.sentence}; the other ranks were ended")
        if trouble := self._supervisor.trouble:
            return Ending(shell_status(status) or 1, f"{trouble.reason}; the other ranks were ended")
        reason = f"the launcher {how_it_ended(status)}: it ended all ranks for a reason of its own, or of MPI_Abort"
        return Ending(shell_status(status), reason if status else "")
