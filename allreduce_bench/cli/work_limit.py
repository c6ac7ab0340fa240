"""What a command refuses before or ends while it works: too many processes on a node, and generators without end."""

import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os.path import abspath
from pathlib import Path
from types import FrameType

from ..machine.node import cores
from ..runs.files import nearest_name
from ..schedule.algorithm import Algorithm
from .types import OneLineError

MOST_RANKS_HERE, RANKS_OF_A_CORE = 256, 16  # of a launch on this node
GENERATED_S = 5.0  # for the steps of one rank, by a user's generator


def refuse_many_ranks(ranks: int) -> None:
    """Raise OneLineError if so many ranks would exhaust this node's memory: each is a Python process."""
    most = max(MOST_RANKS_HERE, RANKS_OF_A_CORE * cores())
    if ranks > most:
        raise OneLineError(
            f"-n {ranks}: so many processes would exhaust this node's memory, the limit is {most}; start fewer"
        )


def refuse_absent(logs: Iterable[Path]) -> None:
    """Raise OneLineError if there is no such run or log, before anything is loaded that only what reads it needs."""
    for path in logs:
        if not path.exists():
            raise OneLineError(
                f"{path}: no such file or folder; {nearest_name(path)}expected a run, a log of another tool, or a "
                "folder of such logs"
            )


@contextmanager
def generators_that_end(algorithms: Iterable[Algorithm]) -> Iterator[None]:
    """Raise TimeoutError inside a user's generator that for GENERATED_S neither returns nor fails."""
    files = {abspath(algorithm.file) for algorithm in algorithms if algorithm.file}
    if not files:
        yield
        return
    running: list[FrameType | None] = [None]  # the generator at the last look

    def look(number: int, frame: FrameType | None) -> None:
        found = None
        while frame:
            found = frame if abspath(frame.f_code.co_filename) in files else found
            frame = frame.f_back
        if found and found is running[0]:
            raise TimeoutError(f"the generator of one rank has run for {GENERATED_S:g} s or more without an end")
        running[0] = found

    former = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, GENERATED_S, GENERATED_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
