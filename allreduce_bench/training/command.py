"""`workload`: costs of the all-reduces of a training step; with --measure the step itself, on ranks started here."""

import json
import os
import re
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from subprocess import DEVNULL
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..algorithms import is_builtin, why_unknown
from ..cli.plan_of_options import place_on_hosts
from ..cli.predict import BANDWIDTHS, PRICE, SHOWN
from ..cli.sections import Sectioned, examples
from ..cli.terminal import screen
from ..cli.types import (
    DTYPE,
    DURATION,
    NAMES,
    RANKS,
    RATE,
    SHARE,
    SIZE,
    OneLineError,
    errors_in_one_line,
    given_options,
    parsed,
)
from ..launching.find import find_launcher, mpirun_command
from ..launching.layout import ranks_on_same_cores
from ..machine.node import free_memory
from ..measuring.startup import thread_level, under_launcher
from ..runs.competitor import COMPILED, WAYS, competitor, split_way
from ..runs.dtypes import DTYPES
from ..runs.files import refuse_given, write_atomically, write_given
from ..runs.start import Start
from ..units import counted, format_size, format_time, in_ranks, unknown_word
from .input_files import read_calls
from .measured import Measured, calls_request, measured_calls, measured_of, modelled_calls, modelled_of, step_request
from .measuring.request import BETWEEN, BLOCKING, IALLREDUCE, NATIVE, THREAD
from .result import Result, document, measured_result, replay_document, trace
from .tables import bucket_text, measured_calls_text, measured_text, result_text

if TYPE_CHECKING:
    from .step import Setup


# Limits
PATIENCE_S = 600.0  # until the ranks have ended
MOST_CALLS = 100_000  # whose events are kept for the time line


def scale_of(text: str) -> float:
    """Parse a scale: 0.015625 for `1/64` or `0.015625`. Raises ValueError: not above 0, or above 1."""
    match = re.fullmatch(r"\d{1,9}(?:\.\d{1,12}|/0*[1-9]\d{0,8})?", text.strip())
    scale = float(Fraction(text.strip())) if match else 0.0
    if not 0 < scale <= 1:
        raise ValueError(f"'{text}' is not a scale; expected more than 0 and at most 1, such as 1/64 or 0.1")
    return scale


class Replay(NamedTuple):
    """A measurement, and its model from computation alone and all-reduces alone."""

    modelled: Result
    measured: Measured
    how: tuple[str, str]  # the kind of computation, and where all-reduces run


def replay_step(setup: "Setup", options: dict[str, Any]) -> Replay:
    """Measure a step on the ranks of `options`. Raises OneLineError, LaunchError, ValueError."""
    measuring = _measuring(options, BLOCKING if options["blocking"] else options["overlap"] or THREAD)
    if setup.compute_s <= 0:
        raise OneLineError("--compute 0: a measured step computes; expected such as --compute 100ms")
    asked = {**step_request(setup), **measuring.request}
    elements = sum(asked["counts"])
    _refuse_too_large(elements, asked["dtype"], options["ranks_per_node"] or measuring.ranks, "add --scale 1/64")
    _refuse_long_computation(asked, "use a shorter --compute")
    found = run_ranks(measuring.ranks, options["ranks_per_node"], asked)
    measured = measured_of(found, setup, measuring.ranks, measuring.name)
    result = measured_result(setup.model.label, modelled_of(measured, setup), setup)
    return Replay(result, measured, measuring.how)


def replay_calls(path: Path, options: dict[str, Any]) -> Replay:
    """Measure recorded calls. Raises OneLineError, CallError, LaunchError, ValueError."""
    measuring, calls = _measuring(options, BETWEEN), read_calls(path)
    if len(calls) > MOST_CALLS:
        raise OneLineError(f"{path}: {len(calls):,} calls, --measure takes at most {MOST_CALLS:,}; cut the file")
    try:
        asked = {**calls_request(calls, options["dtype"]), **measuring.request}
    except ValueError as error:
        raise OneLineError(f"{path}: {error}") from error
    elements, less = sum({*asked["counts"]}), "leave out the longest calls"
    _refuse_too_large(elements, asked["dtype"], options["ranks_per_node"] or measuring.ranks, less)
    _refuse_long_computation(asked, "cut the file")
    found = run_ranks(measuring.ranks, options["ranks_per_node"], asked)
    measured = measured_calls(found, calls, measuring.ranks, measuring.name)
    title = f"{path}, {counted(len(calls), 'call')}"
    return Replay(measured_result(title, modelled_calls(measured, calls)), measured, measuring.how)


