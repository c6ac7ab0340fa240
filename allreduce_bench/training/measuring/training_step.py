"""`python -m allreduce_bench.training.measuring.training_step FILE`: steps of a training, measured; JSON from rank 0.

FILE has the JSON of a `Request`; rank 0 reads it. A step computes, and all-reduces what is handed over: each bucket as
soon as the computation before it has ended, behind the computation, beside it in a thread, or beside it by
MPI_Iallreduce with an MPI_Test from time to time; or gradients in Horovod's cycles; or recorded calls, for which
the computation stops. In turn with the steps the computation and the all-reduces are measured alone. Where ranks are in
tensor-parallel groups, the computation stops for the all-reduces of activations within each group, and gradients are
averaged over the ranks that have the same place in all groups.
"""

import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from mpi4py import MPI

from ...executing import Unsupported
from ...runs.dtypes import DtypeError, teach_numpy
from ...runs.groups import groups_of
from ...schedule.algorithm import AlgorithmError
from .one_step import Step, alone, one_step
from .step_binding import make_ready
from .step_buckets import Bucket, Buckets
from .step_gradients import Gradients
from .step_request import TENSOR, Request
from .step_work import Work

MOST_ALONE = 20  # all-reduces of activations that are timed alone in each turn


class Communicators(NamedTuple):
    """Of the ranks that average a gradient, and of those that add activations."""

    data: MPI.Comm
    tensor: MPI.Comm


def communicators(request: Request, comm: MPI.Comm) -> Communicators:
    """Without groups all ranks average gradients. Raises ValueError for groups that do not fit."""
    groups = groups_of(request.groups, comm.size)
    if len(groups) == 1:
        return Communicators(comm, MPI.COMM_SELF)
    number = next(number for number, ranks in enumerate(groups) if comm.rank in ranks)
    return Communicators(comm.Split(groups[number].index(comm.rank), number), comm.Split(number, comm.rank))


def measured(request: Request, comm: MPI.Comm) -> dict[str, Any]:
    """The steps: see `main`. Raises Unsupported, for wrong results, too, AlgorithmError, DtypeError."""
    teach_numpy(request.dtype)
    make_ready(request, comm)
    data, tensor = communicators(request, comm)
    handed_over = Gradients(request, data) if request.cycle_s else Buckets(request, data)
    within = [Bucket(request, request.tensor_count, tensor, "sum")] if request.tensor_count else []
    calls = [one.call for one in within]
    stops = sum(kind == TENSOR for kind, _ in request.actions)
    some = [call.run for call in calls for _ in range(min(MOST_ALONE, stops))]
    work = Work(request.work, comm)
    kept: dict[str, Any] = {"compute_alone_s": [], "alone_s": [], "tensor_alone_s": [], "steps": []}
    for number in range(1 + request.steps):  # the first one warms up
        computed = _together(comm, lambda: one_step(request.actions, work))
        times_s, tensor_times_s = (
            _together(comm, lambda: alone(handed_over.alone)),
            _together(comm, lambda: alone(some)),
        )
        handed_over.prepare()
        steps = _together(comm, lambda: one_step(request.actions, work, handed_over.stream(), *calls))
        _refuse_wrong(comm, handed_over.wrong + sum(one.is_wrong for one in within))
        if number and comm.rank == 0:
            kept["compute_alone_s"].append(max(step.step_s for step in computed))
            kept["alone_s"].append([max(times) for times in zip(*times_s)])
            kept["tensor_alone_s"].append([max(times) for times in zip(*tensor_times_s)])
            kept["steps"].append(_slowest(steps))
    for one in [handed_over, *calls]:
        one.close()
    return kept


def _together(comm: MPI.Comm, act: Callable[[], Any]) -> list[Any]:
    """What `act` gives on all ranks, begun together; on rank 0 only, elsewhere empty."""
    comm.Barrier()
    return comm.gather(act()) or []


def _refuse_wrong(comm: MPI.Comm, wrong: int) -> None:
    """Raises Unsupported on all ranks where one of them has wrong results."""
    if wrong := comm.allreduce(wrong):
        raise Unsupported(f"{wrong} of the vectors of all ranks have wrong results")


def _slowest(steps: list[Step]) -> dict[str, Any]:
    """The step of the rank that took longest, with the most that any rank computed."""
    slowest = max(steps, key=lambda step: step.step_s)
    return {**slowest._asdict(), "compute_s": max(step.compute_s for step in steps)}


def main() -> None:
    """Print `{"compute_alone_s": [...], "alone_s": [[...]], "tensor_alone_s": [[...]], "steps": [...]}`.

    Else `{"refused": reason}`. Of each turn: the computation alone, each all-reduce alone, some of those of activations
    alone, the most over all ranks; the step of the rank that took longest, with the most that any rank computed.
    """
    comm = MPI.COMM_WORLD.Dup()
    try:
        asked = comm.bcast(Path(sys.argv[1]).read_text(encoding="utf-8") if comm.rank == 0 else None)
        kept = measured(Request(**json.loads(asked)), comm)
    except (Unsupported, AlgorithmError, DtypeError) as error:
        kept = {"refused": str(error)}
    except Exception:  # of one rank, for which the others would wait for ever
        traceback.print_exc()
        sys.stderr.flush()
        comm.Abort(1)
    if comm.rank == 0:
        print(json.dumps(kept), flush=True)


if __name__ == "__main__":
    main()
