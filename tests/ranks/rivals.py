"""All-reduces against each other in one launch: the same buffers at pages for all, blocks of calls in turns.

    mpirun -n 2 python rivals.py '{"count": 1, "rivals": ["native/native", "ring/sendrecv"], "seconds": 1}'

Rank 0 prints a line of JSON: `times`, rival -> seconds, median over blocks; `ratios`, rival -> median over turns of the
time of the first rival's block over that of its own; `absent`, rival -> why it cannot be measured here. A rival is
`algorithm/executor`, for pipelined executors `algorithm/executor/segment/window` (elements and messages); `plain_ring`
is the loop of plain_ring.py over prepared buffers, `osu_loop` and `pair_loop` are those of osu_loop.c, which `library`
names; `native:ring/native` is the library told to take its ring, anew before each block and until its end, so that the
others meet an untouched library; `gloo` is Gloo's all-reduce. `definition` is `max`: median over calls of the maximum
over ranks, each after a barrier, or `osu`: the mean over ranks and calls.
"""

import ctypes
import json
import sys
import time
from collections.abc import Callable, Sequence
from operator import truediv
from statistics import median

import numpy as np
from mpi4py import MPI
from plain_ring import prepared_ring

from allreduce_bench import executing
from allreduce_bench.algorithms import builtin
from allreduce_bench.executing.memory import PAGES
from allreduce_bench.schedule.algorithm import Topology

BLOCK_S, FEWEST, MOST = 0.02, 1, 500  # of one rival's calls in a row
WARMUPS, TRIED = 2, 3
Timed = Callable[[int], np.ndarray]  # so many calls, each after a barrier -> the seconds of each on this rank


class Absent(Exception):
    """Why a rival cannot be measured here."""


def from_python(run: Callable[[], object], comm: MPI.Comm) -> Timed:
    """Calls from Python."""

    def timed(calls: int) -> np.ndarray:
        times = np.empty(calls)
        for call in range(calls):
            comm.Barrier()
            entry = time.perf_counter()
            run()
            times[call] = time.perf_counter() - entry
        return times

    return timed


def compiled_loop(prepared, comm: MPI.Comm) -> Timed:
    """Calls from compiled code."""
    start = executing.CommonStart(comm)

    def timed(calls: int) -> np.ndarray:
        stamps = prepared.timed_calls(calls, start)
        return stamps[1] - stamps[0]

    return timed


def c_loop(name: str, library: str, send: np.ndarray, recv: np.ndarray, comm: MPI.Comm) -> Timed:
    """Calls from C."""
    if not library:
        raise Absent("no mpicc or no header of this MPI")
    loop = getattr(ctypes.CDLL(library), name)

    def timed(calls: int) -> np.ndarray:
        times = np.empty(calls)
        places = MPI._addressof(comm), send.ctypes.data, recv.ctypes.data, times.ctypes.data
        handle, sendbuf, recvbuf, seconds = map(ctypes.c_void_p, places)
        comm.Barrier()  # its own ones stand after the calls
        if loop(handle, sendbuf, recvbuf, send.size, calls, seconds):
            raise RuntimeError(f"{name} failed")
        return times

    return timed


def from_prepared(prepared, comm: MPI.Comm) -> Timed:
    """Calls of what an executor has bound, in its own way."""
    return compiled_loop(prepared, comm) if prepared.timed_calls else from_python(prepared.run, comm)


def forced_loop(algorithm: str, bind: Callable, send: np.ndarray, recv: np.ndarray, comm: MPI.Comm) -> Timed:
    """Calls of the library told to take `algorithm`, bound anew for each block."""
    from allreduce_bench.executing.forced import forced_to, native_forced  # late: few rows have any

    def timed(calls: int) -> np.ndarray:
        with forced_to(algorithm, comm, 1) as told:
            native_forced(algorithm, send, recv, told, "sum").close()  # one call: the first one may set up memory
            prepared = bind(send, recv, told, "sum")
            times = from_prepared(prepared, comm)(calls)
            prepared.close()
        return times

    timed(1)  # raises Unsupported where the library cannot be told
    return timed


def gloo_loop(send: np.ndarray, recv: np.ndarray, comm: MPI.Comm) -> Timed:
    """Calls of Gloo from Python."""
    try:
        from allreduce_bench.executing.gloo import gloo  # late: it loads torch

        return from_python(gloo(send, recv, comm, "sum").run, comm)
    except (ImportError, executing.Unsupported) as error:
        raise Absent(str(error)) from error


