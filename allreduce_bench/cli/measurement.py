"""The options that decide what is measured, how often, and what a time is; their defaults are those of the plan."""

from pathlib import Path
from typing import Any

import click

from ..runs.dtypes import DTYPES
from ..runs.plan import INPUTS, LARGEST_SEED, OPS, Plan
from ..runs.schema import CACHES, SYNCS, WORKS
from .types import DTYPE, DURATION, EXECUTOR_NAMES, GROUPS, NAMES, OP, RANKS, SHARE, SIZE, SIZES, parsed

SHOWN: dict[str, Any] = {"show_default": True}


def _parse_placements(text: str) -> tuple[str, ...]:
    from ..runs.cell import parse_placements  # late: a rank that was started by us is given a plan

    return parse_placements(text)


MEASURED = (
    click.option(
        "-n",
        "-np",
        "--ranks",
        type=RANKS,
        help="Ranks to start, e.g. 4, 2,4,8 or 1-8 [default: the cores, at least 2].",
    ),
    click.option(
        "-a",
        "--algorithms",
        type=NAMES,
        help="Names, native, or paths of your own files [default: native and all]; guidelines: native and what the "
        "library's other operations make of an all-reduce, to hold it against them.",
    ),
    click.option("--sizes", type=SIZES, help="Sizes in bytes, e.g. 8,4K,16M; instead of -b, -e and -f."),
    click.option("-b", "--minbytes", type=SIZE, default="8", **SHOWN, help="Smallest size."),
    click.option("-e", "--maxbytes", type=SIZE, default="16M", **SHOWN, help="Largest size."),
    click.option("-f", "--stepfactor", type=float, default=4.0, **SHOWN, help="Factor between sizes."),
    click.option("-d", "--dtype", type=DTYPE, default=Plan.dtype, **SHOWN, help=f"Element type: {', '.join(DTYPES)}."),
    click.option("--op", type=OP, default=Plan.op, **SHOWN, help=f"Operation: {', '.join(OPS)}."),
    click.option(
        "--segment",
        type=SIZE,
        help=f"Segment of pipelined algorithms, e.g. 64K [default: {Plan.segment_nbytes >> 10}K]; with a pipelined "
        "executor also the length at which it cuts the steps [default: chosen from alpha, beta and gamma].",
    ),
    click.option(
        "--executor",
        type=EXECUTOR_NAMES,
        metavar="NAMES",
        help="How steps run [default: sendrecv], one or a list: sendrecv, one blocking MPI_Sendrecv per step; "
        "pipelined, steps cut into segments, receives posted ahead; compiled, sendrecv in a compiled kernel; "
        "compiled-pipelined, pipelined in that kernel; auto, compiled where numba is installed, else sendrecv.",
    ),
    click.option(
        "--window",
        type=click.IntRange(1),
        metavar="N",
        help="Messages that a pipelined executor posts ahead [default: 4].",
    ),
    click.option(
        "--machine",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="File that 'fit -o' wrote: a pipelined executor takes its segment from its prices [default: nominal].",
    ),
    click.option(
        "--pretend-ranks-per-node",
        type=click.IntRange(1),
        metavar="N",
        help="Try algorithms for several nodes on one node: declare nodes of N ranks; rows are marked.",
    ),
)

WAIT_IDLE = click.option(
    "--wait-idle",
    type=DURATION,
    help="Before launches wait until the machine is idle, in total at most this time, and name busy processes.",
)
REPEATED = (
    click.option(
        "--within",
        type=DURATION,
        help="Time limit of the whole run, e.g. 2m; cells that do not fit are left out and named.",
    ),
    WAIT_IDLE,
    click.option(
        "--launches",
        type=click.IntRange(1),
        default=Plan.launches,
        metavar="N",
        **SHOWN,
        help="Fresh mpiruns per rank count.",
    ),
    click.option(
        "--iters",
        type=click.IntRange(1),
        metavar="N",
        help="Timed calls per cell and launch [default: until --precision or --cell-time; at most 1000].",
    ),
    click.option(
        "--precision",
        type=SHARE,
        default=f"{Plan.precision:.0%}",
        **SHOWN,
        help="A cell stops when the 95 % interval of its median is within this share of it.",
    ),
    click.option(
        "-w",
        "--warmups",
        type=click.IntRange(0),
        default=Plan.warmups,
        metavar="N",
        **SHOWN,
        help="Untimed calls before the timed calls.",
    ),
    click.option(
        "--cell-time",
        type=DURATION,
        default=f"{Plan.cell_time_s * 1e3:g}ms",
        **SHOWN,
        help="A cell stops after this time at the latest, e.g. 2s; not with --iters.",
    ),
    click.option(
        "--min-time",
        type=DURATION,
        default=f"{Plan.min_time_s:g}s",
        **SHOWN,
        help="Repeat each cell at least for this time.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, LARGEST_SEED),
        metavar="N",
        help="Seed of the order of cells [default: random, stored].",
    ),
)

