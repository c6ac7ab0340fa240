"""`workload`: costs of the all-reduces of a training step; with --measure the step itself."""

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from ..cli.predict import PRICE, SHOWN
from ..cli.sections import Sectioned, examples
from ..cli.terminal import screen
from ..cli.types import DTYPE, NAMES, RANKS, RATE, SIZE, OneLineError, errors_in_one_line, given_options, parsed
from ..runs.files import refuse_given, write_atomically
from ..units import in_ranks, parse_duration
from .architectures import ARCHITECTURES
from .replay import replay_document, replay_step
from .result import document, trace
from .step import Setup
from .tables import bucket_text, measured_text, result_text
from .time_line import BACKWARD_SHARE

PATH = click.Path(path_type=Path)


def scale_of(text: str) -> float:
    """Parse a scale: 0.015625 for `1/64` or `0.015625`. Raises ValueError: not above 0, or above 1."""
    match = re.fullmatch(r"\d{1,9}(?:\.\d{1,12}|/0*[1-9]\d{0,8})?", text.strip())
    scale = float(Fraction(text.strip())) if match else 0.0
    if not 0 < scale <= 1:
        raise ValueError(f"'{text}' is not a scale; expected more than 0 and at most 1, such as 1/64 or 0.1")
    return scale


def passes_of(text: str) -> tuple[float, float]:
    """Parse `100ms`, or a forward and a backward pass, `35ms+65ms`: the seconds of both, and the backward share.

    Raises ValueError.
    """
    forward, plus, backward = text.partition("+")
    if not plus:
        return parse_duration(text), BACKWARD_SHARE
    passes_s = parse_duration(forward), parse_duration(backward)
    return sum(passes_s), passes_s[1] / sum(passes_s) if any(passes_s) else BACKWARD_SHARE


@click.command(
    cls=Sectioned,
    epilog=examples(
        "workload resnet50",
        "workload resnet50 -n 2,4,8 --compute 100ms --alpha 20us --bandwidth 10Gbit",
        "workload gpt2 -n 8 --compute 120ms --dtype bfloat16 -m machine.json -o step.json -o step.png",
        "workload mine.csv -n 16 --compute 80ms -m all_reduce_perf.txt",
    ),
)
@click.argument("model", required=False)
@click.option("-n", "--ranks", type=RANKS, help="Numbers of ranks [default: 2,4,8; with -m those that were timed].")
@click.option(
    "--compute",
    type=parsed("duration", passes_of),
    help="Forward and backward pass of a rank: 100ms, of which two thirds are backward, or 35ms+65ms.",
)
@click.option("--dtype", type=DTYPE, default="float32", show_default=True, help="Type of the gradients.")
@click.option("--scale", type=parsed("scale", scale_of), default="1", help="Shrink tensors and buckets, e.g. 1/64.")
@click.option("--bucket-cap", type=SIZE, help="bucket_cap_mb, with its unit [default: 25M].")
@click.option("--alpha", type=PRICE, help="Seconds per message, e.g. 20us.")
@click.option("--bandwidth", type=RATE, help="Rate of a rank's link, e.g. 10Gbit.")
@click.option(
    "-m", "--machine", type=PATH, help="Instead: a machine file of 'fit', a run, or a log that 'import' reads."
)
@click.option(
    "-a",
    "--algorithms",
    type=NAMES,
    default=(),
    help=f"Names [default: all that were measured; with --alpha {', '.join(SHOWN)}].",
)
@click.option("--measure", is_flag=True, help="Measure the step on -n ranks, too.")
@click.option("--format", "layout", type=click.Choice(("table", "json")), default="table", show_default=True)
@click.option("-o", "--output", "outputs", type=PATH, multiple=True, help="Write a trace (.json) or a figure (.png).")
@errors_in_one_line
def workload(layout, outputs, **options) -> None:
    """Model a training step: how long its all-reduces take, and how long the step waits for them.

    MODEL is resnet50, vgg16, bert-base, bert-large, gpt2, gpt2-xl, llama2-7b, llama3-8b, or a file: lines of 'NAME
    64x3x7x7', .safetensors, or a .pt of a state dict. Gradients are packed as PyTorch's DistributedDataParallel does; a
    bucket is sent as soon as its gradients are ready. Without --compute the buckets are listed. The trace opens in
    Perfetto (ui.perfetto.dev) and chrome://tracing. Without --measure no MPI is needed; with it no cost is needed.
    """
    from .request import model_step, read_setup  # late: they load what reads runs and logs

    if options["model"] is None:
        raise OneLineError(f"MODEL is missing; expected a file or one of {', '.join(ARCHITECTURES)}")
    for path in outputs:
        if path.suffix not in (".json", ".png"):
            raise OneLineError(f"-o {path}: expected a name that ends in .json (trace) or .png (figure)")
        refuse_given(path)
    setup = read_setup(options, given_options(click.get_current_context()))
    if options["compute"] is None:
        click.echo(bucket_text(setup, screen()))
    elif options["measure"]:
        _measure(setup, options, layout, outputs)
    else:
        result = model_step(setup, options)
        titled = {f"{result.title}, {in_ranks([one.ranks])}, modelled": one.time_line for one in result.outcomes}
        drawn = {name: line for name, line in titled.items() if line.communication_s} or titled
        for path in outputs:
            _write(path, titled, drawn, {"kind": "modelled", "all-reduces": result.source})
        click.echo(json.dumps(document(result), indent=1) if layout == "json" else result_text(result, screen()))


def _write(path: Path, lines: dict, drawn: dict, about: dict[str, str]) -> None:
    """Write all time lines as a trace, or draw some as a figure, by the suffix of the path."""
    if path.suffix == ".png":
        from .step_picture import step_picture

        write_atomically(path, step_picture(drawn))
        return
    write_atomically(path, json.dumps(trace(lines, about)) + "\n")


def _measure(setup: Setup, options: dict[str, Any], layout: str, outputs: tuple[Path, ...]) -> None:
    """Measure the step, and print it beside its model."""
    modelled, measured = replay_step(setup, options)
    title = f"{modelled.title}, {measured.ranks} ranks"
    lines = {f"{title}, modelled": modelled.outcomes[0].time_line, f"{title}, measured": measured.time_line}
    for path in outputs:
        _write(path, lines, lines, {"kind": "modelled and measured", "algorithm": measured.algorithm})
    if layout == "json":
        click.echo(json.dumps(replay_document(modelled, measured), indent=1))
    else:
        click.echo(measured_text(modelled, measured, screen()))
