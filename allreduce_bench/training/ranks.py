"""The ranks of `workload --measure`: started, waited for, and what they say."""

import json
import os
import re
import subprocess
import sys
import tempfile
from subprocess import DEVNULL
from typing import Any

from ..cli.request import on_hosts_around
from ..cli.types import OneLineError
from ..measuring.startup import thread_level
from ..runs.start import Start
from .measuring.step_request import THREAD

PATIENCE_S = 600.0


def run_ranks(ranks: int, per_node: int | None, request: dict[str, Any]) -> dict[str, Any]:
    """What rank 0 prints of a `measuring.step_request`. Raises LaunchError, OneLineError where it refuses, or fails.

    Rank 0 reads the request from a file: recorded calls are more than a word of a command holds, and more than Hydra's
    mpirun forwards.
    """
    from ..launching.find import find_launcher, mpirun_command
    from ..launching.layout import ranks_on_same_cores

    start = on_hosts_around(Start(ranks_per_node=per_node))
    program = [sys.executable, "-m", "allreduce_bench.training.measuring.training_step"]
    auto = thread_level("auto", ranks_on_same_cores(ranks, start))
    level = "multiple" if request["overlap"] == THREAD else auto
    environ = {**os.environ, "MPI4PY_RC_THREAD_LEVEL": level}
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(request, file)
        file.flush()
        command = mpirun_command(find_launcher(start), ranks, start, [*program, file.name])
        done = _done(command, environ)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise OneLineError(f"workload --measure: the ranks failed: {_reason(done)}", 1)
    found = json.loads(lines[-1])
    if refused := found.get("refused"):
        raise OneLineError(f"workload --measure: {refused}", 1)
    return found


def _done(command: list[str], environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Raises OneLineError after PATIENCE_S."""
    try:
        return subprocess.run(
            command, env=environ, capture_output=True, text=True, check=False, timeout=PATIENCE_S, stdin=DEVNULL
        )
    except subprocess.TimeoutExpired as error:
        raise OneLineError(f"workload --measure: no end after {PATIENCE_S:.0f} s; measure less at once", 1) from error


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    """The last error of Python among what the launcher printed, else its last words, else the exit status."""
    words = [line.strip() for line in done.stderr.splitlines() if line.strip(" -*=")]
    errors = [line for line in words if re.match(r"[\w.]*(Error|Exception): ", line)]
    return [f"exit status {done.returncode}", *words[-1:], *errors[-1:]][-1]
