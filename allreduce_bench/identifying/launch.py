"""Launches of the probe: as the user starts ranks, with counted messages, and without a setting."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..launching.find import find_launcher, mpirun_command
from ..launching.launcher import Launcher
from ..launching.layout import ranks_on_same_cores
from ..launching.tied_process import end_process, interrupt_when_asked_to_end
from ..machine import OPEN_MPI, Reading
from ..measuring.startup import thread_level
from ..message import Refused
from ..runs.start import Start
from ..watching.lifeline import end_with_parent
from .evidence import Answer, Bytes, answer
from .look import MARK, MONITORING, Asked, Look, from_json

PROGRAM = "allreduce_bench.identifying.probe"
PML = ("OMPI_MCA_pml", "pml")  # who chooses the layer of messages wants no other


class ProbeFailed(Refused, RuntimeError):
    """A launch of the probe that showed nothing."""

    exit_code = 1  # no bad usage


class Findings(NamedTuple):
    """What launches with the same settings showed."""

    answers: Mapping[int, Answer]  # size in bytes -> what ran, of all sizes looked at
    switches: Sequence[int]
    not_counted: str
    readings: Mapping[str, Reading]
    ranks: int
    nodes: int


class Launches(NamedTuple):
    """What all launches share."""

    launcher: Launcher
    ranks: int
    start: Start
    timeout_s: float

    @property
    def command(self) -> list[str]:
        """Return the words of the launcher and of the program, without what is asked for."""
        return mpirun_command(self.launcher, self.ranks, self.start, [sys.executable, "-m", PROGRAM])

    def find(self, asked: Asked, environ: Mapping[str, str], command: Sequence[str]) -> Findings:
        """Launch, and once more with counted messages where the library counts them. Raises ProbeFailed."""
        plain = self._look(asked, environ, command)
        if not self.launcher.library.startswith(OPEN_MPI) or PML[0] in environ or PML[1] in command:
            return findings(plain, None)
        counting = asked._replace(names=(), counts=True)
        try:
            return findings(plain, self._look(counting, {**environ, **MONITORING}, command))
        except ProbeFailed as error:
            return findings(plain, None)._replace(not_counted=str(error))

    def _look(self, asked: Asked, environ: Mapping[str, str], command: Sequence[str]) -> Look:
        level = thread_level("auto", ranks_on_same_cores(self.ranks, self.start))
        process = subprocess.Popen(
            [*command, json.dumps(asked)],
            env={**environ, "MPI4PY_RC_THREAD_LEVEL": level},
            preexec_fn=end_with_parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        try:
            stdout, stderr = process.communicate(timeout=self.timeout_s)
        except subprocess.TimeoutExpired:
            raise ProbeFailed("identifying.launch_hangs", timeout_s=self.timeout_s) from None
        finally:
            if process.poll() is None:
                end_process(process)
        found = next((line[len(MARK) :] for line in stdout.splitlines() if line.startswith(MARK)), None)
        if found is None:
            words = [line.strip() for line in stderr.splitlines() if line.strip(" \t-=*")]
            said = words[0] if words else f"exit status {process.returncode}"
            raise ProbeFailed("identifying.launch_failed", ranks=self.ranks, said=said)
        return from_json(found)


def launches(ranks: int, start: Start, timeout_s: float) -> Launches:
    """Return launches over so many ranks. Raises LaunchError, InterfaceError."""
    interrupt_when_asked_to_end()
    return Launches(find_launcher(start), ranks, start, timeout_s)


def environ_of_launch() -> dict[str, str]:
    """Return the environment that launches get."""
    return dict(os.environ)


def findings(plain: Look, counted: Look | None) -> Findings:
    """Put together what launches showed; where their orders differ, what was counted does not count."""
    answers = {}
    for nbytes in sorted({*plain.seen, *(counted.seen if counted else ())}):
        of_counted = counted.seen.get(nbytes) if counted else None
        seen = plain.seen.get(nbytes) or of_counted
        assert seen is not None
        messages = of_counted.messages if of_counted and of_counted.order == seen.order else seen.messages
        sent = Bytes(messages.messages, messages.nbytes) if messages else None
        answers[nbytes] = answer(plain.library, plain.hosts, plain.itemsize, seen.order, sent)
    switches = sorted({*plain.switches, *(counted.switches if counted else ())})
    not_counted = counted.not_counted if counted else plain.not_counted
    nodes = len(set(plain.hosts))
    return Findings(answers, switches, not_counted, plain.readings, len(plain.hosts), nodes)
