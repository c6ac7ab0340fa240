"""A launch of groups in which some ranks come late: for whom do the others wait?"""

import threading
import time
from pathlib import Path
from unittest.mock import patch

from measured_launch import measure
from mpi4py import MPI

from allreduce_bench.measuring import cell
from allreduce_bench.watching.whereabouts import where

LATE_S, LOOK_S = 1.0, 0.01


def partners(comm: MPI.Comm, path: Path, name: str) -> tuple[int, str]:
    """Measure with the lower half of the ranks late to the first call; say for whom each of the others waits."""
    sound, seen, has_ended = cell.EXECUTORS["sendrecv"], set(), threading.Event()

    def late(*place, **more):
        call, pauses_s = sound(*place, **more), iter([LATE_S])

        def run() -> None:
            if comm.rank < comm.size // 2:
                time.sleep(next(pauses_s, 0.0))
            call.run()

        return call._replace(run=run)

    def look() -> None:
        while not has_ended.wait(LOOK_S):
            if (step := where()["call"]) and step["source"] is not None:
                seen.add(step["source"])

    looking = threading.Thread(target=look)
    looking.start()
    with patch.dict(cell.EXECUTORS, sendrecv=late):
        status, _ = measure(comm, path, name)
    has_ended.set()
    looking.join()
    return status, str([sorted(of_rank) for of_rank in comm.allgather(seen)[comm.size // 2 :]])
