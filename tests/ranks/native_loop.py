"""The library's all-reduce in the suite's compiled loop, by the definition and with the buffers of another benchmark.

    mpirun -n 2 python native_loop.py '{"sizes": [[4, 100, 1000]], "memory": "pages"}'

For each size, its warm-ups and its calls: the mean over ranks of the mean over calls, each after a barrier, as
osu_allreduce and IMB-MPI1 say it. `memory` is `pages`: two vectors at pages for all sizes, on MPI_COMM_WORLD, as of
OSU; or `library`: MPI_Alloc_mem anew for each longer size, on another communicator, as of IMB. Rank 0 prints a line of
JSON: size in bytes -> seconds, or {"absent": why}.
"""

import json
import mmap
import sys

import numpy as np
from mpi4py import MPI

from allreduce_bench.executing import NATIVES, CommonStart, Unsupported
from allreduce_bench.measuring.schedules import compile_in_turns
from allreduce_bench.schedule.algorithm import Topology


def main() -> None:
    """Measure what the first argument asks for."""
    asked = json.loads(sys.argv[1])
    has_pages = asked["memory"] == "pages"
    comm = MPI.COMM_WORLD if has_pages else MPI.COMM_WORLD.Dup()
    reason = compile_in_turns(comm, Topology.one_node(comm.size), "float32")
    answer: dict = {"absent": reason} if reason else {}
    most = max(size_bytes for size_bytes, _, _ in asked["sizes"])
    send, recv = (pages(most) if has_pages else np.empty(0, "f") for _ in "sr")
    for size_bytes, warmups, calls in [] if reason else asked["sizes"]:
        if send.nbytes < size_bytes:
            send, recv = (np.frombuffer(MPI.Alloc_mem(size_bytes), "f") for _ in "sr")
        send[:], recv[:] = 1, 0
        try:
            answer[size_bytes] = mean_s(send[: size_bytes // 4], recv[: size_bytes // 4], warmups, calls, comm)
        except Unsupported as error:
            answer = {"absent": str(error)}
            break
    if comm.rank == 0:
        print(json.dumps(answer))


def pages(size_bytes: int) -> np.ndarray:
    """A vector at a page, of small pages as posix_memalign gives them: numpy asks for huge ones, which are faster."""
    return np.frombuffer(mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), "f")


def mean_s(send: np.ndarray, recv: np.ndarray, warmups: int, calls: int, comm: MPI.Comm) -> float:
    """The mean over ranks and calls, in seconds. Raises Unsupported."""
    prepared = NATIVES["native@compiled"](send, recv, comm, "sum")
    stamps = prepared.timed_calls(warmups + calls, CommonStart(comm))
    if not np.all(recv == comm.size):
        raise SystemExit("wrong result")
    return (
        comm.allreduce(float(np.mean(stamps[1] - stamps[0], where=np.arange(stamps.shape[1]) >= warmups))) / comm.size
    )


if __name__ == "__main__":
    main()
