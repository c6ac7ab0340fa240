"""`workload --measure`: the step that was modelled, measured on ranks that this command starts."""

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from ..measuring.startup import thread_level, under_launcher
from ..runs.cell import COMPILED, EXECUTORS
from ..runs.start import Start
from ..units import unknown_word
from .in_lab import with_lab
from .types import OneLineError

if TYPE_CHECKING:
    from ..workload.measured import Measured
    from ..workload.step import Outcome, Setup

PATIENCE_S = 600.0
MOST_ELEMENTS = 1 << 28  # of all buckets of a rank: two vectors of a GiB each
THREAD, NATIVE = "thread", "native"


class Replay(NamedTuple):
    """What was measured, and the model of it from its computation alone and its all-reduces alone."""

    setup: "Setup"
    measured: "Measured"
    modelled: "Outcome"


def replay(setup: "Setup", options: dict[str, Any]) -> Replay:
    """Measure the step on the ranks of `options`. Raises OneLineError, LaunchError, ValueError."""
    from ..workload.measured import measured_of, modelled_of, rank_request

    ranks, algorithm = _ranks(options), _algorithm(options)
    asked = rank_request(setup)
    _refuse(setup, asked, options, algorithm)
    own = {"algorithm": algorithm, "executor": _executor(options, algorithm), "work": options["work"]}
    own |= {"overlap": overlap_of(options), "steps": options["steps"]}
    found = _run(ranks, options["ranks_per_node"], {**asked, **own})
    if refused := found.get("refused"):
        raise OneLineError(f"workload --measure: {refused}", 1)
    name = algorithm if own["executor"] in (NATIVE, "sendrecv") else f"{algorithm} {own['executor']}"
    measured = measured_of(found, setup, ranks, name)
    return Replay(setup, measured, modelled_of(measured, setup))


def overlap_of(options: dict[str, Any]) -> str:
    """blocking, or how all-reduces run beside the computation."""
    return "blocking" if options["blocking"] else options["overlap"]


def _ranks(options: dict[str, Any]) -> int:
    if under_launcher(os.environ):
        raise OneLineError("workload --measure starts its ranks itself; leave out mpirun or srun")
    if not options["ranks"] or len(options["ranks"]) != 1 or options["ranks"][0] < 2:
        raise OneLineError("--measure needs one number of ranks, 2 or more, such as -n 2")
    return options["ranks"][0]


def _algorithm(options: dict[str, Any]) -> str:
    from ..algorithms import builtin

    names = options["algorithms"] or (NATIVE,)
    if len(names) > 1:
        raise OneLineError(f"--measure takes one algorithm, found {len(names)}; leave all but one out of -a")
    if names[0] not in (NATIVE, *builtin()):
        raise OneLineError(unknown_word("algorithm", names[0], (NATIVE, *builtin())))
    return names[0]


def _executor(options: dict[str, Any], algorithm: str) -> str:
    """Of the algorithm; the library's own all-reduce is called from Python, or from compiled code."""
    known = (NATIVE, "compiled") if algorithm == NATIVE else EXECUTORS
    executor = options["executor"] or known[0]
    if executor not in known:
        raise OneLineError(f"--executor: {unknown_word('executor', executor, known)}")
    return executor


def _refuse(setup: "Setup", asked: dict[str, Any], options: dict[str, Any], algorithm: str) -> None:
    """Raises OneLineError for what does not fit a machine, or cannot be posted."""
    if setup.compute_s <= 0:
        raise OneLineError("--compute 0: a measured step computes; expected such as --compute 100ms")
    if (total := sum(asked["counts"]) + asked.get("tensor_count", 0)) > MOST_ELEMENTS and not options["no_limit"]:
        raise OneLineError(
            f"{total:,} elements on each rank, the limit is {MOST_ELEMENTS:,}; add --scale 1/64, or --no-limit"
        )
    if overlap_of(options) == "iallreduce" and (algorithm != NATIVE or options["executor"] in COMPILED):
        raise OneLineError("--overlap iallreduce is the library's own MPI_Iallreduce; use -a native without --executor")


def _run(ranks: int, per_node: int | None, request: dict[str, Any]) -> dict[str, Any]:
    """What rank 0 prints. Raises LaunchError, OneLineError where the launcher fails."""
    from ..launching.find import find_launcher, mpirun_command
    from ..launching.layout import ranks_on_same_cores

    start = with_lab(Start(ranks_per_node=per_node), os.environ)
    program = [sys.executable, "-m", "allreduce_bench.measuring.training_step", json.dumps(request)]
    command = mpirun_command(find_launcher(start), ranks, start, program)
    auto = thread_level("auto", ranks_on_same_cores(ranks, start))
    level = "multiple" if request["overlap"] == THREAD else auto
    environ = {**os.environ, "MPI4PY_RC_THREAD_LEVEL": level}
    try:
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired as error:
        raise OneLineError(f"workload --measure: no end after {PATIENCE_S:.0f} s; use a smaller --scale", 1) from error
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise OneLineError(f"workload --measure: the ranks failed: {_reason(done)}", 1)
    return json.loads(lines[-1])


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    """The last error of Python among what the launcher printed, else its last words, else the exit status."""
    words = [line.strip() for line in done.stderr.splitlines() if line.strip(" -*=")]
    errors = [line for line in words if re.match(r"[\w.]*(Error|Exception): ", line)]
    return [f"exit status {done.returncode}", *words[-1:], *errors[-1:]][-1]
