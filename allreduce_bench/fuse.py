"""Ends ranks that somebody else started where MPI does not start."""

import os
import select
import signal
from collections.abc import Callable

from .watch import START_FACTOR, speak


def fuse(timeout_s: float, rank: int) -> Callable[[], object]:
    """Ends rank 0, and through its launcher all others, where MPI does not start; call what is returned when it has.

    A child process waits: MPI_Init holds Python's lock, so that no thread could. To be called before there are threads.
    """
    if rank:
        return lambda: None
    heard, lifeline = os.pipe()  # it closes when this process calls, or dies
    if os.fork() == 0:
        os.close(lifeline)
        if not select.select([heard], [], [], START_FACTOR * timeout_s)[0]:
            speak(f"start: MPI did not come up in {START_FACTOR * timeout_s:g} s ({START_FACTOR} times --timeout)")
            os.kill(os.getppid(), signal.SIGKILL)
        os._exit(0)
    os.close(heard)

    def put_out() -> None:
        os.close(lifeline)
        os.wait()

    return put_out
