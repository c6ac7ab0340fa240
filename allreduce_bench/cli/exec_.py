"""`exec`: start a user's program on ranks, and name the rank that ends it."""

import os
from pathlib import Path
from typing import Any

import click

from ..launching.find import find_launcher
from ..launching.launcher import on_one_node
from ..launching.own_program import Ending, WatchedProgram
from ..launching.restarts import run_with_restarts
from ..launching.tied_process import interrupt_when_asked_to_end
from ..measuring.startup import under_launcher
from ..runs.control import Control
from ..runs.start import CHECKPOINT_VARIABLE, Start
from ..wings import load_offers
from .options import start_options
from .plan_of_options import place_on_hosts
from .request import refuse_short_timeout
from .sections import examples
from .types import DURATION, OneLineError, errors_in_one_line, talk
from .work_limit import refuse_many_ranks

UNDER_A_LAUNCHER = "exec starts its own ranks; run it without mpirun or srun"


@click.command(
    "exec",
    epilog=examples(
        "exec -n 4 -- python train.py",
        "exec -n 8 --hosts n1,n2 -- python solve.py --steps 100",
        "exec -n 4 --restarts 2 --checkpoint ckpt -- python train.py",
    ),
    context_settings={"allow_interspersed_args": False},  # options after PROGRAM are its own
)
@click.option("-n", "--ranks", type=click.IntRange(1), required=True, help="Ranks; more than cores are allowed.")
@start_options
@click.option(
    "--timeout",
    type=DURATION,
    default=f"{Control.timeout_s:g}s",
    show_default=True,
    help="End the program when a rank or the launcher is stopped, or does not respond, for this time.",
)
@click.option(
    "--restarts",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="When a rank is lost, start PROGRAM again without it, or without its host, so many times.",
)
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder of PROGRAM's checkpoints, told to it; afterwards say what they and the losses cost.",
)
@click.option(
    "--mean-time-to-failure",
    "mean_time_to_failure_s",
    type=DURATION,
    help="With --checkpoint: say how often to write one at this time between failures, e.g. 24h.",
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="-- PROGRAM [ARGUMENTS]...")
@click.pass_context
@errors_in_one_line
def exec_(
    context: click.Context,
    ranks: int,
    hosts,
    timeout: float,
    restarts: int,
    checkpoint: Path | None,
    mean_time_to_failure_s: float | None,
    words: tuple[str, ...],
    **start_choices,
) -> None:
    """Start PROGRAM on ranks with this MPI's mpirun, and watch it.

    All output is passed through. A rank that ends with another status than 0, or by a signal, ends the others; it is
    named, and its exit status is handed on. Where Python has mpi4py, programs in Python start as python -m mpi4py does:
    an error on one rank ends the others, for which MPI would wait. Ranks that are alive and wait for each other are not
    seen to hang: interrupt them with Ctrl-C.

    With --restarts a rank that is killed or does not respond is left out, and PROGRAM starts again with the others.
    It goes on from its newest checkpoint if it writes some: see docs/checkpoints.md.
    """
    if under_launcher(os.environ):
        raise OneLineError(UNDER_A_LAUNCHER)
    refuse_short_timeout(timeout)
    if mean_time_to_failure_s == 0:
        raise OneLineError("--mean-time-to-failure: 0 s; expected a time longer than 0, such as 24h")
    if mean_time_to_failure_s and not checkpoint:
        raise OneLineError(
            "--mean-time-to-failure: the cost of checkpoints is read from their folder; add --checkpoint DIR"
        )
    if not words:
        raise OneLineError("exec: expected -- and a program, for example: exec -n 4 -- python train.py")
    start = place_on_hosts(Start(hosts=hosts or (), **start_choices))
    launcher = find_launcher(start)
    if on_one_node(launcher, ranks, start, os.environ):
        refuse_many_ranks(ranks)
    interrupt_when_asked_to_end()
    costs = _announce(checkpoint) if checkpoint else None

    def run(ranks: int, start: Start) -> Ending:
        return WatchedProgram(launcher, ranks, start, words, timeout).run()

    ending = run_with_restarts(run, ranks, start, restarts, talk)
    for sentence in costs.sentences(mean_time_to_failure_s) if costs else ():
        talk(sentence)
    if ending.reason:
        talk(f"error: {ending.reason}")
    context.exit(ending.status)


def _announce(folder: Path) -> Any:
    """Make the folder of the checkpoints and tell the ranks; return the account of its costs from now on, or None."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OneLineError(f"--checkpoint {folder}: {error.strerror}") from error
    os.environ[CHECKPOINT_VARIABLE] = str(folder.resolve())
    return next((costs_since(folder) for costs_since in load_offers("checkpoint_costs")), None)
