"""Ranks started by another program: terminated if MPI does not start, then watched by rank 0 and rank 1.

Rank 0 hosts the supervisor, rank 1 notices when rank 0 is gone.
"""

import os
import select
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..runs.command_of_plan import to_continue
from ..runs.folder import RunFolder
from ..runs.plan import Launch
from ..runs.recorder import mark_unfinished_cell
from ..watching.watch import LAST_WORDS_S, START_FACTOR, Watch, print_error

if TYPE_CHECKING:
    from mpi4py import MPI  # importing it would start MPI, before `fuse`

    from .patience import Trouble


def fuse(timeout_s: float, rank: int) -> Callable[[], object]:
    """Terminate rank 0, and through its launcher all others, if they are not watched in time; call the result then.

    A child process waits: MPI_Init holds Python's lock, so that no thread could. To be called before there are threads.
    """
    if rank:
        return lambda: None
    reading_end, lifeline = os.pipe()  # it closes when this process calls, or dies
    if os.fork() == 0:
        os.close(lifeline)
        if not select.select([reading_end], [], [], START_FACTOR * timeout_s)[0]:
            print_error(
                f"start: the ranks were not ready in {START_FACTOR * timeout_s:g} s ({START_FACTOR} times --timeout)"
            )
            os.kill(os.getppid(), signal.SIGKILL)
        os._exit(0)
    os.close(reading_end)

    def put_out() -> None:
        os.close(lifeline)
        os.wait()

    return put_out


def guard(timeout_s: float, comm: "MPI.Comm", folder: RunFolder, launch: Launch, local: bool) -> Watch:
    """Start to watch the ranks of `comm`; if they hang, one of them prints the cause, and all end with status 1.

    `local`: all of them are on one node.
    """
    address = None
    how_to_go_on = f"; finished cells are kept; {to_continue(folder)}"
    if comm.rank == 0:
        from .supervisor import Supervisor, names_of_this_node  # late: rank 0 only

        def end_all(trouble: "Trouble") -> None:
            print_error(trouble.sentence + how_to_go_on)
            if trouble.row:
                mark_unfinished_cell(folder, launch, trouble.row)
            supervisor.end_ranks()
            time.sleep(LAST_WORDS_S)
            os._exit(1)

        supervisor = Supervisor(comm.size, timeout_s, local=local, on_trouble=end_all, in_rank_0=True)
        address = supervisor.address(names_of_this_node())

    def end_without_rank_0(reason: str) -> None:
        if comm.rank == 1:
            print_error(f"rank 0 of {comm.size} {reason}: it died, was stopped, or its node failed{how_to_go_on}")
        time.sleep(LAST_WORDS_S)

    return Watch(comm.bcast(address), comm.rank, end_without_rank_0)