class _Measuring(NamedTuple):
    """Checked options: the ranks, how they measure, and the algorithm with its way."""

    ranks: int
    request: dict[str, Any]
    name: str

    @property
    def how(self) -> tuple[str, str]:
        return self.request["work"], self.request["overlap"]


def _measuring(options: dict[str, Any], overlap: str) -> _Measuring:
    """Return the checked options. Raises OneLineError."""
    ranks, (algorithm, executor) = _ranks(options), _algorithm_and_way(options)
    if overlap == IALLREDUCE and (algorithm != NATIVE or executor in COMPILED):
        raise OneLineError("--overlap iallreduce is the library's own MPI_Iallreduce; use -a native")
    own = {"algorithm": algorithm, "executor": executor, "work": options["work"], "steps": options["steps"]}
    name = algorithm if executor == NATIVE else competitor(algorithm, executor)
    return _Measuring(ranks, {**own, "overlap": overlap}, name)


def _ranks(options: dict[str, Any]) -> int:
    if under_launcher(os.environ):
        raise OneLineError("workload --measure starts its ranks itself; leave out mpirun or srun")
    if not options["ranks"] or len(options["ranks"]) != 1 or options["ranks"][0] < 2:
        raise OneLineError("--measure needs one number of ranks, 2 or more, such as -n 2")
    return options["ranks"][0]


def _algorithm_and_way(options: dict[str, Any]) -> tuple[str, str]:
    """Return the one algorithm, the library's own by default, and its way, as of `ring@compiled`."""
    names = options["algorithms"] or (NATIVE,)
    if len(names) > 1:
        raise OneLineError(f"--measure takes one algorithm, found {len(names)}; leave all but one out of -a")
    algorithm, way = split_way(names[0])
    if algorithm != NATIVE and not is_builtin(algorithm):
        raise why_unknown(algorithm, also=(NATIVE,))
    known = (NATIVE, "compiled") if algorithm == NATIVE else WAYS
    if way and way not in known:
        raise OneLineError(f"-a {names[0]}: {unknown_word('way', way, known)}")
    return algorithm, way or known[0]


def _refuse_too_large(elements: int, dtype: str, ranks: int, less: str) -> None:
    """Raise OneLineError for vectors, an input and an output of each of a node's ranks, that exceed its memory."""
    size_bytes, free = 2 * elements * DTYPES[dtype] * ranks, free_memory()
    if free is not None and size_bytes > free:
        raise OneLineError(
            f"the vectors need {format_size(size_bytes)} of this node's memory, {format_size(free)} are free; {less}"
        )


def _refuse_long_computation(asked: dict[str, Any], shorter: str) -> None:
    """Raise OneLineError for what takes longer than PATIENCE_S by its computation alone."""
    once_s, turns = sum(time_s for _, time_s in asked["actions"]), 1 + asked["steps"]
    if (computed_s := 2 * turns * once_s) > PATIENCE_S:
        raise OneLineError(
            f"the computation alone takes {computed_s:.0f} s ({turns} turns of 2 x {format_time(once_s)}), the limit "
            f"is {PATIENCE_S:.0f} s; {shorter}, or reduce --steps"
        )


def run_ranks(ranks: int, per_node: int | None, request: dict[str, Any]) -> dict[str, Any]:
    """Start ranks for a `measuring.request.Request` and return what rank 0 prints.

    Raises LaunchError, OneLineError where it refuses, or fails.

    Rank 0 reads the request from a file: recorded calls are more than a word of a command holds, and more than Hydra's
    mpirun forwards.
    """
    start = place_on_hosts(Start(ranks_per_node=per_node))
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
        raise OneLineError(f"workload --measure: the ranks failed: {_reason_of_failure(done)}", exit_code=1)
    found = json.loads(lines[-1])
    if refused := found.get("refused"):
        raise OneLineError(f"workload --measure: {refused}", exit_code=1)
    return found


