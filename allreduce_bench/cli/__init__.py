"""The command line: parse, call, print. The only place where the parts are joined; what loads much is imported late.

In: the words of a command. Out: calls of the other rooms, their results on stdout, exit status 0, 1, 2 or 130. One
file per command. For `run` read in this order: `run`, `options` (declared beside their fields, in `runs.plan`,
`runs.start` and `runs.control`), `types` (of options; one-line errors), `sections` (of the help), `refusals` (of
wrong words), `request` (the plan and the folder), then `run_from_outside` and `run_as_rank`, the whole story;
`own_algorithms`, `work_limit`, `end_of_run`, `in_job` (in a Slurm job), `terminal`. Others: `demo`, `doctor`,
`exec_`, `fit` (with `fit_times`), `import_`, `predict`, `schedules` (`list`, `verify`), `schema`, `show` (with
`runs`, `report`), `submit`, `sweep` (`status`, `collect`).
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import FrameType
from typing import Any

import click

from .. import __version__
from ..wings import load, wings
from .sections import examples

GROUPS = {  # title -> name of a command -> module, attribute, purpose; in the order a newcomer needs them
    "Measure": {
        "doctor": ("doctor", "doctor", "Check this node and its MPI for problems that disturb measurements"),
        "demo": ("demo", "demo", "Measure the usual algorithms on this machine and write the report"),
        "run": ("run", "run", "Measure all-reduce algorithms and the library's own"),
        "exec": ("exec_", "exec_", "Start a program of your own on ranks, and name the rank that ends it"),
    },
    "Read": {
        "runs": ("show", "runs", "List runs, the newest first"),
        "show": ("show", "show", "Print the table of a run again"),
        "report": ("show", "report", "Write a web page about runs, with figures"),
        "import": ("import_", "import_", "Make a run from logs of OSU, IMB, nccl-tests and others"),
        "schema": ("schema", "schema", "Print the JSON Schema of a file or an output, or check files against it"),
    },
    "Model": {
        "fit": ("fit", "fit", "Fit a latency/bandwidth model to measured times"),
        "predict": ("predict", "predict", "Predict times, from fitted models or from alpha and bandwidth"),
    },
    "On a cluster with Slurm": {
        "submit": ("submit", "submit", "Submit a sweep: one job for each node count"),
        "status": ("sweep", "status", "Show the state of the jobs of a sweep"),
        "collect": ("sweep", "collect", "Write summary and report of a sweep, and list missing cells"),
    },
    "Algorithms": {
        "list": ("schedules", "list_", "List the algorithms, their costs and their other names"),
        "verify": ("schedules", "verify", "Verify that algorithms are all-reduces, by symbolic execution"),
    },
}
COMMANDS = {name: place for group in GROUPS.values() for name, place in group.items()}


def purposes() -> dict[str, dict[str, str]]:
    """Return the purpose of each command, by title of its group and name; commands of wings are among the others."""
    groups = {title: {name: purpose for name, (_, _, purpose) in group.items()} for title, group in GROUPS.items()}
    for wing in wings().values():
        for name, command in wing.commands.items():
            group = groups.setdefault(command.group, {})
            later = list(group)[list(group).index(command.after) + 1 :] if command.after in group else []
            group[name] = command.purpose
            group |= {other: group.pop(other) for other in later}
    return groups


def _names() -> list[str]:
    return [name for group in purposes().values() for name in group]


class _Late(click.Group):
    """A group that imports a command on demand, so that a rank loads no more than it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return _names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            module, attribute, _ = COMMANDS[cmd_name]
            return getattr(import_module(f".{module}", __name__), attribute)
        for package, wing in wings().items():
            if cmd_name in wing.commands:
                return load(package, wing.commands[cmd_name].place)
        return None

    def resolve_command(self, ctx: click.Context, args: list[str]):
        """Return the command of these words, as click finds it. Raises OneLineError if there is none."""
        if args[0] not in COMMANDS and not args[0].startswith("-") and args[0] not in _names():
            from .refusals import unknown_command  # late: only a mistake needs it

            raise unknown_command(args[0], _names())
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, each group under its title."""
        width = max(map(len, _names()))
        for title, commands in purposes().items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), purpose) for name, purpose in commands.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command of these words, with one line for an interrupt, where click would print its own."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.Abort from None

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run the command and exit with its status; an error is one line, printed once for all ranks."""
        run: Callable[..., Any] = super().main
        if not standalone_mode:
            return run(*args, standalone_mode=False, **extra)
        with _noted_interrupts() as interrupts:
            try:
                status = run(*args, standalone_mode=False, **extra)
            except Exception as error:  # an interrupted import of C code fails in its own way
                if not interrupts and not isinstance(error, (click.ClickException, click.Abort)):
                    raise
                from .refusals import say_refusal  # late: only a mistake needs it

                status = say_refusal(error, bool(interrupts))
            if interrupts and "mpi4py.MPI" not in sys.modules:  # MPI has to end by itself
                _leave(status)
        sys.exit(status)


def _leave(status: int) -> None:
    """Exit at once: after an interrupted import of C code Python would end by the signal, without a status."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


@contextmanager
def _noted_interrupts() -> Iterator[list[int]]:
    """Yield the interrupts of this process within the context; they raise KeyboardInterrupt, as Python has it."""
    came: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        came.append(number)
        raise KeyboardInterrupt

    former = signal.getsignal(signal.SIGINT)
    if not callable(former):  # ignored, as behind nohup
        yield came
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, former)


@click.group(
    cls=_Late,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=examples("run -n 4 --within 1m", "report results/RUN", "explain ring -n 4", "run --help"),
)
@click.version_option(__version__, prog_name="allreduce-bench")
def main() -> None:
    """Measure, verify, model and explain all-reduce algorithms over MPI.

    Results go to stdout, progress to stderr. Exit status: 0 success, 1 a check failed or nothing was measured, 2 wrong
    usage, 130 interrupted.
    """
