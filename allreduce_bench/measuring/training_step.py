"""`python -m allreduce_bench.measuring.training_step REQUEST`: steps of a training, measured; JSON from rank 0.

REQUEST is the JSON of `Request`. A step computes, and all-reduces a vector for each bucket as soon as the computation
before it has ended: behind the computation, beside it in a thread, or beside it by MPI_Iallreduce with an MPI_Test from
time to time. In turn with the steps the computation and the all-reduces are measured alone.
"""

import json
import sys
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from ..algorithms import builtin
from ..executing import EXECUTORS, NATIVES, Prepared, Unsupported, division, native_datatype
from ..runs.cell import COMPILED
from ..runs.dtypes import DtypeError, teach_numpy
from ..schedule.algorithm import AlgorithmError
from ..schedule.cut import cut_schedules
from ..schedule.topology import Topology
from .step_streams import STREAMS, THREAD, Bound, Stream
from .step_work import Work

NATIVE = "native"


class Request(NamedTuple):
    """What is measured. Seconds are those of the computation, which every rank does."""

    counts: list[int]  # elements of each bucket
    gaps_s: list[float]  # of the backward pass before each bucket is ready
    before_s: float  # before the backward pass of the last pass
    dtype: str = "float32"
    algorithm: str = NATIVE
    executor: str = NATIVE  # of `executing.EXECUTORS`, or native
    segment: int = 16384  # elements of a segment, where messages are cut
    window: int = 2
    work: str = "spin"  # or matmul, sleep
    overlap: str = THREAD
    steps: int = 5


class Place(NamedTuple):
    """The all-reduce of a bucket, and where its result stands."""

    bound: Bound
    recvbuf: np.ndarray


class Step(NamedTuple):
    """What one rank saw of a step, seconds from its beginning."""

    step_s: float
    phases: list[tuple[str, float, float]]
    transfers: list[tuple[float, float, float]]  # ready, beginning, end

    @property
    def compute_s(self) -> float:
        """How long its computation took."""
        return sum(end - start for _, start, end in self.phases)


def bind(request: Request, count: int, comm: MPI.Comm) -> Place:
    """The average of vectors of `count` elements; rank r contributes r + 1. Raises Unsupported."""
    sendbuf, recvbuf = np.full(count, comm.rank + 1, request.dtype), np.zeros(count, request.dtype)
    if request.algorithm != NATIVE:
        return Place(Bound(_bound_steps(request, sendbuf, recvbuf, comm), None), recvbuf)
    datatype = native_datatype(request.dtype)
    call = NATIVES[request.executor](sendbuf, recvbuf, comm, "avg")
    send, recv = ([MPI.buffer(array), count, datatype] for array in (sendbuf, recvbuf))
    posted = Bound(call, lambda: comm.Iallreduce(send, recv, MPI.SUM), division(recvbuf, comm, "avg"))
    return Place(posted, recvbuf)


def _bound_steps(request: Request, sendbuf: np.ndarray, recvbuf: np.ndarray, comm: MPI.Comm) -> Prepared:
    """The steps of an algorithm, cut and posted ahead by executors that do so where the cut steps are proved."""
    algorithm, topology = builtin()[request.algorithm], Topology.one_node(comm.size)
    if not request.executor.endswith("pipelined") or algorithm.segmented:
        steps = algorithm.schedule(comm.rank, comm.size, topology, sendbuf.size, request.segment)
        window = [request.window] if request.executor.endswith("pipelined") else []
        return EXECUTORS[request.executor](steps, sendbuf, recvbuf, comm, "avg", *window)
    whole = algorithm.schedules(comm.size, topology, sendbuf.size, request.segment)
    schedules, run_whole, _ = cut_schedules(whole, sendbuf.size, request.segment)
    window = [1 if run_whole else request.window]  # whole messages posted ahead would take as many vectors of scratch
    return EXECUTORS[request.executor](schedules[comm.rank], sendbuf, recvbuf, comm, "avg", *window)


