"""Refusals of wrong words on the command line: one line, printed once for all ranks."""

import re
from collections.abc import Sequence

import click

from ..algorithms import is_builtin
from ..runs.competitor import NATIVE
from ..units import nearest
from .types import INTERRUPTED, OneLineError

# click's words, in English
NO_CHOICE = re.compile(r"'(.*)' is not one of ", re.DOTALL)
SURPLUS = re.compile(r"Got unexpected extra arguments? \((\S*).*\)", re.DOTALL)


def say_refusal(error: Exception, is_interrupted: bool) -> int:
    """Print the error; return the exit status, which is INTERRUPTED if `is_interrupted`.

    An error of the system is that stdout cannot be written. Another one that is none of click's is an interrupt, too,
    as is one that an interrupted import of C code ended in.
    """
    if isinstance(error, OSError) and not is_interrupted:
        error = OneLineError(f"stdout: {(error.strerror or str(error)).lower()}", exit_code=1)
    if not isinstance(error, click.ClickException) or is_interrupted and _came_from_interrupt(error):
        error, is_interrupted = OneLineError("interrupted"), True
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return error.exit_code
    refusal = error if isinstance(error, OneLineError) else OneLineError(_sentence(error), exit_code=error.exit_code)
    refusal.show()
    return INTERRUPTED if is_interrupted else refusal.exit_code


def _came_from_interrupt(error: BaseException | None) -> bool:
    """Return whether an interrupt is among the causes of an error; an error may be its own cause."""
    causes: list[BaseException] = []
    while error is not None and error not in causes:
        causes.append(error)
        error = error.__cause__
    return any(isinstance(cause, KeyboardInterrupt) for cause in causes)


def _sentence(error: click.ClickException) -> str:
    """Return click's message, in one line that begins with the command."""
    context = getattr(error, "ctx", None)
    command = _command_of(context)
    said = f"{command}: " if command else ""
    if isinstance(error, click.NoSuchOption):
        return f"{said}{_no_option(error, command)}"
    if isinstance(error, click.MissingParameter):
        return f"{said}{_lower_first(error)}; {_meant_or_help('', context)}"
    if isinstance(error, click.BadParameter) and error.param is not None:
        return f"{_name(error.param)}: {_bad_value(error.message, error.param)}"
    if context and (surplus := SURPLUS.fullmatch(error.message)):
        advice = _meant_or_help(_meant_option(surplus[1], context), context)
        return f"{said}'{surplus[1]:.60}' is a word too many; {advice}"
    return f"{said}{_lower_first(error)}"


def _meant_option(word: str, context: click.Context) -> str:
    """Return `did you mean -a ring?` for an algorithm, `-n 4` for a number; empty: the command has no such option."""
    option = "-n" if word.isdecimal() else "-a" if word == NATIVE or is_builtin(word) else ""
    is_known = any(option in known.opts for known in context.command.params)
    return f"did you mean {option} {word}?" if is_known else ""


def _command_of(context: click.Context | None) -> str:
    """Return the command, such as `lab run`; empty: none."""
    names: list[str] = []
    while context is not None and context.parent is not None:
        names.insert(0, context.command.name or "")
        context = context.parent
    return " ".join(names)


def _lower_first(error: click.ClickException) -> str:
    """Return click's message, without the capital letter and the full stop."""
    message = " ".join(error.format_message().split()).rstrip(".")
    return f"{message[:1].lower()}{message[1:]}"


def _no_option(error: click.NoSuchOption, command: str) -> str:
    """Format `no such option: --withn; did you mean --within? …`."""
    name, options = error.option_name, error.ctx.command.params if error.ctx is not None else []
    if not command:
        return f"no such option before a command: {name}; expected for example: allreduce-bench run -n 4"
    known = [text for option in options if isinstance(option, click.Option) for text in option.opts]
    meant = nearest(name, [text for text in known if text.startswith("--")], "--") if name.startswith("--") else ""
    return f"no such option: {name}; {_meant_or_help(meant, error.ctx)}"


def _bad_value(message: str, parameter: click.Parameter) -> str:
    """Format `'tabel' is not one of 'table', 'csv'; did you mean table?`."""
    match, kind = NO_CHOICE.match(message), parameter.type
    meant = nearest(match[1], map(str, kind.choices)) if match and isinstance(kind, click.Choice) else ""
    return "; ".join(filter(None, [" ".join(message.split()).rstrip("."), meant]))


def _name(parameter: click.Parameter) -> str:
    """Return `--sync` for an option; for an argument its name in the help."""
    return parameter.opts[-1] if isinstance(parameter, click.Option) else parameter.human_readable_name


def _meant_or_help(meant: str, context: click.Context | None) -> str:
    """Return the suggestion, and the advice of the command, else the help that shows all options, or all commands."""
    command = context.command if context else None
    help_option = "--help-all" if getattr(command, "first", ()) else "--help"
    words = " ".join(filter(None, ["allreduce-bench", _command_of(context), help_option]))
    return " ".join(filter(None, [meant, getattr(command, "advice", f"'{words}' shows all")]))


def unknown_command(name: str, known: Sequence[str]) -> OneLineError:
    """Return the refusal of a command that is not one of `known`."""
    if name == "runs":
        return OneLineError("no such command: 'runs'; 'allreduce-bench show' lists the runs")
    return OneLineError(f"no such command: '{name:.60}'; {_meant_or_help(nearest(name, known), None)}")
