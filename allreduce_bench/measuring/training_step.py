"""`python -m allreduce_bench.measuring.training_step REQUEST`: steps of a training, measured; JSON from rank 0.

REQUEST is the JSON of `Request`. A step computes, and all-reduces a vector for each bucket as soon as the computation
before it has ended: behind the computation, beside it in a thread, or beside it by MPI_Iallreduce with an MPI_Test from
time to time. In turn with the steps the computation and the all-reduces are measured alone. Where ranks are in
tensor-parallel groups, the computation stops for the all-reduces of activations within each group, and gradients are
averaged over the ranks that have the same place in all groups.
"""

import json
import sys
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from ..algorithms import builtin
from ..executing import EXECUTORS, NATIVES, Prepared, Unsupported, division, native_datatype
from ..runs.cell import COMPILED
from ..runs.dtypes import DtypeError, teach_numpy
from ..runs.groups import groups_of
from ..runs.schema import NO_GROUPS
from ..schedule.algorithm import AlgorithmError
from ..schedule.cut import cut_schedules
from ..schedule.topology import Topology
from .step_streams import STREAMS, THREAD, Bound, Stream
from .step_work import Work

NATIVE = "native"
BUCKET, TENSOR = "bucket", "tensor"  # actions that do not compute
MOST_ALONE = 20  # all-reduces of activations that are timed alone in each turn


class Request(NamedTuple):
    """What is measured. Seconds are those of the computation, which every rank does."""

    counts: list[int]  # elements of each bucket
    actions: list[tuple[str, float]]  # forward or backward for so long; bucket: the next one is ready; tensor: add
    dtype: str = "float32"
    algorithm: str = NATIVE
    executor: str = NATIVE  # of `executing.EXECUTORS`, or native
    segment: int = 16384  # elements of a segment, where messages are cut
    window: int = 2
    work: str = "spin"  # or matmul, sleep
    overlap: str = THREAD
    steps: int = 5
    groups: str = NO_GROUPS  # of tensor parallelism, as `runs.groups` has it
    tensor_count: int = 0  # elements of its all-reduces


class Communicators(NamedTuple):
    """Of the ranks that average a gradient, and of those that add activations."""

    data: MPI.Comm
    tensor: MPI.Comm


class Bindings(NamedTuple):
    """The all-reduces of the buckets, and that of activations; None: there is none."""

    buckets: list[Bound]
    tensor: Prepared | None = None


class Place(NamedTuple):
    """The all-reduce of a bucket, and where its result stands."""

    bound: Bound
    recvbuf: np.ndarray


class Step(NamedTuple):
    """What one rank saw of a step, seconds from its beginning."""

    step_s: float
    phases: list[tuple[str, float, float]]
    transfers: list[tuple[float, float, float]]  # ready, beginning, end
    stalls: list[tuple[float, float]]  # the all-reduces of activations

    @property
    def compute_s(self) -> float:
        """How long its computation took."""
        return sum(end - start for _, start, end in self.phases)


def communicators(request: Request, comm: MPI.Comm) -> Communicators:
    """Without groups all ranks average gradients. Raises ValueError for groups that do not fit."""
    groups = groups_of(request.groups, comm.size)
    if len(groups) == 1:
        return Communicators(comm, MPI.COMM_SELF)
    number = next(number for number, ranks in enumerate(groups) if comm.rank in ranks)
    return Communicators(comm.Split(groups[number].index(comm.rank), number), comm.Split(number, comm.rank))


def bind(request: Request, count: int, comm: MPI.Comm, op: str = "avg") -> Place:
    """The average, or the sum, of vectors of `count` elements; rank r contributes r + 1. Raises Unsupported."""
    sendbuf, recvbuf = np.full(count, comm.rank + 1, request.dtype), np.zeros(count, request.dtype)
    if request.algorithm != NATIVE:
        return Place(Bound(_bound_steps(request, sendbuf, recvbuf, comm, op), None), recvbuf)
    datatype = native_datatype(request.dtype)
    call = NATIVES[request.executor](sendbuf, recvbuf, comm, op)
    send, recv = ([MPI.buffer(array), count, datatype] for array in (sendbuf, recvbuf))
    posted = Bound(call, lambda: comm.Iallreduce(send, recv, MPI.SUM), division(recvbuf, comm, op))
    return Place(posted, recvbuf)


