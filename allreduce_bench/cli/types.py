"""Types of options: sizes, durations, rank counts; errors in one line; what is said on stderr."""

import os
import sys
import time
from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING

import click

from ..machine.node import hide_secrets
from ..measuring.startup import rank_of
from ..runs.cell import EXECUTORS
from ..runs.dtypes import DTYPES
from ..runs.groups import parse_groups
from ..runs.plan import OPS
from ..runs.start import parse_hosts
from ..units import parse_counts, parse_duration, parse_rate, parse_rates, parse_share, parse_size, unknown_word
from ..watching.progress import LaunchPosition, ProgressLines

if TYPE_CHECKING:
    from ..runs.folder import RunFolder

AUTO = "auto"  # the executor that is decided before the plan is made
INTERRUPTED = 130  # exit status after Ctrl-C, as shells have it: 128 + SIGINT


class OneLineError(click.ClickException):
    """An error that is said in one line, once for all ranks.

    Exit status 2: bad usage, 1: a check that failed, INTERRUPTED.
    """

    def __init__(self, message: str, exit_code: int = 2):
        # words of users and of files are in it, which may hold line ends and steer a terminal
        super().__init__("".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in message))
        self.exit_code = exit_code  # type: ignore[misc]  # click declares it for the class

    def show(self, file=None) -> None:
        if rank_of(os.environ) == 0:
            click.echo(f"error: {self.message}", file=file or sys.stderr)
        else:
            time.sleep(2)  # whoever ends first makes mpirun end the others: let that be rank 0, when it has spoken


class _Parsed(click.ParamType):
    def __init__(self, name: str, parse: Callable):
        self.name, self.parse = name, parse

    def convert(self, value, param, ctx):
        if not isinstance(value, str):
            return value
        try:
            return self.parse(value)
        except ValueError as error:
            raise OneLineError(f"{param.opts[-1] if param else 'argument'}: {error}") from error


def parsed(name: str, parse: Callable[[str], object]) -> click.ParamType:
    """The type of an option whose words `parse` understands, or refuses with a ValueError."""
    return _Parsed(name, parse)


def parse_names(text: str) -> tuple[str, ...]:
    """The names of `ring,./mine.py`. Raises ValueError where there is none."""
    names = tuple(word.strip() for word in text.split(",") if word.strip())
    if not names:
        raise ValueError(f"'{text}': expected names of algorithms")
    return names


def parse_executors(text: str) -> tuple[str, ...]:
    """The executors of `sendrecv,pipelined`, or AUTO. Raises ValueError."""
    names = tuple(word.strip() for word in text.split(","))
    if unknown := [name for name in names if name not in (*EXECUTORS, AUTO)]:
        raise ValueError(unknown_word("executor", unknown[0], (*EXECUTORS, AUTO)))
    return names


def _limits_parser(quantity: str) -> Callable:
    def parse(text: str) -> tuple:
        from ..evaluation.acceptance import parse_limits  # late: most ranks never see a limit

        return parse_limits(quantity, text)

    return parse


def _parse_size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        from .habits import size_habit  # late, as below: only other words than ours need it

        raise ValueError(size_habit(text) or str(error)) from error


def _parse_dtype(text: str) -> str:
    if text in DTYPES:
        return text
    from .habits import dtype_named

    return dtype_named(text)


def _parse_op(text: str) -> str:
    if text in OPS:
        return text
    from .habits import op_named

    return op_named(text)


SIZE = _Parsed("size", _parse_size)
SIZES = _Parsed("sizes", lambda text: tuple(_parse_size(word) for word in text.split(",")))
DTYPE = _Parsed("name", _parse_dtype)
OP = _Parsed("name", _parse_op)
DURATION = _Parsed("duration", parse_duration)
RANKS = _Parsed("ranks", lambda text: tuple(parse_counts(text)))
NAMES = _Parsed("names", parse_names)
EXECUTOR_NAMES = _Parsed("names", parse_executors)
HOSTS = _Parsed("hosts", parse_hosts)
RATE = _Parsed("rate", parse_rate)
RATES = _Parsed("rates", parse_rates)
SHARE = _Parsed("share", parse_share)
GROUPS = _Parsed("groups", lambda text: text and parse_groups(text))
BUSBW_LIMITS = _Parsed("size:rate", _limits_parser("busbw"))
TIME_LIMITS = _Parsed("size:time", _limits_parser("time"))


