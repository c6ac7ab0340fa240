"""Program of the two ranks of `doctor`: start MPI, meet, and report places and times in one line of JSON.

A program of its own, `python -m allreduce_bench.measuring.hello`, so that it loads only what it measures.
"""

import json
import os
import sys
from collections.abc import Callable
from time import perf_counter

from ..machine.node import host
from .startup import size_of
from .transport import asked_transport

MARK = "allreduce-bench hello: "  # marks the line among a launcher's other output
CALLS, BLOCKS = 200, 20


def main() -> None:
    """Print the line on each process that is rank 0: on all, if ranks do not see each other."""
    with asked_transport() as answer:
        times = [perf_counter()]
        import mpi4py

        mpi4py.rc.initialize = False  # to time it separately from the import
        from mpi4py import MPI

        times.append(perf_counter())
        level = MPI.Init_thread(MPI.THREAD_MULTIPLE)
    times.append(perf_counter())
    seen = MPI.COMM_WORLD.allreduce(1)
    times.append(perf_counter())
    import_s, init_s, first_s = (later - earlier for earlier, later in zip(times, times[1:]))
    levels = {MPI.THREAD_SINGLE: "single", MPI.THREAD_FUNNELED: "funneled", MPI.THREAD_SERIALIZED: "serialized"}
    empty, self_comm = bytearray(0), MPI.COMM_SELF
    facts = {
        "started": size_of(os.environ),
        "seen": seen,
        "hosts": MPI.COMM_WORLD.gather(host()),
        "transport": answer.words,
        "thread_level": levels.get(level, "multiple"),
        "import_s": import_s,
        "init_s": init_s,
        "first_s": first_s,
        "call_s": _seconds_per_call(self_comm.Get_rank),
        "sendrecv_s": _seconds_per_call(lambda: self_comm.Sendrecv(empty, 0, 0, empty, 0, 0)),
    }
    if MPI.COMM_WORLD.rank == 0:
        print(f"{MARK}{json.dumps(facts)}", file=sys.stdout, flush=True)
    MPI.Finalize()


def _seconds_per_call(call: Callable[[], object]) -> float:
    """Return the seconds per call in the fastest of BLOCKS blocks."""
    best = float("inf")
    for _ in range(BLOCKS):
        begun = perf_counter()
        for _ in range(CALLS):
            call()
        best = min(best, perf_counter() - begun)
    return best / CALLS


if __name__ == "__main__":
    main()
