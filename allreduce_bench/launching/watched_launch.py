"""A launcher's process whose ranks report to a supervisor: how `run`, `health` and `survive` start and end one."""

import os
import re
import shlex
import threading
from collections.abc import Callable, Mapping, Sequence
from subprocess import Popen

from ..machine.variables import drop_values
from ..watching.lifeline import COMMAND_VARIABLE, MONITOR_VARIABLE
from .leftovers import note_launcher, remove_leftovers
from .supervisor import Supervisor, names_of_this_node
from .tied_process import end_process, start_tied

# Matches Open MPI; MPICH names a rank that it killed. A rank that calls abort may only have lost its peer
DEAD_PROCESS = re.compile(r"process rank \d+ with PID (\d+)(?!.* calling)")
# Open MPI talks of how it starts its daemons, also where all goes well, and of connections before the rank that died
OF_STARTING = re.compile(r"\bplm[:_ ](ssh|rsh)\b|\bsetpgid\b|\bPMIX ERROR\b")
PLACE_IN_SOURCE = re.compile(r"^\[\S+@\S+\] \S+ \(\S+:\d+\): ")  # of Hydra, before what it says
ENDED_BY_TERM = {"openmpi": 1, "mpich": 15}  # exit status of an mpirun that ended its ranks on SIGTERM


class LaunchFailed(RuntimeError):
    """Error: a launch failed; `chance`: a repetition may succeed, because some ranks had reported."""

    def __init__(self, sentence: str, chance: bool = True):
        super().__init__(sentence)
        self.chance = chance


class LaunchRefused(RuntimeError):
    """Error: the ranks refused to measure a launch, and wrote nothing."""


class WatchedLaunch:
    """One launch: the launcher's process, what it and its ranks print, and their supervisor."""

    def __init__(
        self,
        supervisor: Supervisor,
        command: Sequence[str],
        variables: Mapping[str, str],
        read_line: Callable[[str], object] = lambda line: None,
        on_end: Callable[[], object] = lambda: None,
    ):
        """Start `command` with further environment `variables`, while interrupts are put off. Raises OSError.

        In threads, `read_line` gets every line of output, and `on_end` is called at the end of the launcher.
        """
        self.supervisor, self.names_dead_rank = supervisor, False  # whether the launcher said which rank died
        self._read_line, self._on_end = read_line, on_end
        self._explaining: list[str] = []  # the first line with words, and the next
        told = {
            COMMAND_VARIABLE: shlex.join(drop_values(command)),
            MONITOR_VARIABLE: supervisor.address(names_of_this_node()),
        }
        remove_leftovers()
        self.process: Popen = start_tied(command, {**os.environ, **told, **variables})
        note_launcher(self.process.pid)
        self._forwarding = threading.Thread(target=self._forward, daemon=True)
        self._forwarding.start()
        threading.Thread(target=self._await_end, daemon=True).start()

    def status(self, kind: str) -> int | None:
        """Return the exit status of the launcher of this kind, after its last output; None: it still runs.

        After a bad end the supervisor has judged, unless the launcher was asked to end its ranks.
        """
        status = self.process.poll()
        if status is not None:
            self._forwarding.join(1)
        # a status below 0 means that a signal ended the launcher and thereby its ranks: no rank died before
        if status and status > 0 and (self.names_dead_rank or status != ENDED_BY_TERM.get(kind)):
            self.supervisor.settle()
        return status

    @property
    def first_words(self) -> str:
        """Return what explains a start that failed: the first line with words, and the next if it goes on there.

        Without values of variables, since it is kept.
        """
        first, *others = [*drop_values(self._explaining), ""]
        return f"{first} {others[0]}".strip() if first.endswith((":", " on")) else first

    def end(self) -> None:
        """End the launcher and, through it and through the supervisor, all ranks."""
        if self.process.poll() is None:
            self.supervisor.end_ranks()
            end_process(self.process)

    def _forward(self) -> None:
        for line in self.process.stdout or ():
            if match := DEAD_PROCESS.search(line):
                self.supervisor.patience.suspect(int(match[1]))
                self.names_dead_rank = True
            if len(self._explaining) < 2 and line.strip(" \n\t-=*") and not OF_STARTING.search(line):
                self._explaining.append(PLACE_IN_SOURCE.sub("", line.strip()))
            self._read_line(line)

    def _await_end(self) -> None:
        self.process.wait()
        remove_leftovers()
        self._on_end()