def _own_algorithms(ctx: click.Context, param: click.Parameter, paths: tuple[str, ...]) -> dict:
    """By name the algorithms of the files."""
    from ..algorithms import find  # late: only who models asks
    from ..schedule.algorithm import AlgorithmError

    if names := [path for path in paths if not path.endswith(".py")]:
        raise OneLineError(f"--own {names[0]}: expected a .py file with an @algorithm")
    try:
        return find(list(paths))
    except AlgorithmError as error:
        raise OneLineError(f"--own {error}") from error


no_limit = click.option(
    "--no-limit", is_flag=True, help="Allow commands that take very long or write very much [default: refuse]."
)
own_files = click.option(  # a run names its files, but reading a run must not run what it names
    "--own",
    multiple=True,
    callback=_own_algorithms,
    metavar="FILE.py",
    help="File of your own measured algorithms, to model them too; may be repeated.",
)


def _set_color(ctx: click.Context, param: click.Parameter, when: str) -> None:
    ctx.color = {"always": True, "never": False}.get(when)  # None: what `terminal.screen` finds out


color_option = click.option(
    "--color",
    type=click.Choice(("auto", "always", "never")),
    default="auto",
    show_default=True,
    expose_value=False,
    callback=_set_color,
    help="Colours in the table; auto: on a terminal, unless NO_COLOR is set.",
)


def errors_in_one_line(command: Callable) -> Callable:
    """Turn what the parts raise for bad input or a failed check into OneLineError; no traceback reaches the user."""

    @wraps(command)
    def guarded(*args, **kwargs):
        try:
            return command(*args, **kwargs)
        except (click.exceptions.Exit, OneLineError, BrokenPipeError):  # click ends silently where nobody reads on
            raise
        except KeyboardInterrupt as interrupt:
            raise OneLineError("interrupted", INTERRUPTED) from interrupt
        except MemoryError as error:
            raise OneLineError("not enough memory; reduce the request", 1) from error
        except (ValueError, OSError, RuntimeError, OverflowError) as error:
            raise OneLineError(_error_sentence(error), getattr(error, "exit_code", 2)) from error

    return guarded


def _error_sentence(error: Exception) -> str:
    """`x.xml: no such file or directory` for an error of the system; else the message of the error."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror[0].lower()}{error.strerror[1:]}"
    return str(error)


def kept_command() -> list[str]:
    """The words of this command as they are stored: without possible secrets."""
    return hide_secrets(["allreduce-bench", *sys.argv[1:]])


def given_options(context: click.Context) -> set[str]:
    """The names of the parameters that the user gave on the command line."""
    on_command_line = click.core.ParameterSource.COMMANDLINE
    return {name for name in context.params if context.get_parameter_source(name) is on_command_line}


def talk(sentence: str) -> None:
    """Print something other than a result, on stderr."""
    click.echo(sentence, err=True)


def tell_damages(folders: "Iterable[RunFolder]", missing: bool = True) -> None:
    """Print on stderr the damages of runs: changed, truncated or lost files, and launches without checksums.

    Unless not `missing`, also the cells that were not measured, such as those of a launch that was deleted: commands
    that measure or list them say that themselves.
    """
    from ..report.caveats import damage_report  # late: a rank says nothing of it

    for folder in folders:
        found = damage_report(folder)
        for sentence in found.damages:
            talk(f"warning: {sentence}")
        for sentence in filter(None, [found.unchecked, found.missing if missing else ""]):
            talk(sentence)


def display() -> Callable[[LaunchPosition], ProgressLines]:
    """A live line on a terminal, plain lines elsewhere."""
    if not sys.stderr.isatty():
        return ProgressLines
    from rich.console import Console

    from ..watching.live_line import LiveLine

    console = Console(stderr=True)
    return lambda position: LiveLine(position, console)