def one_step(request: Request, work: Work, stream: Stream | None) -> Step:
    """One step of this rank; without a stream its computation alone."""
    begun = perf_counter()
    phases: list[tuple[str, float, float]] = []
    ready: list[float] = []
    poke = stream.poke if stream else None

    def compute(kind: str, time_s: float) -> None:
        start = perf_counter() - begun
        work.do(time_s, poke)
        phases.append((kind, start, perf_counter() - begun))

    compute("forward", request.before_s)
    for number, gap_s in enumerate(request.gaps_s):
        compute("backward", gap_s)
        ready.append(perf_counter() - begun)
        if stream:
            stream.post(number)
    if stream:
        stream.wait()
    spans = [(start - begun, end - begun) for start, end in stream.spans] if stream else []
    return Step(perf_counter() - begun, phases, [(at, *span) for at, span in zip(ready, spans)])


def alone(bound: Sequence[Bound]) -> list[float]:
    """The times of the all-reduces without any computation, one by one."""
    times_s = []
    for one in bound:
        begun = perf_counter()
        one.call.run()
        times_s.append(perf_counter() - begun)
    return times_s


def measured(request: Request, comm: MPI.Comm) -> dict[str, Any]:
    """The steps: see `main`. Raises Unsupported, AlgorithmError, DtypeError."""
    teach_numpy(request.dtype)
    _make_ready(request, comm)
    places = [bind(request, count, comm) for count in request.counts]
    bound, work = [place.bound for place in places], Work(request.work, comm)
    alone(bound)
    wrong = sum(bool(np.any(place.recvbuf != (comm.size + 1) / 2)) for place in places)
    if wrong := comm.allreduce(wrong):
        raise Unsupported(f"{wrong} buckets have wrong averages")
    kept: dict[str, Any] = {"compute_alone_s": [], "alone_s": [], "steps": []}
    for number in range(1 + request.steps):  # the first one warms up
        turn = [_together(comm, lambda: one_step(request, work, None)), _together(comm, lambda: alone(bound))]
        turn.append(_together(comm, lambda: one_step(request, work, STREAMS[request.overlap](bound))))
        if number and comm.rank == 0:
            computed, times_s, steps = turn
            kept["compute_alone_s"].append(max(step.step_s for step in computed))
            kept["alone_s"].append([max(times) for times in zip(*times_s)])
            slowest = max(steps, key=lambda step: step.step_s)
            kept["steps"].append({**slowest._asdict(), "compute_s": max(step.compute_s for step in steps)})
    for one in bound:
        one.call.close()
    return kept


def _together(comm: MPI.Comm, act: Callable[[], Any]) -> list[Any]:
    """What `act` gives on all ranks, begun together; on rank 0 only, elsewhere empty."""
    comm.Barrier()
    return comm.gather(act()) or []


def _make_ready(request: Request, comm: MPI.Comm) -> None:
    """Compile what is compiled before it is timed. Raises Unsupported."""
    if request.executor in COMPILED:
        from .compiling import compile_in_turns  # late: few ranks compile

        if reason := compile_in_turns(comm, Topology.one_node(comm.size), request.dtype):
            raise Unsupported(reason)


def main() -> None:
    """Print `{"compute_alone_s": [...], "alone_s": [[...]], "steps": [...]}`, or `{"refused": reason}`.

    Of each turn: the computation alone and each all-reduce alone, the most over all ranks; the step of the rank that
    took longest, with the most that any rank computed.
    """
    comm = MPI.COMM_WORLD.Dup()
    try:
        kept = measured(Request(**json.loads(sys.argv[1])), comm)
    except (Unsupported, AlgorithmError, DtypeError) as error:
        kept = {"refused": str(error)}
    if comm.rank == 0:
        print(json.dumps(kept), flush=True)


if __name__ == "__main__":
    main()
