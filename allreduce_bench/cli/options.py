"""The options of `run`, and of the commands that start one, as click understands them.

An option is declared beside the field that it decides, in `runs.plan`, `runs.start` and `runs.control`; those declared
here set such a field in other words. A parameter of a command has the name of its field.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import click

from ..runs.control import Control
from ..runs.option import Option, Section, Whole, Words, in_help_order, option, options_of
from ..runs.option_values import EXECUTOR_NAMES, SIZE
from ..runs.plan import Plan
from ..runs.start import Start
from .types import HOSTS, PlacedOption, type_of

if TYPE_CHECKING:
    from ..evaluation.acceptance import AcceptanceLimit

MOST_WHOLE = 10**9  # of an option without a limit of its own
OF_RUN_ALONE = (Section.IN_A_JOB, Section.GONE_WRONG)  # sections that `submit` has in another way, or not


def _acceptance(name: str, quantity: str, words: str, help: str) -> Any:
    """Return a field for limits of a quantity, which stand in SIZE:LIMIT or COMPETITOR:SIZE:LIMIT."""

    def parse(text: str) -> tuple:
        from ..evaluation.acceptance import parse_limits  # late: most ranks never see a limit

        return parse_limits(quantity, text)

    of = Words(words, parse)
    return option(name, section=Section.RESULTS, default=(), help=help, of=of, repeated=True, decides="limits")


@dataclass(frozen=True, kw_only=True)
class OtherWords:
    """Options that set a field of the plan, its start or its control in other words."""

    minbytes: int = option(
        "-b",
        "--minbytes",
        section=Section.MEASURED,
        default=8,
        help="Smallest size.",
        of=SIZE,
        decides="sizes",
    )
    maxbytes: int = option(
        "-e",
        "--maxbytes",
        section=Section.MEASURED,
        default=16 << 20,
        help="Largest size.",
        of=SIZE,
        decides="sizes",
    )
    stepfactor: float = option(
        "-f",
        "--stepfactor",
        section=Section.MEASURED,
        default=4.0,
        help="Factor between sizes.",
        of=float,
        decides="sizes",
    )
    executors: tuple[str, ...] = option(
        "--executor",
        section=Section.MEASURED,
        default=(),
        help="Ways of names of -a that have none: sendrecv, one blocking MPI_Sendrecv per step; pipelined, steps "
        "cut into segments, receives posted ahead; compiled and compiled-pipelined, in a compiled kernel; auto, "
        "compiled where numba is installed [default: sendrecv].",
        of=EXECUTOR_NAMES,
        decides="competitors",
    )
    min_busbw: "tuple[AcceptanceLimit, ...]" = _acceptance(
        "--min-busbw",
        "busbw",
        "size:rate",
        "Exit with 1 below this busbw in GB/s at a size: 64M:20 for the fastest algorithm, or ring:64M:20.",
    )
    max_time: "tuple[AcceptanceLimit, ...]" = _acceptance(
        "--max-time",
        "time",
        "size:time",
        "Exit with 1 above this time at a size: 8:15us for the fastest algorithm, or ring:8:15us.",
    )


DECLARING = (Control, Plan, Start, OtherWords)
DECLARED = {each.name: each for kind in DECLARING for each in fields(kind)}
OPTIONS: Mapping[str, Option] = in_help_order(options_of(*DECLARING))


def measuring_options(command: Callable, without: Collection[str] = ()) -> Callable:
    """Add the options for what is measured, how ranks are started, and how results are shown, but for some fields."""
    names = (name for name, each in OPTIONS.items() if each.section not in OF_RUN_ALONE and name not in without)
    return _add_options(command, names)


def job_options(command: Callable) -> Callable:
    """Add the options of `run` for jobs, and for when something goes wrong."""
    return _add_options(command, (name for name, each in OPTIONS.items() if each.section in OF_RUN_ALONE))


def _add_options(command: Callable, names: Iterable[str]) -> Callable:
    for name in reversed([*names]):
        command = click_option(name)(command)
    return command


def click_option(name: str) -> Callable[[Callable], Callable]:
    """Return the option of the field `name`, as a decorator of click."""
    said, declared = OPTIONS[name], DECLARED[name]
    default = _default(said, declared)
    takes = said.of or _option_type(declared.type)
    how: dict[str, Any] = {"type": type_of(takes), "multiple": said.repeated}
    how |= {"metavar": said.metavar or ("N" if isinstance(takes, Whole) else None)}
    return click.option(
        *said.names,
        name,
        cls=PlacedOption,
        section=said.section,
        is_condition=said.condition,
        default=default,
        show_default=default not in (None, "", 0),
        help=said.help,
        **({"is_flag": True} if takes is bool else how),
    )


def _default(said: Option, declared: Field) -> Any:
    """Return the default of the option for click and the help; None: the field's own default is used."""
    if declared.default in (MISSING, None, ()) or "[default: " in said.help:
        return None
    return said.of.short(declared.default) if isinstance(said.of, Words) else declared.default


def _option_type(annotation: Any) -> Whole | tuple[str, ...] | type:
    """Return what an option of a field with this annotation takes: some words, a whole number, or text."""
    for each in (annotation, *get_args(annotation)):
        for rule in get_args(each)[1:] if get_origin(each) is Annotated else ():
            if rule.words:
                return rule.words
            if rule.least is not None:
                return Whole(rule.least, MOST_WHOLE)
    return bool if annotation is bool else str


# Of commands that start ranks without a plan


def launch_options(command: Callable) -> Callable:
    """Add the options that say how ranks are started, named as the fields of Start."""
    options = (
        click.option("--launcher", default=Start.launcher, metavar="NAME", show_default=True, help="As of run."),
        click.option("--launcher-args", default=Start.launcher_args, metavar="WORDS", help="As of run."),
        click.option(
            "--remote-shell", default=Start.remote_shell, metavar="PROGRAM", show_default=True, help="As of run."
        ),
        click.option("--interface", default=Start.interface, metavar="IF", help="As of run."),
    )
    for add in reversed(options):
        command = add(command)
    return command


def start_options(command: Callable) -> Callable:
    """Add the options that say where and how ranks are started."""
    per_node = click.option("--ranks-per-node", type=click.IntRange(1), metavar="N", help="Ranks on each node.")
    hosts = click.option("--hosts", type=HOSTS, help="Hosts for the ranks, e.g. n1,n2 or n[1-4]:8.")
    return hosts(per_node(launch_options(command)))
