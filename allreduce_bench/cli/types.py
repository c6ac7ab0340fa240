"""Types of options: sizes, durations, rank counts; errors in one line; messages on stderr."""

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from errno import ENOSPC
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..machine.variables import drop_values, stored_setting
from ..measuring.startup import rank_of
from ..runs import option_values
from ..runs.hosts import parse_hosts
from ..runs.option import Section, Whole, Words
from ..units import escaped, parse_rate, printable
from ..watching.progress import LateLines, LaunchPosition, ProgressLines

if TYPE_CHECKING:
    from ..runs.folder import RunFolder

LAUNCHER_TEXTS = {"--launcher", "--launcher-args", "--remote-shell"}  # options whose words may set variables
INTERRUPTED = 130  # exit status after Ctrl-C, as shells have it: 128 + SIGINT


class PlacedOption(click.Option):
    """An option with its section of the help, see `sections`; a condition of the run has one value."""

    def __init__(self, *args: Any, section: Section, is_condition: bool = False, **keywords: Any):
        super().__init__(*args, **keywords)
        self.section, self.is_condition = section, is_condition


class OneLineError(click.ClickException):
    """An error that is printed in one line, once for all ranks.

    Exit status 2: bad usage, 1: a check that failed, INTERRUPTED.
    """

    def __init__(self, sentence: str, exit_code: int = 2):
        # it holds words of users and of files, which may contain line ends and terminal control sequences
        super().__init__(escaped(sentence))
        self.exit_code = exit_code  # type: ignore[misc]  # click declares it for the class

    def show(self, file=None) -> None:
        if rank_of(os.environ) == 0:
            click.echo(f"error: {self.message}", file=file or sys.stderr)
        else:
            time.sleep(2)  # the first process that ends makes mpirun end the others: let that be rank 0, after its line


class _Parsed(click.ParamType):
    def __init__(self, name: str, parse: Callable):
        self.name, self.parse = name, parse

    def convert(self, value, param, ctx):
        if not isinstance(value, str):
            return value
        try:
            return self.parse(value)
        except ValueError as error:
            name = param.opts[-1] if param else "argument"
            raise OneLineError(f"{name}: {error}") from error


class _WholeNumber(click.ParamType):
    """The type of a whole number; a help without the limits that nobody meets."""

    name = "integer"

    def __init__(self, whole: Whole):
        self.least, self.most = whole.least, whole.most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number = click.INT.convert(value, param, ctx)
        if not self.least <= number <= (self.most or number):
            self.fail(f"found {number}, expected {self.least} to {self.most}", param, ctx)
        return number


def parsed(name: str, parse: Callable[[str], object]) -> click.ParamType:
    """Return the type of an option whose words `parse` parses, or refuses with a ValueError."""
    return _Parsed(name, parse)


def _parse_path(text: str) -> Path:
    if not text:
        raise ValueError("expected a path, found an empty word")
    return Path(text)


PATH = parsed("path", _parse_path)  # of an output: click would take an empty word for this folder


def type_of(takes: Words | Whole | tuple[str, ...] | type) -> click.ParamType:
    """Return the type of an option that takes this."""
    if isinstance(takes, Words):
        return _Parsed(takes.name, takes.parse)
    if isinstance(takes, Whole):
        return _WholeNumber(takes)
    if isinstance(takes, tuple):
        return click.Choice(takes)
    return PATH if takes is Path else click.types.convert_type(takes)


SIZE, SIZES, DURATION, SHARE = (
    type_of(option_values.SIZE),
    type_of(option_values.SIZES),
    type_of(option_values.DURATION),
    type_of(option_values.SHARE),
)
RANKS, NAMES, RATES = (
    type_of(option_values.RANKS),
    type_of(option_values.NAMES),
    type_of(option_values.RATES),
)
DTYPE, HOSTS, RATE = type_of(option_values.DTYPE), parsed("hosts", parse_hosts), parsed("rate", parse_rate)


def errors_in_one_line(command: Callable) -> Callable:
    """Turn exceptions for bad input or a failed check into OneLineError; no traceback reaches the user."""

    @wraps(command)
    def guarded(*args, **kwargs):
        try:
            return command(*args, **kwargs)
        except (click.exceptions.Exit, OneLineError, BrokenPipeError):  # click ends silently if nobody reads on
            raise
        except KeyboardInterrupt as interrupt:
            raise OneLineError("interrupted", exit_code=INTERRUPTED) from interrupt
        except MemoryError as error:
            raise OneLineError("not enough memory; reduce the request", exit_code=1) from error
        except (ValueError, OSError, RuntimeError, OverflowError) as error:
            if isinstance(error, OSError) and error.errno == ENOSPC and not error.filename:
                raise  # of stdout, for whoever called the command
            raise OneLineError(_error_sentence(error), exit_code=getattr(error, "exit_code", 2)) from error

    return guarded


def _error_sentence(error: Exception) -> str:
    """Format `x.xml: no such file or directory` for an error of the system; else the message of the error."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror[0].lower()}{error.strerror[1:]}"
    return str(error)


def kept_command() -> list[str]:
    """Return the words of this command as they are stored: of variables in words of launchers see `drop_values`."""
    words = ["allreduce-bench", *sys.argv[1:]]
    return [_stored_word(option, word) for option, word in zip(["", *words], words)]


def _stored_word(option: str, word: str) -> str:
    """Return a word of a command behind `option` as it is stored."""
    if option == "-x":
        return stored_setting(word)
    if word.startswith("-x"):
        return f"-x{stored_setting(word[2:])}"
    return drop_values([word])[0] if {option, word.partition("=")[0]} & LAUNCHER_TEXTS else word


def given_options(context: click.Context) -> set[str]:
    """Return the names of the parameters that the user gave on the command line."""
    on_command_line = click.core.ParameterSource.COMMANDLINE
    return {name for name in context.params if context.get_parameter_source(name) is on_command_line}


def talk(sentence: str) -> None:
    """Print a message on stderr; results go to stdout."""
    click.echo(sentence, err=True)


@contextmanager
def told_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Print on stderr, after the block, what was warned of in it, such as lines of logs that were left out."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield caught
    for warning in caught:
        talk(f"warning: {printable(str(warning.message))}")


def progress() -> LateLines:
    """Return what prints on stderr what this command does next, once it has taken longer than two seconds."""
    return LateLines(talk)


def tell_damages(folders: "Iterable[RunFolder]", missing: bool = True) -> None:
    """Print on stderr the damages of runs: changed, truncated or lost files, and launches without checksums.

    With `missing` also the cells that were not measured, such as the cells of a deleted launch; commands that measure
    or list cells report these themselves.
    """
    from ..report.damage_sentence import damage_report  # late: no rank reports it

    for folder in folders:
        found = damage_report(folder)
        for sentence in found.damages:
            talk(f"warning: {sentence}")
        for sentence in filter(None, [found.missing if missing else ""]):
            talk(sentence)


def progress_display() -> Callable[[LaunchPosition], ProgressLines]:
    """Return a live line on a terminal, plain lines elsewhere."""
    if not sys.stderr.isatty():
        return ProgressLines
    from ..launching.live_line import on_stderr  # late: rich is large, and few runs have a terminal

    return on_stderr()
