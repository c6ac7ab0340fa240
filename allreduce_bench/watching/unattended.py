"""Ranks that somebody else started: ended where MPI does not start, then watched by themselves.

Rank 0 hosts the supervisor, rank 1 notices when rank 0 is gone.
"""

import os
import select
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..runs.folder import RunFolder
from ..runs.plan import Launch
from ..runs.recorder import mark
from .watch import LAST_WORDS_S, START_FACTOR, Watch, speak

if TYPE_CHECKING:
    from mpi4py import MPI  # the import would start MPI, which `fuse` comes before


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


def guard(comm: "MPI.Comm", timeout_s: float, folder: RunFolder, launch: Launch, local: bool) -> Watch:
    """Begin to watch the ranks of `comm`; when they stand still one of them says why, and all end with status 1.

    `local`: all of them are on one node.
    """
    address = None
    kept = f"; finished cells are kept; go on with: run --resume -o {folder.path}"
    if comm.rank == 0:
        from .patience import Trouble
        from .supervisor import Supervisor, names_of_this_node  # late, both: rank 0 only

        def alarm(trouble: Trouble) -> None:
            speak(trouble.sentence + kept)
            if trouble.row:
                mark(folder, launch, trouble.row)
            monitor.end_ranks()
            time.sleep(LAST_WORDS_S)
            os._exit(1)

        monitor = Supervisor(comm.size, timeout_s, local=local, alarm=alarm, in_rank_0=True)
        address = monitor.address(names_of_this_node())

    def deserted(why: str) -> None:
        if comm.rank == 1:
            speak(f"rank 0 of {comm.size} {why}: it died, was stopped, or its node is gone{kept}")
        time.sleep(LAST_WORDS_S)

    return Watch(comm.bcast(address), comm.rank, deserted)
