"""A step measured on ranks that are started here, beside its model from the parts alone."""

import json
import os
import re
import subprocess
import sys
import tempfile
from subprocess import DEVNULL
from typing import Any

from ..algorithms import is_builtin, why_unknown
from ..cli.plan_of_options import place_on_hosts
from ..cli.types import OneLineError
from ..launching.find import find_launcher, mpirun_command
from ..launching.layout import ranks_on_same_cores
from ..machine.node import cores, free_memory
from ..measuring.startup import under_launcher
from ..runs.competitor import NATIVE, WAYS, Competitor, competitor, split_way
from ..runs.dtypes import DTYPES
from ..runs.start import UNASKED
from ..units import format_size, format_time, unknown_word
from .measured import Measured, model_from_parts, step_request, summarise_steps
from .measuring.request import SLEEP, SPIN
from .result import Result, document
from .step import Setup, buckets_of

STEPS = 5  # measured ones
PATIENCE_S = 600.0  # until the ranks have ended


def replay_step(setup: Setup, options: dict[str, Any]) -> tuple[Result, Measured]:
    """Measure a step on the ranks of `options`; return it behind its model from computation and all-reduces alone.

    Raises OneLineError, LaunchError, ValueError.
    """
    if setup.compute_s <= 0:
        raise OneLineError("--compute 0: a measured step computes; expected such as --compute 100ms")
    asked, parts = step_request(setup), [(bucket.size_bytes, len(bucket.gradients)) for bucket in buckets_of(setup)]
    ranks = _ranks(options)
    on_node = ranks_on_same_cores(ranks, start := place_on_hosts(UNASKED))
    _refuse_too_much(asked, on_node)
    work = SLEEP if start.virtual_rates_bytes_per_s or on_node > cores() else SPIN
    asked = {**asked, "competitor": _competitor(options), "work": work, "steps": STEPS}
    measured = summarise_steps(run_ranks(ranks, asked), parts, asked, ranks)
    return model_from_parts(measured, setup), measured


def replay_document(modelled: Result, measured: Measured) -> dict[str, Any]:
    """Return the values of a measured step beside its model."""
    names = "step_s compute_alone_s compute_beside_s communication_alone_s exposed_s overlap_share slowdown steps ranks"
    names += " algorithm alone_s alone_nbytes work"
    facts = {name: getattr(measured, name) for name in names.split()}
    return {**document(modelled), "kind": "measured", "measured": facts}


def _refuse_too_much(asked: dict[str, Any], on_node: int) -> None:
    """Raise OneLineError where the vectors of the ranks of a node do not fit its memory, or steps take too long."""
    size_bytes, free = 2 * sum(asked["counts"]) * DTYPES[asked["dtype"]] * on_node, free_memory()
    if free is not None and size_bytes > free:
        raise OneLineError(
            f"the vectors need {format_size(size_bytes)} of this node's memory, {format_size(free)} are free; "
            "add --scale 1/64"
        )
    once_s, turns = sum(time_s for _, time_s in asked["actions"]), 1 + STEPS
    if (computed_s := 2 * turns * once_s) > PATIENCE_S:
        raise OneLineError(
            f"the computation alone takes {computed_s:.0f} s ({turns} turns of 2 x {format_time(once_s)}), the limit "
            f"is {PATIENCE_S:.0f} s; use a shorter --compute"
        )


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

    Rank 0 reads the request from a file: many buckets are more than a word of a command holds.
    """
    start = place_on_hosts(UNASKED)
    program = [sys.executable, "-m", "allreduce_bench.training.measuring.training_step"]
    environ = {**os.environ, "MPI4PY_RC_THREAD_LEVEL": "multiple"}
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
