"""Command line of a run's ranks: `python -m allreduce_bench measure …`.

Users do not type it, so it is parsed without click, whose modules would cost every rank 200 file-system calls.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..runs.folder import RunFolder
from ..runs.plan import Launch
from ..watching.lifeline import COMMAND_VARIABLE, KILL, MONITOR_VARIABLE, WarningFlag, end_with_parent
from ..watching.progress import LaunchPosition
from ..watching.watch import Watch
from .started import Opened, StartedRanks
from .startup import OtherLauncher, hold_back_mpi, rank_of, start_mpi
from .transport import asked_transport


class RankArguments(NamedTuple):
    """Command line of a rank."""

    folder: Path
    launch: str  # its name
    number: int  # of the launch, from 1
    planned: int  # launches
    started: float  # of the run, seconds since the epoch
    thread_level: str
    deadline: float | None = None  # seconds since the epoch
    skip_hung: bool = False

    def position(self) -> LaunchPosition:
        """Return the position of the launch in its run."""
        ranks = Launch.named(self.launch).ranks
        return LaunchPosition(self.number, self.planned, self.started, ranks, self.deadline)

    def words(self) -> list[str]:
        """Return the words that `parse_arguments` reads: options, then `--` and the run folder."""
        launch = ["--launch", self.launch, "--place", f"{self.number}/{self.planned}"]
        options = [*launch, "--started", f"{self.started:.0f}", "--thread-level", self.thread_level]
        options += ["--deadline", f"{self.deadline:.1f}"] if self.deadline is not None else []
        return [*options, *["--skip-hung"] * self.skip_hung, "--", str(self.folder)]  # the folder may begin with a dash


def parse_arguments(words: list[str]) -> RankArguments:
    """Parse the words of a rank's command line. Raises ValueError or KeyError for others."""
    *options, _, folder = words
    skip_hung = "--skip-hung" in options[-1:]
    pairs = options[:-1] if skip_hung else options
    values = dict(zip(pairs[::2], pairs[1::2], strict=True))
    number, planned = map(int, values["--place"].split("/"))
    deadline = float(values["--deadline"]) if "--deadline" in values else None
    started, level = float(values["--started"]), values["--thread-level"]
    return RankArguments(Path(folder), values["--launch"], number, planned, started, level, deadline, skip_hung)


@dataclass(kw_only=True)
class RanksOfRun(StartedRanks):
    """Ranks that `run` started: it watches them, and prints the table after the last launch."""

    arguments: RankArguments

    def open_run(self) -> Opened:
        folder = RunFolder(self.arguments.folder)
        return folder, folder.plan(), Launch.named(self.arguments.launch)


def main() -> None:
    """Measure one planned launch of a run with the ranks that were started."""
    try:
        arguments = parse_arguments(sys.argv[2:])
    except (ValueError, KeyError):
        print("error: measure is for the ranks that 'allreduce-bench run' starts; use run", file=sys.stderr)
        sys.exit(2)
    end_with_parent(KILL)  # a stopped rank would defer any other signal
    warning = WarningFlag()
    warning.listen()  # a scheduler may signal all processes of a job
    watch = Watch(os.environ.get(MONITOR_VARIABLE, ""), rank_of(os.environ), on_warning=warning.set)
    status = _take_part(arguments, warning, watch)
    sys.exit(2 if status == 2 else 0)  # a failed check is recorded in the run: mpirun need not kill the other ranks


def _take_part(arguments: RankArguments, warning: WarningFlag, watch: Watch) -> int:
    """Start MPI and measure; return the exit status of `rank.take_part`."""
    hold_back_mpi()
    from .rank import take_part  # it imports MPI

    watch.say("starting")
    try:
        with asked_transport() as answer:
            start_mpi(arguments.thread_level)
    except OtherLauncher as error:
        watch.say("failed", why=str(error), pause_s=0.0, refused=True)
        return 2
    watch.say("started")
    start = RanksOfRun(
        arguments=arguments,
        command=os.environ.get(COMMAND_VARIABLE) or " ".join(sys.orig_argv),
        position=arguments.position(),
        skip_hung=arguments.skip_hung,
        transport=answer.words,
        warning=warning,
        watch=watch,
    )
    return take_part(start)