def _bound_steps(request: Request, sendbuf: np.ndarray, recvbuf: np.ndarray, comm: MPI.Comm, op: str) -> Prepared:
    """The steps of an algorithm, cut and posted ahead by executors that do so where the cut steps are proved."""
    algorithm, topology = builtin()[request.algorithm], Topology.one_node(comm.size)
    if not request.executor.endswith("pipelined") or algorithm.segmented:
        steps = algorithm.schedule(comm.rank, comm.size, topology, sendbuf.size, request.segment)
        window = [request.window] if request.executor.endswith("pipelined") else []
        return EXECUTORS[request.executor](steps, sendbuf, recvbuf, comm, op, *window)
    whole = algorithm.schedules(comm.size, topology, sendbuf.size, request.segment)
    schedules, run_whole, _ = cut_schedules(whole, sendbuf.size, request.segment)
    window = [1 if run_whole else request.window]  # whole messages posted ahead would take as many vectors of scratch
    return EXECUTORS[request.executor](schedules[comm.rank], sendbuf, recvbuf, comm, op, *window)


def one_step(request: Request, work: Work, stream: Stream | None = None, tensor: Prepared | None = None) -> Step:
    """One step of this rank; without a stream and `tensor` its computation alone."""
    begun = perf_counter()
    phases: list[tuple[str, float, float]] = []
    stalls: list[tuple[float, float]] = []
    ready: list[float] = []
    for kind, time_s in request.actions:
        start = perf_counter() - begun
        if kind == BUCKET:
            ready.append(start)
            if stream:
                stream.post(len(ready) - 1)
        elif kind == TENSOR:
            if tensor:
                tensor.run()
                stalls.append((start, perf_counter() - begun))
        else:
            work.do(time_s, stream.poke if stream else None)
            phases.append((kind, start, perf_counter() - begun))
    if stream:
        stream.wait()
    spans = [(start - begun, end - begun) for start, end in stream.spans] if stream else []
    return Step(perf_counter() - begun, phases, [(at, *span) for at, span in zip(ready, spans)], stalls)


def alone(calls: Iterable[Prepared]) -> list[float]:
    """The times of the all-reduces without any computation, one by one."""
    times_s = []
    for call in calls:
        begun = perf_counter()
        call.run()
        times_s.append(perf_counter() - begun)
    return times_s


def bind_all(request: Request, comm: MPI.Comm) -> Bindings:
    """All of a step, each tried once. Raises Unsupported, for wrong results, too."""
    data, tensor = communicators(request, comm)
    places = [bind(request, count, data) for count in request.counts]
    within = [bind(request, request.tensor_count, tensor, "sum")] if request.tensor_count else []
    alone(place.bound.call for place in [*places, *within])
    wrong = sum(bool(np.any(place.recvbuf != (data.size + 1) / 2)) for place in places)
    wrong += sum(bool(np.any(place.recvbuf != tensor.size * (tensor.size + 1) / 2)) for place in within)
    if wrong := comm.allreduce(wrong):
        raise Unsupported(f"{wrong} all-reduces have wrong results")
    return Bindings([place.bound for place in places], within[0].bound.call if within else None)


def measured(request: Request, comm: MPI.Comm) -> dict[str, Any]:
    """The steps: see `main`. Raises Unsupported, AlgorithmError, DtypeError."""
    teach_numpy(request.dtype)
    _make_ready(request, comm)
    (bound, tensor), work = bind_all(request, comm), Work(request.work, comm)
    calls = [one.call for one in bound]
    some = [tensor] * min(MOST_ALONE, sum(kind == TENSOR for kind, _ in request.actions)) if tensor else []
    kept: dict[str, Any] = {"compute_alone_s": [], "alone_s": [], "tensor_alone_s": [], "steps": []}
    for number in range(1 + request.steps):  # the first one warms up
        computed = _together(comm, lambda: one_step(request, work))
        times_s, tensor_times_s = _together(comm, lambda: alone(calls)), _together(comm, lambda: alone(some))
        steps = _together(comm, lambda: one_step(request, work, STREAMS[request.overlap](bound), tensor))
        if number and comm.rank == 0:
            kept["compute_alone_s"].append(max(step.step_s for step in computed))
            kept["alone_s"].append([max(times) for times in zip(*times_s)])
            kept["tensor_alone_s"].append([max(times) for times in zip(*tensor_times_s)])
            slowest = max(steps, key=lambda step: step.step_s)
            kept["steps"].append({**slowest._asdict(), "compute_s": max(step.compute_s for step in steps)})
    for call in [*calls, *some[:1]]:
        call.close()
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
    """Print `{"compute_alone_s": [...], "alone_s": [[...]], "tensor_alone_s": [[...]], "steps": [...]}`.

    Else `{"refused": reason}`. Of each turn: the computation alone, the all-reduce of each bucket alone, some of those
    of activations alone, the most over all ranks; the step of the rank that
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
