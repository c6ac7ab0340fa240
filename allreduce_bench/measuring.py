"""`python -m allreduce_bench measure …`: what the ranks run that `driver` starts.

No user types this command, so it is read without click, whose modules would cost every rank 200 file-system calls.
"""

import os
import shlex
import sys
from pathlib import Path
from typing import NamedTuple

from .lifeline import COMMAND_VARIABLE, end_with_parent
from .startup import hold_back_mpi, start_mpi


class Words(NamedTuple):
    """The command line of a rank."""

    folder: Path
    launch: str  # its name
    place: str  # number/planned
    started: str  # of the run, seconds since the epoch
    thread_level: str
    deadline: str | None = None  # seconds since the epoch


def read(words: list[str]) -> Words:
    """The words that `driver` wrote: `--name value` pairs, then `--` and the run folder.

    Raises ValueError or TypeError for other words.
    """
    *options, _, folder = words
    names = [name.removeprefix("--").replace("-", "_") for name in options[::2]]
    return Words(Path(folder), **dict(zip(names, options[1::2], strict=True)))


def main() -> None:
    """Measure one planned launch of a run with the ranks that were started."""
    try:
        words = read(sys.argv[2:])
    except (ValueError, TypeError):
        print("error: measure is for the ranks that 'allreduce-bench run' starts; use run", file=sys.stderr)
        sys.exit(2)
    end_with_parent()
    hold_back_mpi()
    from .plan import Launch, Plan
    from .ranks import Place, take_part
    from .runfolder import RunFolder

    start_mpi(words.thread_level)
    folder = RunFolder(words.folder)

    def opened() -> tuple[RunFolder, Plan, Launch]:
        ranks, serial = map(int, words.launch.split("r-"))
        return folder, folder.plan(), Launch(ranks, serial)

    number, planned = map(int, words.place.split("/"))
    status = take_part(
        opened,
        lambda *_: None,
        os.environ.get(COMMAND_VARIABLE, shlex.join(sys.orig_argv)),
        Place(number, planned, float(words.started)),
        None if words.deadline is None else float(words.deadline),
    )
    sys.exit(2 if status == 2 else 0)  # a failed check is in the run: mpirun need not kill the other ranks for it
