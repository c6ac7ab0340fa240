"""Launches of the probe: as the user starts ranks, with counted messages, and without a setting."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..launching.find import find_launcher, mpirun_command
from ..launching.launcher import Launcher
from ..launching.layout import ranks_on_same_cores
from ..launching.tied_process import end_process, interrupt_when_asked_to_end, start_tied
from ..machine import OPEN_MPI, Reading
from ..machine.findings import singletons
from ..measuring.startup import thread_level
from ..runs.start import Start
from .evidence import Answer, answer
from .look import MARK, MONITORING, Asked, Look, Seen, from_json

PROGRAM = "allreduce_bench.identifying.probe"
LEVEL = "MPI4PY_RC_THREAD_LEVEL"  # a variable
PML = ("OMPI_MCA_pml", "pml")  # who chooses the layer of messages wants no other


class ProbeFailed(RuntimeError):
    """A launch of the probe that showed nothing."""

    exit_code = 2  # 1 is left to an expected algorithm that did not run


class Findings(NamedTuple):
    """What launches with the same settings showed."""

    answers: Mapping[int, Answer]  # size in bytes -> what ran, of all sizes looked at
    switches: Sequence[int]
    not_counted: str
    readings: Mapping[str, Reading]
    ranks: int
    nodes: int
    dtype: str
    forced: Mapping[str, Mapping[int, Answer]]  # algorithm that the library was told to use -> the same


class Launches(NamedTuple):
    """What all launches share."""

    launcher: Launcher
    ranks: int
    start: Start
    timeout_s: float
    level: str = "auto"  # thread level, as of a plan

    @property
    def command(self) -> list[str]:
        """Return the words of the launcher and of the program, without what is asked for."""
        return mpirun_command(self.launcher, self.ranks, self.start, [sys.executable, "-m", PROGRAM])

    def find(
        self,
        asked: Asked,
        environ: Mapping[str, str],
        command: Sequence[str],
        may_count: Callable[[], bool] = lambda: True,
    ) -> Findings:
        """Launch, and once more with counted messages where the library counts them. Raises ProbeFailed.

        `may_count` says before the second launch whether it may begin.
        """
        plain = self._look(asked, environ, command)
        if not self.launcher.library.startswith(OPEN_MPI) or PML[0] in environ or PML[1] in command or not may_count():
            return findings(plain, None)
        counting = asked._replace(names=(), counts=True)
        try:
            return findings(plain, self._look(counting, {**environ, **MONITORING}, command))
        except ProbeFailed as error:
            return findings(plain, None)._replace(not_counted=str(error))

    def _look(self, asked: Asked, environ: Mapping[str, str], command: Sequence[str]) -> Look:
        level = thread_level(self.level, ranks_on_same_cores(self.ranks, self.start))
        environ = {**environ, LEVEL: level}
        process = start_tied([*command, json.dumps(asked)], environ, stderr=subprocess.PIPE)
        try:
            stdout, stderr = process.communicate(timeout=self.timeout_s)
        except subprocess.TimeoutExpired:
            raise ProbeFailed(
                f"the launch took longer than {self.timeout_s:g} s and was ended; a longer --timeout waits for it"
            ) from None
        finally:
            if process.poll() is None:
                end_process(process)
        found = next((line[len(MARK) :] for line in stdout.splitlines() if line.startswith(MARK)), None)
        if found is None:
            words = [line.strip() for line in stderr.splitlines() if line.strip(" \t-=*")]
            said = words[0].rstrip(",:; ") if words else f"exit status {process.returncode}"
            raise ProbeFailed(f"the launch of {self.ranks} ranks failed: {said}")
        look = from_json(found)
        if finding := singletons(self.ranks, len(look.hosts)):
            raise ProbeFailed(f"{finding['text']}; {finding['advice']}")
        return look


def launches(ranks: int, start: Start, timeout_s: float) -> Launches:
    """Return launches over so many ranks, as the environment says. Raises LaunchError, InterfaceError."""
    interrupt_when_asked_to_end()
    return Launches(find_launcher(start), ranks, start, timeout_s, os.environ.get(LEVEL, "auto"))


def findings(plain: Look, counted: Look | None) -> Findings:
    """Put together what launches showed; where their orders differ, what was counted does not count."""
    of_counted = counted.seen if counted else {}
    switches = sorted({*plain.switches, *(counted.switches if counted else ())})
    forced = {
        name: _answers(plain, seen, counted.forced.get(name, {}) if counted else {})
        for name, seen in plain.forced.items()
    }
    return Findings(
        _answers(plain, plain.seen, of_counted),
        switches,
        counted.not_counted if counted else plain.not_counted,
        plain.readings,
        len(plain.hosts),
        len(set(plain.hosts)),
        plain.dtype,
        forced,
    )


def _answers(plain: Look, of_plain: Mapping[int, Seen], of_counted: Mapping[int, Seen]) -> dict[int, Answer]:
    """Return what ran at each size that a launch looked at."""
    answers = {}
    for size_bytes in sorted({*of_plain, *of_counted}):
        counted = of_counted.get(size_bytes)
        seen = of_plain.get(size_bytes) or of_counted[size_bytes]
        messages = (counted if counted and counted.order == seen.order else seen).messages
        answers[size_bytes] = answer(plain.library, plain.hosts, plain.itemsize, seen.order, messages)
    return answers
