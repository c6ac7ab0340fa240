"""`workload --measure`: measures the modelled step on ranks that this command starts."""

import json
import os
import re
import subprocess
import sys
import tempfile
from subprocess import DEVNULL
from typing import TYPE_CHECKING, Any, NamedTuple

from ..cli.request import on_hosts_around
from ..cli.types import OneLineError
from ..measuring.startup import thread_level, under_launcher
from ..message import say
from ..runs.cell import COMPILED, EXECUTORS
from ..runs.start import Start
from ..units import format_time, unknown_word
from .measuring.request import BETWEEN, BLOCKING, IALLREDUCE, NATIVE, THREAD

if TYPE_CHECKING:
    from pathlib import Path

    from .measured import Measured
    from .result import Result
    from .step import Setup

# Limits
PATIENCE_S = 600.0  # until the ranks have ended
MOST_ELEMENTS = 1 << 28  # of all vectors that a rank sends: two of a GiB each
MOST_CALLS = 100_000  # whose events are kept for the time line


class Replay(NamedTuple):
    """A measurement, and its model from computation alone and all-reduces alone."""

    modelled: "Result"
    measured: "Measured"
    how: tuple[str, str]  # the kind of computation, and where all-reduces run


def replay_step(setup: "Setup", options: dict[str, Any]) -> Replay:
    """Measure a step on the ranks of `options`. Raises OneLineError, LaunchError, ValueError."""
    from .measured import measured_of, modelled_of, step_request
    from .result import measured_result

    measuring = _measuring(options, BLOCKING if options["blocking"] else options["overlap"] or THREAD)
    if setup.compute_s <= 0:
        raise OneLineError("training.compute_measured_step_computes")
    asked = {**step_request(setup), **measuring.request}
    if asked.get("cycle_s"):
        if measuring.request["overlap"] == IALLREDUCE:
            raise OneLineError("training.overlap_iallreduce_horovod_reduces")
        asked["overlap"] = THREAD
    elements = sum(asked["counts"]) + asked.get("tensor_count", 0)
    _refuse_too_much(elements, asked, options, "add --scale 1/64", say("training.use_shorter_compute"))
    found = run_ranks(measuring.ranks, options["ranks_per_node"], asked)
    measured = measured_of(found, setup, measuring.ranks, measuring.name)
    result = measured_result(setup.model.label, modelled_of(measured, setup), setup)
    return Replay(result, measured, measuring.how)


def replay_calls(path: "Path", options: dict[str, Any]) -> Replay:
    """Measure recorded calls. Raises OneLineError, CallError, LaunchError, ValueError."""
    from .input_files import read_calls
    from .measured import calls_request, measured_calls, modelled_calls
    from .result import measured_result

    measuring, calls = _measuring(options, BETWEEN), read_calls(path)
    if len(calls) > MOST_CALLS:
        raise OneLineError("training.calls_measure_takes_most", path=path, call_count=len(calls), most_calls=MOST_CALLS)
    try:
        asked = {**calls_request(calls, options["dtype"]), **measuring.request}
    except ValueError as error:
        raise OneLineError("training.place_error", place=path, error=error) from error
    _refuse_too_much(sum({*asked["counts"]}), asked, options, say("training.leave_out_longest_calls"), "cut the file")
    found = run_ranks(measuring.ranks, options["ranks_per_node"], asked)
    measured = measured_calls(found, calls, measuring.ranks, measuring.name)
    title = f"{path}, {len(calls)} call{'s' if len(calls) != 1 else ''}"
    return Replay(measured_result(title, modelled_calls(measured, calls)), measured, measuring.how)


class _Measuring(NamedTuple):
    """Checked options: the ranks, how they measure, and the algorithm with its executor."""

    ranks: int
    request: dict[str, Any]
    name: str

    @property
    def how(self) -> tuple[str, str]:
        return self.request["work"], self.request["overlap"]