def bound(rival: str, library: str, send: np.ndarray, recv: np.ndarray, comm: MPI.Comm) -> Timed:
    """What times calls of `rival`. Raises Absent."""
    algorithm, executor, segment, window = [*rival.split("/"), "", "", ""][:4]
    if algorithm in ("osu_loop", "pair_loop"):
        return c_loop(algorithm, library, send, recv, comm)
    if algorithm == "plain_ring":
        return from_python(prepared_ring(send, recv, comm), comm)
    if algorithm == "gloo":
        return gloo_loop(send, recv, comm)
    is_library, is_told = algorithm.startswith("native"), algorithm.startswith("native:")
    ways = executing.NATIVES if is_library else executing.EXECUTORS
    ways = {name.removeprefix("native@"): way for name, way in ways.items()}
    if executor not in ways:
        raise Absent(f"there is no executor {executor}")
    try:
        if executor.startswith("compiled"):
            from allreduce_bench.measuring.schedules import compile_in_turns  # late: a second, and needs numba

            if reason := compile_in_turns(comm, Topology.one_node(comm.size), send.dtype.name):
                raise Absent(reason)
        if is_told:
            return forced_loop(algorithm, ways[executor], send, recv, comm)
        arguments = () if is_library else (steps_of(algorithm, executor, segment, send.size, comm),)
        posted = (int(window),) if window else ()
        return from_prepared(ways[executor](*arguments, send, recv, comm, "sum", *posted), comm)
    except (ImportError, executing.Unsupported) as error:
        raise Absent(str(error)) from error


def steps_of(name: str, executor: str, segment: str, count: int, comm: MPI.Comm) -> Sequence:
    """The steps of this rank, cut where a pipelined executor runs an algorithm that has no segments of its own."""
    algorithm = builtin()[name]
    steps = list(algorithm.steps(comm.rank, comm.size, Topology.one_node(comm.size), count, int(segment or 1)))
    if "pipelined" not in executor or algorithm.segmented:
        return steps
    from allreduce_bench.schedule.cut import cut  # late: only pipelined executors need it

    return cut(steps, int(segment))


def in_turns(timed: dict[str, Timed], seconds: float, definition: str, comm: MPI.Comm) -> dict[str, list[float]]:
    """Blocks of calls of each rival in turns for `seconds`, the order turned by one each time: the time of each block.

    Each has one at least, however busy the cores are. Warm-ups are left out.
    """
    calls = {}
    for name, run in timed.items():
        run(WARMUPS)
        call_s = comm.allreduce(float(np.median(run(TRIED))), MPI.MAX)
        calls[name] = int(min(MOST, max(FEWEST, BLOCK_S / call_s)))
    times: dict[str, list[float]] = {name: [] for name in timed}
    names, begun = list(timed), time.perf_counter()
    while names and (not times[names[0]] or comm.bcast(time.perf_counter() - begun < seconds)):
        for name in names:
            times[name].append(block_s(timed[name](calls[name]), definition, comm))
        names = [*names[1:], *names[:1]]
    return times


def block_s(times: np.ndarray, definition: str, comm: MPI.Comm) -> float:
    """One time of the calls of a block, by its definition."""
    if definition == "osu":
        return comm.allreduce(float(times.mean())) / comm.size
    comm.Allreduce(MPI.IN_PLACE, times, MPI.MAX)
    return float(np.median(times))


def main() -> None:
    """Measure what the first argument asks for."""
    asked = json.loads(sys.argv[1])
    comm = MPI.COMM_WORLD.Dup()
    send, recv = PAGES.sendbuf(asked["count"], "f"), PAGES.recvbuf(asked["count"], "f")
    send[:], recv[:] = 1, 0
    timed: dict[str, Timed] = {}
    absent: dict[str, str] = {}
    for rival in asked["rivals"]:
        try:
            timed[rival] = bound(rival, asked.get("library", ""), send, recv, comm)
        except Absent as reason:
            absent[rival] = str(reason)
    blocks = in_turns(timed, asked["seconds"], asked.get("definition", "max"), comm)
    if timed and not np.all(recv == comm.size):
        raise SystemExit("wrong result")
    times = {name: median(of_rival) for name, of_rival in blocks.items()}
    first = next(iter(blocks.values()), [])
    ratios = {name: median(map(truediv, first, of_rival)) for name, of_rival in blocks.items()}
    if comm.rank == 0:
        print(json.dumps({"times": times, "ratios": ratios, "absent": absent}))


if __name__ == "__main__":
    main()
