"""Ranks that somebody else started watch themselves: rank 0 hosts the monitor, rank 1 notices when rank 0 is gone."""

import os
import time

from mpi4py import MPI

from .environment import nodes_of
from .plan import Launch
from .recorder import mark
from .runfolder import RunFolder
from .watch import LAST_WORDS_S, Watch, speak


def guard(comm: MPI.Comm, timeout_s: float, folder: RunFolder, launch: Launch) -> Watch:
    """Begin to watch the ranks of `comm`; when they stand still one of them says why, and all end with status 1."""
    local, address = len(nodes_of(comm).nodes) == 1, None
    kept = f"; finished cells are kept; go on with: run --resume -o {folder.path}"
    if comm.rank == 0:
        from .monitor import Monitor, Trouble, names_of_this_node  # late: rank 0 only

        def alarm(trouble: Trouble) -> None:
            speak(trouble.sentence + kept)
            if trouble.hung:
                reason = trouble.sentence.split(": ", 1)[-1]
                mark(folder, launch.name, {**trouble.hung["facts"], "state": "hung", "reason": reason})
            monitor.end_ranks()
            time.sleep(LAST_WORDS_S)
            os._exit(1)

        monitor = Monitor(comm.size, timeout_s, local=local, alarm=alarm, in_rank_0=True)
        address = monitor.address(names_of_this_node())

    def deserted(why: str) -> None:
        if comm.rank == 1:
            speak(f"rank 0 of {comm.size} {why}: it died, was stopped, or its node is gone{kept}")
        time.sleep(LAST_WORDS_S)

    return Watch(comm.bcast(address), comm.rank, deserted)
