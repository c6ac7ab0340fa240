"""A step, or recorded calls, measured on ranks that are started here, beside its model from the parts alone."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from subprocess import DEVNULL
from typing import Any

from ..algorithms import is_builtin, why_unknown
from ..cli.plan_of_options import place_on_hosts
from ..cli.types import OneLineError
from ..launching.find import find_launcher, mpirun_command
from ..launching.layout import ranks_on_same_cores
from ..machine.node import cores, free_memory
from ..measuring.startup import thread_level, under_launcher
from ..runs.competitor import NATIVE, WAYS, Competitor, competitor, split_way
from ..runs.dtypes import DTYPES
from ..runs.start import UNASKED
from ..units import format_size, format_time, unknown_word
from .input_files import Recording
from .measured import Measured, calls_request, measured_of, modelled_calls, modelled_of, step_request
from .measuring.request import BETWEEN, IALLREDUCE, SLEEP, SPIN, THREAD
from .result import Result, document
from .step import Setup, buckets_of

STEPS = 5  # measured ones
PATIENCE_S = 600.0  # until the ranks have ended
MOST_CALLS = 100_000  # whose events are kept for the time line


def replay_step(setup: Setup, options: dict[str, Any]) -> tuple[Result, Measured]:
    """Measure a step on the ranks of `options`; return it behind its model from computation and all-reduces alone.

    Raises OneLineError, LaunchError, ValueError.
    """
    if setup.compute_s <= 0:
        raise OneLineError("--compute 0: a measured step computes; expected such as --compute 100ms")
    parts = [(bucket.size_bytes, len(bucket.gradients)) for bucket in buckets_of(setup)]
    advice = "add --scale 1/64", "use a shorter --compute"
    measured = _measure(step_request(setup), parts, options, options["measure"], advice)
    return modelled_of(measured, setup), measured


def replay_calls(recording: Recording, options: dict[str, Any]) -> tuple[Result, Measured]:
    """Measure recorded calls; return them behind their model. Raises OneLineError, LaunchError, ValueError."""
    path, calls = recording
    if len(calls) > MOST_CALLS:
        raise OneLineError(f"{path}: {len(calls):,} calls, --measure takes at most {MOST_CALLS:,}; cut the file")
    try:
        asked = calls_request(calls, options["dtype"])
    except ValueError as error:
        raise OneLineError(f"{path}: {error}") from error
    parts, advice = [(call.size_bytes, 1) for call in calls], ("leave out the longest calls", "cut the file")
    measured = _measure(asked, parts, options, BETWEEN, advice)
    return modelled_calls(measured, recording), measured


def replay_document(modelled: Result, measured: Measured) -> dict[str, Any]:
    """Return the values of a measured step beside its model."""
    names = "step_s compute_alone_s compute_beside_s communication_alone_s exposed_s overlap_share slowdown steps ranks"
    names += " algorithm alone_s alone_nbytes work overlap"
    facts = {name: getattr(measured, name) for name in names.split()}
    line_overlap_share = measured.time_line.overlap_share
    return {**document(modelled), "kind": "measured", "measured": {**facts, "line_overlap_share": line_overlap_share}}


def _measure(
    asked: dict[str, Any],
    parts: Sequence[tuple[int, int]],
    options: dict[str, Any],
    overlap: str,
    advice: tuple[str, str],
) -> Measured:
    """Have ranks measure what is asked; `advice`: what to do where it needs too much memory, or time.

    Raises OneLineError.
    """
    ranks, name = _ranks(options), _competitor(options)
    if overlap == IALLREDUCE and name != NATIVE:
        raise OneLineError("--measure iallreduce is the library's own MPI_Iallreduce; use -a native")
    start = place_on_hosts(UNASKED)
    on_node = ranks_on_same_cores(ranks, start)
    work = SLEEP if start.virtual_rates_bytes_per_s or on_node > cores() else SPIN
    asked = {**asked, "competitor": name, "work": work, "steps": STEPS, "overlap": overlap}
    counts = {*asked["counts"]} if overlap == BETWEEN else asked["counts"]  # calls of one length share their vectors
    size_bytes, free = 2 * sum(counts) * DTYPES[asked["dtype"]] * on_node, free_memory()
    if free is not None and size_bytes > free:
        raise OneLineError(
            f"the vectors need {format_size(size_bytes)} of this node's memory, {format_size(free)} are free; "
            f"{advice[0]}"
        )
    once_s, turns = sum(time_s for _, time_s in asked["actions"]), 1 + STEPS
    if (computed_s := 2 * turns * once_s) > PATIENCE_S:
        raise OneLineError(
            f"the computation alone takes {computed_s:.0f} s ({turns} turns of 2 x {format_time(once_s)}), the limit "
            f"is {PATIENCE_S:.0f} s; {advice[1]}"
        )
    return measured_of(run_ranks(ranks, asked), parts, asked, ranks)


def _ranks(options: dict[str, Any]) -> int:
    if under_launcher(os.environ):
        raise OneLineError("workload --measure starts its ranks itself; leave out mpirun or srun")
    if not options["ranks"] or len(options["ranks"]) != 1 or options["ranks"][0] < 2:
        raise OneLineError("--measure needs one number of ranks, 2 or more, such as -n 2")
    return options["ranks"][0]


def _competitor(options: dict[str, Any]) -> Competitor:
    """Return the one competitor, the library's own by default, such as `ring@compiled`."""
    names = options["algorithms"] or (NATIVE,)
    if len(names) > 1:
        raise OneLineError(f"--measure takes one algorithm, found {len(names)}; leave all but one out of -a")
    algorithm, way = split_way(names[0])
    if algorithm != NATIVE and not is_builtin(algorithm):
        raise why_unknown(algorithm, also=(NATIVE,))
    if way and way not in WAYS:
        raise OneLineError(f"-a {names[0]}: {unknown_word('way', way, WAYS)}")
    return competitor(algorithm, way or WAYS[0])


