"""`python -m allreduce_bench measure …`: what the ranks of a run execute.

No user types this command, so it is read without click, whose modules would cost every rank 200 file-system calls.
"""

import os
import sys
from pathlib import Path
from typing import NamedTuple

from ..watching.lifeline import COMMAND_VARIABLE, KILL, MONITOR_VARIABLE, WarningFlag, end_with_parent
from ..watching.watch import Watch
from .startup import hold_back_mpi, rank_of, start_mpi
from .transport import asked_transport


class RankArguments(NamedTuple):
    """The command line of a rank."""

    folder: Path
    launch: str  # its name
    place: str  # number/planned, both from 1
    started: str  # of the run, seconds since the epoch
    thread_level: str
    deadline: str | None = None  # seconds since the epoch
    skip_hung: str | None = None  # whatever it says


def parse_arguments(words: list[str]) -> RankArguments:
    """The command line that the launcher was given: `--name value` pairs, then `--` and the run folder.

    Raises ValueError or TypeError for other words.
    """
    *options, _, folder = words
    names = [name.removeprefix("--").replace("-", "_") for name in options[::2]]
    return RankArguments(Path(folder), **dict(zip(names, options[1::2], strict=True)))


def main() -> None:
    """Measure one planned launch of a run with the ranks that were started."""
    try:
        arguments = parse_arguments(sys.argv[2:])
    except (ValueError, TypeError):
        print("error: measure is for the ranks that 'allreduce-bench run' starts; use run", file=sys.stderr)
        sys.exit(2)
    end_with_parent(KILL)  # a rank that was stopped would keep any other signal for later
    warning = WarningFlag()
    warning.listen()  # a scheduler may send it to all processes of a job
    watch = Watch(os.environ.get(MONITOR_VARIABLE, ""), rank_of(os.environ), on_warning=warning.set)
    status = _take_part(arguments, warning, watch)
    sys.exit(2 if status == 2 else 0)  # a failed check is in the run: mpirun need not kill the other ranks for it


def _take_part(arguments: RankArguments, warning: WarningFlag, watch: Watch) -> int:
    """Start MPI and measure; the exit status of `rank.take_part`."""
    hold_back_mpi()
    from ..runs.folder import RunFolder
    from ..runs.plan import Launch
    from ..watching.progress import LaunchPosition
    from .rank import Task, take_part

    watch.say("starting")
    with asked_transport() as answer:
        start_mpi(arguments.thread_level)
    watch.say("started")
    folder, deadline = RunFolder(arguments.folder), None if arguments.deadline is None else float(arguments.deadline)
    number, planned = map(int, arguments.place.split("/"))
    launch = Launch.named(arguments.launch)
    task = Task(
        open_run=lambda: (folder, folder.plan(), launch),
        close_run=lambda *_: None,
        command=os.environ.get(COMMAND_VARIABLE) or " ".join(sys.orig_argv),
        place=LaunchPosition(number, planned, float(arguments.started), launch.ranks, deadline),
        skip_hung=bool(arguments.skip_hung),
        transport=answer.words,
        warning=warning,
        watch=watch,
    )
    return take_part(task)