def _measuring(options: dict[str, Any], overlap: str) -> _Measuring:
    """Return the checked options. Raises OneLineError."""
    ranks, algorithm = _ranks(options), _algorithm(options)
    executor = _executor(options, algorithm)
    if overlap == IALLREDUCE and (algorithm != NATIVE or executor in COMPILED):
        raise OneLineError("training.overlap_iallreduce_library_own")
    own = {"algorithm": algorithm, "executor": executor, "work": options["work"], "steps": options["steps"]}
    name = algorithm if executor in (NATIVE, "sendrecv") else f"{algorithm} {executor}"
    return _Measuring(ranks, {**own, "overlap": overlap}, name)


def _ranks(options: dict[str, Any]) -> int:
    if under_launcher(os.environ):
        raise OneLineError("training.workload_measure_starts_ranks")
    if not options["ranks"] or len(options["ranks"]) != 1 or options["ranks"][0] < 2:
        raise OneLineError("training.measure_needs_number_ranks")
    return options["ranks"][0]


def _algorithm(options: dict[str, Any]) -> str:
    from ..algorithms import builtin

    names = options["algorithms"] or (NATIVE,)
    if len(names) > 1:
        raise OneLineError("training.measure_takes_algorithm_found", name_count=len(names))
    if names[0] not in (NATIVE, *builtin()):
        raise OneLineError("as_said", words=unknown_word("algorithm", names[0], (NATIVE, *builtin())))
    return names[0]


def _executor(options: dict[str, Any], algorithm: str) -> str:
    """Choose the executor; the library's own all-reduce is called from Python, or from compiled code."""
    known = (NATIVE, "compiled") if algorithm == NATIVE else EXECUTORS
    executor = options["executor"] or known[0]
    if executor not in known:
        raise OneLineError("training.executor", unknown_word=unknown_word("executor", executor, known))
    return executor


def _refuse_too_much(elements: int, asked: dict[str, Any], options: dict[str, Any], less: str, shorter: str) -> None:
    """Raise OneLineError for what exceeds a machine's memory, or takes too long by its computation alone."""
    if elements > MOST_ELEMENTS and not options["no_limit"]:
        raise OneLineError("training.elements_rank_limit_no", elements=elements, most_elements=MOST_ELEMENTS, less=less)
    once_s, turns = sum(time_s for _, time_s in asked["actions"]), 1 + asked["steps"]
    if (computed_s := 2 * turns * once_s) > PATIENCE_S:
        raise OneLineError(
            "training.computation_alone_takes_turns",
            computed_s=computed_s,
            turns=turns,
            once_s=format_time(once_s),
            patience_s=PATIENCE_S,
            shorter=shorter,
        )


def run_ranks(ranks: int, per_node: int | None, request: dict[str, Any]) -> dict[str, Any]:
    """Start ranks for a `measuring.request.Request` and return what rank 0 prints.

    Raises LaunchError, OneLineError where it refuses, or fails.

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
        done = _finished(command, environ)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise OneLineError("training.workload_measure_ranks_failed", exit_code=1, done=_reason_of_failure(done))
    found = json.loads(lines[-1])
    if refused := found.get("refused"):
        raise OneLineError("training.workload_measure", exit_code=1, refused=refused)
    return found


def _finished(command: list[str], environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command to its end. Raises OneLineError after PATIENCE_S."""
    try:
        return subprocess.run(
            command, env=environ, capture_output=True, text=True, check=False, timeout=PATIENCE_S, stdin=DEVNULL
        )
    except subprocess.TimeoutExpired as error:
        raise OneLineError("training.workload_measure_no_end", exit_code=1, patience_s=PATIENCE_S) from error


def _reason_of_failure(done: subprocess.CompletedProcess[str]) -> str:
    """Return the last error of Python in the launcher's output, else its last words, else the exit status."""
    words = [line.strip() for line in done.stderr.splitlines() if line.strip(" -*=")]
    errors = [line for line in words if re.match(r"[\w.]*(Error|Exception): ", line)]
    return [f"exit status {done.returncode}", *words[-1:], *errors[-1:]][-1]