def _finished(command: list[str], environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command to its end. Raises OneLineError after PATIENCE_S."""
    try:
        return subprocess.run(
            command, env=environ, capture_output=True, text=True, check=False, timeout=PATIENCE_S, stdin=DEVNULL
        )
    except subprocess.TimeoutExpired as error:
        raise OneLineError(
            f"workload --measure: no end after {PATIENCE_S:.0f} s; measure less at once", exit_code=1
        ) from error


def _reason_of_failure(done: subprocess.CompletedProcess[str]) -> str:
    """Return the last error of Python in the launcher's output, else its last words, else the exit status."""
    words = [line.strip() for line in done.stderr.splitlines() if line.strip(" -*=")]
    errors = [line for line in words if re.match(r"[\w.]*(Error|Exception): ", line)]
    return [f"exit status {done.returncode}", *words[-1:], *errors[-1:]][-1]


# `workload`: what the all-reduces of a training step cost, from the shapes of a model and the cost of messages


WORK, OVERLAPS = ("spin", "matmul", "sleep"), ("thread", "iallreduce")
PATH = click.Path(path_type=Path)


@click.command(
    cls=Sectioned,
    first="shapes buckets ranks compute bucket_cap dtype alpha bandwidth machine logs measure outputs",
    epilog=examples(
        "workload resnet50 --buckets",
        "workload resnet50 -n 2,4,8 --compute 100ms --alpha 20us --bandwidth 10Gbit,25Gbit",
        "workload gpt2 -n 8 --compute 120ms --dtype bfloat16 -m machine.json -o step.json -o step.png",
        "workload --shapes mine.csv -n 16 --compute 80ms --log all_reduce_perf.txt",
    ),
)
@click.argument("model", required=False)
@click.option(
    "--shapes",
    type=PATH,
    help="Instead of MODEL: file of tensors: 'NAME 64x3x7x7' in each line, .safetensors, or a .pt of a state dict.",
)
@click.option("--calls", type=PATH, help="Instead of MODEL: CSV of recorded all-reduces: size, dtype, gap.")
@click.option("--buckets", is_flag=True, help="Print the buckets alone.")
@click.option("-n", "--ranks", type=RANKS, help="Numbers of ranks [default: 2,4,8; with --log those of the log].")
@click.option("--compute", type=DURATION, help="Forward and backward pass of a rank, e.g. 100ms.")
@click.option("--backward", type=SHARE, default="66.7%", help="Share of the backward pass [default: two thirds].")
@click.option("--dtype", type=DTYPE, default="float32", show_default=True, help="Type of the gradients.")
@click.option("--scale", type=parsed("scale", scale_of), default="1", help="Shrink tensors and buckets, e.g. 1/64.")
@click.option("--bucket-cap", type=SIZE, help="bucket_cap_mb, with its unit [default: 25M].")
@click.option("--blocking", is_flag=True, help="All-reduces begin behind the backward pass.")
@click.option("--alpha", type=PRICE, help="Seconds per message, e.g. 20us.")
@click.option(
    "--bandwidth", type=BANDWIDTHS, help="Rate of a rank's link, e.g. 10Gbit; two to compare them: 10Gbit,25Gbit."
)
@click.option("--alpha-within", type=PRICE, help="Seconds per message within a node; needs --ranks-per-node.")
@click.option("--bandwidth-within", type=RATE, help="Rate of a rank's link within a node.")
@click.option("--gamma", type=PRICE, help="Seconds per reduced byte [default: 0].")
@click.option("-m", "--machine", type=PATH, help="Instead: a machine file that 'fit' wrote.")
@click.option(
    "--log", "logs", type=PATH, multiple=True, help="Instead: a run, or a log that 'import' reads; repeatable."
)
@click.option("--ranks-per-node", type=click.IntRange(1), metavar="N", help="Ranks that share a node.")
@click.option(
    "-a",
    "--algorithms",
    type=NAMES,
    default=(),
    help=f"Names [default: all that were measured; with --alpha {', '.join(SHOWN)}].",
)
@click.option("--measure", is_flag=True, help="Measure the step on -n ranks, too, beside its model.")
@click.option("--work", type=click.Choice(WORK), default="spin", show_default=True, help="With --measure: computation.")
@click.option("--overlap", type=click.Choice(OVERLAPS), help="With --measure: all-reduces' progress [default: thread].")
@click.option("--steps", type=click.IntRange(1, 10_000), default=5, show_default=True, help="With --measure: steps.")
@click.option("--format", "layout", type=click.Choice(("table", "json")), default="table", show_default=True)
@click.option("-o", "--output", "outputs", type=PATH, multiple=True, help="Write a trace (.json) or a figure (.png).")
@errors_in_one_line
def workload(buckets, measure, layout, outputs, bandwidth, **options) -> None:
    """Model a training step: how long its all-reduces take, and how long the step waits for them.

    MODEL is resnet50, vgg16, bert-base, bert-large, gpt2, gpt2-xl, llama2-7b or llama3-8b. Gradients are packed as
    PyTorch's DistributedDataParallel does; a bucket is sent as soon as its gradients are ready. The trace
    opens in Perfetto (ui.perfetto.dev) and chrome://tracing. Without --measure nothing is measured, and no MPI is
    needed; with it all-reduces are taken as they were measured, and no cost is needed.
    """
    from .request import refuse_unused, request_of  # late: it loads what reads runs and logs

    for path in outputs:
        if path.suffix not in (".json", ".png"):
            raise OneLineError(f"-o {path}: expected a name that ends in .json (trace) or .png (figure)")
        refuse_given(path)
    refuse_unused(given_options(click.get_current_context()), options, measure)
    rates = bandwidth or (None,)
    requests = [request_of({**options, "bandwidth": rate}, only_buckets=buckets) for rate in rates]
    request = requests[0]
    if buckets:
        if layout == "json" or outputs:
            raise OneLineError("--buckets prints a table of buckets; leave out --format and -o")
        click.echo(bucket_text(request.setup(), screen()))
        return
    if measure:
        _measure(request, layout, outputs)
        return
    if len(requests) > 1:
        if layout == "json" or outputs:
            option = "-o" if outputs else "--format json"
            raise OneLineError(
                f"--bandwidth: two bandwidths are compared in a table of text; leave {option} out, or name one "
                "bandwidth"
            )
        from .bandwidths import comparison_text

        click.echo(comparison_text([each.result() for each in requests], bandwidth, screen()))
        return
    result = request.result()
    for path in outputs:
        _write(path, result)
    click.echo(json.dumps(document(result), indent=1) if layout == "json" else result_text(result, screen()))


def _write(path: Path, result) -> None:
    """Write the trace or the figure, by the suffix of the path."""
    titles = {one.ranks: f"{result.title}, {in_ranks([one.ranks])}" for one in result.outcomes}
    lines = {f"{titles[one.ranks]}, modelled": one.time_line for one in result.outcomes}
    drawn = {name: line for name, line in lines.items() if line.communication_s} or lines
    write_lines(path, lines, drawn, {"kind": "modelled", "all-reduces": result.source})


def write_lines(path: Path, lines: dict, drawn: dict, about: dict[str, str]) -> None:
    """Write all time lines as a trace, or draw them as a figure, by the suffix of the path."""
    if path.suffix == ".png":
        from .step_picture import step_picture

        write_atomically(path, step_picture(drawn))
        return
    write_given(path, json.dumps(trace(lines, about)) + "\n")


def _measure(request, layout: str, outputs: tuple[Path, ...]) -> None:
    """Measure the step, or recorded calls, and print it beside its model."""
    options = request.options
    found = replay_step(request.setup(), options) if request.model else replay_calls(options["calls"], options)
    measured, modelled = found.measured, found.modelled
    title = f"{modelled.title}, {measured.ranks} ranks"
    lines = {f"{title}, modelled": modelled.outcomes[0].time_line, f"{title}, measured": measured.time_line}
    for path in outputs:
        write_lines(path, lines, lines, {"kind": "modelled and measured", "algorithm": measured.algorithm})
    if layout == "json":
        click.echo(json.dumps(replay_document(modelled, measured, found.how), indent=1))
        return
    text = measured_text if request.model else measured_calls_text
    click.echo(text(modelled, measured, found.how, screen()))