DEFINED = (
    click.option(
        "--sync",
        type=click.Choice(("auto", *SYNCS)),
        default=Plan.sync,
        **SHOWN,
        help="How ranks enter a call together; auto: round_time if it is usable, else barrier.",
    ),
    click.option(
        "--record",
        type=click.Choice(("summary", "all")),
        default=Plan.record,
        **SHOWN,
        help="Data kept of each call: its summary, or also entry and exit of every rank.",
    ),
    click.option(
        "--back-to-back",
        type=click.IntRange(0),
        default=Plan.back_to_back,
        metavar="N",
        help="Also time a loop of N calls without a common start, as nccl-tests do.",
    ),
    click.option(
        "--cache",
        type=click.Choice((*CACHES, "both")),
        default=Plan.cache,
        **SHOWN,
        help="warm: the same buffers in every call; cold: other buffers in every call; both: each cell both ways.",
    ),
    click.option(
        "--inputs",
        type=click.Choice(INPUTS),
        default=Plan.inputs,
        **SHOWN,
        help="changing: lines of the input change between calls, and results are looked at there, so that no call is "
        "left out or remembered; same: consecutive calls have the same input, as with OSU, IMB and nccl-tests.",
    ),
    click.option(
        "--placement",
        type=parsed("placements", _parse_placements),
        default=",".join(Plan.placement),
        metavar="page|numpy|DELTA,...",
        **SHOWN,
        help="Where vectors lie, one way or a list: page, at pages and staggered; numpy, where numpy puts them, as "
        "most programs do; a number, so many bytes apart modulo 4096. The first is judged, the others beside it.",
    ),
    click.option(
        "--reference-times/--no-reference-times",
        "floors",
        default=Plan.floors,
        **SHOWN,
        help="Also measure an empty call, a local copy and a local reduction.",
    ),
    click.option(
        "--check",
        type=click.Choice(("exact", "bits")),
        default=Plan.check,
        **SHOWN,
        help="bits: also compare bits over calls, launches and algorithms, and with the exact sum.",
    ),
    click.option(
        "--groups",
        type=GROUPS,
        default=Plan.groups,
        metavar="N",
        help="All-reduce in groups at the same time, and in one alone: 2 (halves), mod:8, div:8 (consecutive ranks).",
    ),
)


def _parse_slowdown(text: str) -> str:
    from ..runs.injected import parse_slowdown  # late: few runs slow a rank down

    return parse_slowdown(text)


def _parse_arrivals(text: str) -> tuple[str, ...]:
    from ..runs.injected import parse_arrivals

    return parse_arrivals(text)


def _parse_phase(text: str) -> float:
    from ..runs.injected import parse_phase

    return parse_phase(text)


def _parse_late_by(text: str) -> str:
    from ..runs.injected import parse_late_by

    return parse_late_by(text)


BEFORE_A_CALL = (
    click.option(
        "--compute",
        type=parsed("duration", _parse_phase),
        help="A phase of work before each call, e.g. 10ms; its end on each rank shows which rank is late "
        "[default: none].",
    ),
    click.option(
        "--work",
        type=click.Choice(WORKS),
        default=Plan.work,
        **SHOWN,
        help="Work of --compute; spin: as many operations on each rank as take that time on the median rank; sleep: "
        "no work, for ranks that share cores.",
    ),
    click.option(
        "--inject-slowdown",
        type=parsed("rank:share", _parse_slowdown),
        multiple=True,
        help="Make the work of a rank longer, to rehearse, e.g. 5:12%; may be repeated.",
    ),
    click.option(
        "--arrival",
        type=parsed("patterns", _parse_arrivals),
        help="Also measure with ranks that enter late: a list of one-late, ramp, random, half-late, or a trace "
        "FILE.csv [default: none].",
    ),
    click.option(
        "--late-by",
        type=parsed("lateness", _parse_late_by),
        default=Plan.late_by,
        **SHOWN,
        help="Largest delay of --arrival: a time, e.g. 1ms, or a factor of the median time of the library's own "
        "all-reduce of that size.",
    ),
)