def run_ranks(ranks: int, request: dict[str, Any]) -> dict[str, Any]:
    """Start ranks for a `measuring.request.Request` and return what rank 0 prints.

    Raises LaunchError, OneLineError where it refuses, or fails.

    Rank 0 reads the request from a file: recorded calls are more than a word of a command holds, and more than Hydra's
    mpirun forwards.
    """
    start = place_on_hosts(UNASKED)
    program = [sys.executable, "-m", "allreduce_bench.training.measuring.training_step"]
    auto = thread_level("auto", ranks_on_same_cores(ranks, start))
    level = "multiple" if request["overlap"] == THREAD else auto
    environ = {**os.environ, "MPI4PY_RC_THREAD_LEVEL": level}
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(request, file)
        file.flush()
        command = mpirun_command(find_launcher(start), ranks, start, [*program, file.name])
        try:
            done = subprocess.run(
                command, env=environ, capture_output=True, text=True, check=False, timeout=PATIENCE_S, stdin=DEVNULL
            )
        except subprocess.TimeoutExpired as error:
            end = f"workload --measure: no end after {PATIENCE_S:.0f} s; measure less at once"
            raise OneLineError(end, exit_code=1) from error
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise OneLineError(f"workload --measure: the ranks failed: {_reason_of_failure(done)}", exit_code=1)
    found = json.loads(lines[-1])
    if refused := found.get("refused"):
        raise OneLineError(f"workload --measure: {refused}", exit_code=1)
    return found


def _reason_of_failure(done: subprocess.CompletedProcess[str]) -> str:
    """Return the last error of Python in the launcher's output, else its last words, else the exit status."""
    words = [line.strip() for line in done.stderr.splitlines() if line.strip(" -*=")]
    errors = [line for line in words if re.match(r"[\w.]*(Error|Exception): ", line)]
    return [f"exit status {done.returncode}", *words[-1:], *errors[-1:]][-1]
