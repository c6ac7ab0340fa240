"""The command line: parse, call, print. The only place where the parts are joined; what loads much is imported late.

In: the words of a command. Out: calls of the other rooms, their results on stdout, exit status 0, 1, 2 or 130. One
file per command. For `run` read in this order: `run`, `options` (declared beside their fields, in `runs.plan`,
`runs.start` and `runs.control`), `types` (of options; one-line errors), `sections` (of the help), `refusals` (of
wrong words), `request` (the plan and the folder), `against` (runs whose launches alternate), then
`run_from_outside` and `run_as_rank`, the whole story; `work_limit`, `end_of_run`, `in_job` (in a Slurm job),
`terminal`. Others: `demo`, `doctor`, `exec_`, `fit` (with `fit_times`), `import_`, `predict`,
`schedules` (`list`, `verify`), `show` and `report` (with `kept_runs`), `submit`, `sweep` (`status`, `collect`).
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import ENOSPC
from time import monotonic
from types import FrameType
from typing import Any

import click

from .. import __version__
from ..measuring.startup import rank_of
from ..wings import is_installed, load
from .sections import examples

TWICE_S = 1.0  # two interrupts so close are one

GROUPS = {  # title -> name of a command -> its place below the package, its purpose; in the order of a day's work
    "Start": {
        "demo": ("cli.demo:demo", "Measure the usual algorithms on this machine, write the report"),
        "doctor": ("cli.doctor:doctor", "Check this node and its MPI for what disturbs measurements"),
    },
    "Measure": {
        "run": ("cli.run:run", "Measure all-reduce algorithms and the library's own"),
        "which": ("which.which:which", "Say which algorithm the library's own all-reduce runs"),
        "tune": ("which.tune:tune", "Write what the library is to use, from runs, and prove it"),
    },
    "Read": {
        "show": ("cli.show:show", "List the runs, or print the table of one"),
        "report": ("cli.report:report", "Write a web page about runs, with figures"),
        "compare": ("comparison.command:compare", "Find cells that are slower or faster than before"),
        "import": ("cli.import_:import_", "Read logs of OSU, IMB, nccl-tests and others as a run"),
    },
    "Model": {
        "fit": ("cli.fit:fit", "Fit a latency/bandwidth model to measured times"),
        "predict": ("cli.predict:predict", "Predict times, from fitted models or from alpha and bandwidth"),
        "workload": ("training.command:workload", "Model the all-reduces of a training step"),
    },
    "Slurm": {
        "submit": ("cli.submit:submit", "Submit a sweep: one job for each node count"),
        "status": ("cli.sweep:status", "Show the state of the jobs of a sweep"),
        "collect": ("cli.sweep:collect", "Write summary and report of a sweep, list missing cells"),
    },
    "Faults": {
        "stragglers": ("stragglers.command:stragglers", "Name the rank or node that the others wait for"),
        "health": ("health.command:health", "Find the node or the link that is slower than its peers"),
        "exec": ("cli.exec_:exec_", "Start a program of your own, name the rank that ends it"),
    },
    "Learn": {
        "list": ("cli.schedules:list_", "List the algorithms, -v with costs and other names"),
        "explain": ("pages.command:explain", "Show an algorithm round by round"),
        "verify": ("cli.schedules:verify", "Verify that algorithms are all-reduces, without running them"),
    },
    "More": {
        "lab": ("lab.command:lab", "Run commands over virtual hosts in this machine"),
        "order": ("order.command:order", "Find an order of ranks that suits the links between hosts"),
        "survive": ("survive.command:survive", "Measure what the loss of a rank costs"),
    },
}
OF_ALL_RANKS = ("run", "which")  # commands in which every rank of an mpirun takes part; of others rank 0 alone
PLACES = {name: place for group in GROUPS.values() for name, (place, _) in group.items()}


def purposes() -> dict[str, dict[str, str]]:
    """Return the purpose of each command that is installed, by title of its group and name."""
    installed = {
        title: {name: purpose for name, (place, purpose) in group.items() if is_installed(place)}
        for title, group in GROUPS.items()
    }
    return {title: group for title, group in installed.items() if group}


def _names() -> list[str]:
    return [name for group in purposes().values() for name in group]


class _Late(click.Group):
    """A group that imports a command on demand, so that a rank loads no more than it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return _names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = PLACES.get(cmd_name)
        return load(place) if place and is_installed(place) else None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does, `help run` as `run --help`; end all ranks but the first, but for OF_ALL_RANKS."""
        if rank_of(os.environ) and not {*args[:1]} & {*OF_ALL_RANKS}:
            ctx.exit()
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

    def resolve_command(self, ctx: click.Context, args: list[str]):
        """Return the command of these words, as click finds it. Raises OneLineError if there is none."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
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
                if interrupts and status is None:  # whoever imported something then has dropped it
                    raise click.Abort
            except Exception as error:  # an interrupted import of C code fails in its own way
                is_of_stdout = isinstance(error, OSError) and error.errno == ENOSPC
                if not (interrupts or is_of_stdout or isinstance(error, (click.ClickException, click.Abort))):
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
def _noted_interrupts() -> Iterator[list[float]]:
    """Yield when this process was interrupted within the context; an interrupt raises KeyboardInterrupt.

    One within TWICE_S of another raises nothing: launchers pass on a Ctrl-C that the terminal sends to all.
    """
    came: list[float] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        came.append(monotonic())
        if len(came) == 1 or came[-1] - came[-2] > TWICE_S:
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
