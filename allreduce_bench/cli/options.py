"""What `run`, and whatever starts one, is asked for beside the plan; and all options, as click understands them.

What an option of the plan is stands beside the field that it decides: here are those of no plan, and how click gets
both. A parameter of the command is called like its field.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import click

from ..runs.option import STARTED, Option, Section, Whole, Words, in_help_order, option, options_of
from ..runs.plan import Plan
from ..runs.start import Start
from ..runs.words import DURATION, SIZE
from .types import PlacedOption, typed

if TYPE_CHECKING:
    from ..evaluation.acceptance import AcceptanceLimit

FORMATS = ("table", "long", "csv", "json", "nccl", "osu")
OF_RUN_ALONE = (Section.IN_A_JOB, Section.GONE_WRONG)  # sections that `submit` has otherwise, or not
ONE_LAUNCH = "these ranks are only one launch of the job; use it with a run that starts its own ranks"


def _limits_parser(quantity: str) -> Callable[[str], tuple]:
    def parse(text: str) -> tuple:
        from ..evaluation.acceptance import parse_limits  # late: most ranks never see a limit

        return parse_limits(quantity, text)

    return parse


@dataclass(frozen=True, kw_only=True)
class Control:
    """How far a run goes and what comes of it: what is asked for beside its plan."""

    output: Path | None = field(  # None: a new folder below results
        default=None,
        metadata=option(
            "-o", "--output", section=Section.RESULTS, help="Run folder [default: results/DATE_HOST_RANKS].", of=Path
        ),
    )
    format: str = field(
        default="table",
        metadata=option(
            "--format",
            section=Section.RESULTS,
            help="Format on stdout; nccl and osu: the layouts of nccl-tests and osu_allreduce -f.",
            of=FORMATS,
        ),
    )
    limits: "tuple[AcceptanceLimit, ...]" = ()
    within_s: float | None = field(  # None: until all is measured
        default=None,
        metadata=option(
            "--within",
            section=Section.REPEATED,
            help="Time limit of the whole run, e.g. 2m; cells that do not fit are left out and named.",
            of=DURATION,
        ),
    )
    wait_idle_s: float | None = field(  # at most, for a quiet machine before the launches; None: nobody waits
        default=None,
        metadata=option(
            "--wait-idle",
            section=Section.REPEATED,
            help="Before launches wait until the machine is idle, in total at most this time, and name busy processes.",
            of=DURATION,
            too_late="the ranks are already started; wait before mpirun or srun, or leave it out",
        ),
    )
    stage: str = field(  # folder of each node for the Python environment; empty: it is not staged
        default="",
        metadata=option(
            "--stage",
            section=Section.STARTED,
            help="Unpack the Python environment below DIR, such as /tmp, once per node, and start the ranks from "
            "there.",
            metavar="DIR",
            after="interface",
            too_late=STARTED,
        ),
    )
    only: str = field(  # see `chosen_launches`
        default="",
        metadata=option(
            "--only",
            section=Section.IN_A_JOB,
            help="Only these planned launches: 8r (all of 8 ranks), 8r-2 (one), -2 (the second of each), or a list.",
            metavar="WORDS",
        ),
    )
    requeue: bool = field(
        default=False,
        metadata=option(
            "--requeue",
            section=Section.IN_A_JOB,
            help="In a Slurm job near its time limit (SIGUSR1): requeue the job, to continue later.",
            too_late=ONE_LAUNCH,
        ),
    )
    report: bool = field(
        default=False,
        metadata=option(
            "--report",
            section=Section.IN_A_JOB,
            help="Write the report at the end, unless the job is requeued.",
            too_late=ONE_LAUNCH,
        ),
    )
    resume: bool = field(
        default=False,
        metadata=option(
            "--resume",
            section=Section.GONE_WRONG,
            help="Measure the missing cells of the run in -o; start a new run if there is none.",
        ),
    )
    timeout_s: float = field(  # without any move, until a launch is ended
        default=60.0,
        metadata=option(
            "--timeout",
            section=Section.GONE_WRONG,
            help="End a launch after this time without progress, and name the rank that the others wait for.",
            of=DURATION,
        ),
    )
    skip_hung: bool = field(
        default=False,
        metadata=option("--skip-hung", section=Section.GONE_WRONG, help="With --resume: skip the cells that hung."),
    )
    no_limit: bool = False  # of its work, see `work_limit`


@dataclass(frozen=True, kw_only=True)
class OtherWords:
    """Options that say a field of the plan, its start or its control in other words."""

    minbytes: int = field(
        default=8,
        metadata=option(
            "-b", "--minbytes", section=Section.MEASURED, help="Smallest size.", of=SIZE, after="sizes", decides="sizes"
        ),
    )
    maxbytes: int = field(
        default=16 << 20,
        metadata=option(
            "-e",
            "--maxbytes",
            section=Section.MEASURED,
            help="Largest size.",
            of=SIZE,
            after="minbytes",
            decides="sizes",
        ),
    )
    stepfactor: float = field(
        default=4.0,
        metadata=option(
            "-f",
            "--stepfactor",
            section=Section.MEASURED,
            help="Factor between sizes.",
            of=float,
            after="maxbytes",
            decides="sizes",
        ),
    )
    hostfile: Path | None = field(
        default=None,
        metadata=option(
            "--hostfile",
            section=Section.STARTED,
            help="File of hosts, one per line: n1, n1:8 or n1 slots=8.",
            of=Path,
            after="hosts",
            decides="hosts",
            too_late=STARTED,
        ),
    )
    min_busbw: "tuple[AcceptanceLimit, ...]" = field(
        default=(),
        metadata=option(
            "--min-busbw",
            section=Section.RESULTS,
            help="Exit with 1 below this busbw in GB/s at a size: 64M:20 for the fastest algorithm, or ring@64M:20.",
            of=Words("size:rate", _limits_parser("busbw")),
            repeated=True,
            decides="limits",
        ),
    )
    max_time: "tuple[AcceptanceLimit, ...]" = field(
        default=(),
        metadata=option(
            "--max-time",
            section=Section.RESULTS,
            help="Exit with 1 above this time at a size: 8:15us for the fastest algorithm, or ring@8:15us.",
            of=Words("size:time", _limits_parser("time")),
            repeated=True,
            decides="limits",
        ),
    )


DECLARING = (Control, Plan, Start, OtherWords)
DECLARED = {each.name: each for kind in DECLARING for each in fields(kind)}
OPTIONS: Mapping[str, Option] = in_help_order(options_of(*DECLARING))


def measuring_options(command: Callable) -> Callable:
    """What is measured and how ranks are started, then what is said of the result."""
    return _with(command, (name for name, each in OPTIONS.items() if each.section not in OF_RUN_ALONE))


def job_options(command: Callable) -> Callable:
    """What `run` has beside them: what a job adds, and what helps when something goes wrong."""
    return _with(command, (name for name, each in OPTIONS.items() if each.section in OF_RUN_ALONE))


def _with(command: Callable, names: Iterable[str]) -> Callable:
    for name in reversed([*names]):
        command = click_option(name)(command)
    return command


def click_option(name: str) -> Callable[[Callable], Callable]:
    """The option of the field `name`, as a decorator of click."""
    said, declared = OPTIONS[name], DECLARED[name]
    default = _default(said, declared)
    takes = said.of or _taken(declared.type)
    how: dict[str, Any] = {"type": typed(takes), "multiple": said.repeated}
    how |= {"metavar": said.metavar or ("N" if isinstance(takes, Whole) else None)}
    return click.option(
        *said.names,
        name,
        cls=PlacedOption,
        section=said.section,
        default=default,
        show_default=default not in (None, "", 0),
        help=said.help,
        **({"is_flag": True} if takes is bool else how),
    )


def _default(said: Option, declared: Field) -> Any:
    """What click takes, and the help shows, where nobody says anything; None: the field's own default is used."""
    if declared.default in (MISSING, None, ()) or "[default: " in said.help:
        return None
    return said.of.short(declared.default) if isinstance(said.of, Words) else declared.default


def _taken(annotation: Any) -> Whole | tuple[str, ...] | type:
    """What an option of a field with this annotation takes: some words, a whole number, or text."""
    for each in (annotation, *get_args(annotation)):
        for rule in get_args(each)[1:] if get_origin(each) is Annotated else ():
            if words := rule.keywords.get("enum"):
                return tuple(words)
            if "minimum" in rule.keywords:
                return Whole(rule.keywords["minimum"])
    return bool if annotation is bool else str
