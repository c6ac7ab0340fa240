"""What is said of words that the command line cannot use: one line, once for all ranks."""

import re
from collections.abc import Sequence

import click

from ..units import nearest
from .habits import COMMAND_HABITS, OPTION_HABITS
from .types import INTERRUPTED, OneLineError

NO_CHOICE = re.compile(r"'(.*)' is not one of ", re.DOTALL)  # click's words, where they are English


def say_refusal(error: click.ClickException, is_interrupted: bool) -> int:
    """Say what is wrong; the exit status, which is INTERRUPTED where an interrupt `is_interrupted` came before."""
    refusal = error if isinstance(error, OneLineError) else OneLineError(_sentence(error), error.exit_code)
    refusal.show()
    return INTERRUPTED if is_interrupted else refusal.exit_code


def interruption() -> OneLineError:
    """What is said where the user ends the command."""
    return OneLineError("interrupted", INTERRUPTED)


def unknown_command(name: str, known: Sequence[str]) -> OneLineError:
    """The refusal of a command that is none of `known`."""
    meant = COMMAND_HABITS.get(name.lower().partition(".")[0]) or nearest(name, known)
    return OneLineError(f"no command '{name:.60}'; {_meant_or_help(meant, '')}")


def habit_of(words: Sequence[str]) -> str:
    """What is said of the first of `words`, the words of a command, that is an option of another tool; empty: none."""
    for word in words:
        if word == "--":
            break
        if habit := OPTION_HABITS.get(word.partition("=")[0]):
            return f"no option {word.partition('=')[0]} here; {habit}"
    return ""


def _sentence(error: click.ClickException) -> str:
    """What click says, in one line that begins with the command."""
    context = getattr(error, "ctx", None)
    command = context.command.name if context is not None and context.parent is not None else ""
    said = f"{command}: " if command else ""
    if isinstance(error, click.NoSuchOption):
        return f"{said}{_no_option(error, command)}"
    if isinstance(error, click.MissingParameter):
        return f"{said}{_in_small(error)}; {_meant_or_help('', command)}"
    if isinstance(error, click.BadParameter) and error.param is not None:
        return f"{_name(error.param)}: {_bad_value(error.message, error.param)}"
    return f"{said}{_in_small(error)}"


def _in_small(error: click.ClickException) -> str:
    """What click says, without the capital and the full stop of a sentence."""
    message = " ".join(error.format_message().split()).rstrip(".")
    return f"{message[:1].lower()}{message[1:]}"


def _no_option(error: click.NoSuchOption, command: str) -> str:
    """`no option --withn; did you mean --within? …`."""
    name, options = error.option_name, error.ctx.command.params if error.ctx is not None else []
    if not command:
        return f"no option {name} before a command; expected such as: allreduce-bench run -n 4"
    known = [text for option in options if isinstance(option, click.Option) for text in option.opts]
    meant = nearest(name, [text for text in known if text.startswith("--")], "--") if name.startswith("--") else ""
    return f"no option {name}; {_meant_or_help(meant, command)}"


def _bad_value(message: str, parameter: click.Parameter) -> str:
    """`'tabel' is not one of 'table', 'csv'; did you mean table?`."""
    match, kind = NO_CHOICE.match(message), parameter.type
    meant = nearest(match[1], map(str, kind.choices)) if match and isinstance(kind, click.Choice) else ""
    return "; ".join(filter(None, [" ".join(message.split()).rstrip("."), meant]))


def _name(parameter: click.Parameter) -> str:
    """`--sync` of an option; of an argument what its help calls it."""
    return parameter.opts[-1] if isinstance(parameter, click.Option) else parameter.human_readable_name


def _meant_or_help(meant: str, command: str) -> str:
    """What was meant, and where all options or commands are shown."""
    words = " ".join(filter(None, ["allreduce-bench", command, "--help"]))
    return " ".join(filter(None, [meant, f"'{words}' shows all"]))
