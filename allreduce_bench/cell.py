"""One cell on all ranks: may it run, is it proved, bind it, check it, measure it."""

import time
from typing import NamedTuple
from zlib import crc32

import numpy as np
from mpi4py import MPI

from . import measure
from .algorithms import Algorithm, AlgorithmError
from .dtypes import is_float
from .execute import EXECUTORS, Prepared, Unsupported, native
from .plan import Cell, Launch, Plan
from .predict import price
from .rendezvous import Refusal
from .schedule import Step
from .topology import Topology
from .units import format_size
from .verify import verify

PROVED_UP_TO = 256  # ranks: beyond, a proof takes longer than the measurement
NOMINAL = {"alpha": 5e-6, "beta": 1e-10, "gamma": 1e-11}  # s, s/byte, s/byte: decide between nearly equal paths only
LEFT_OUT = "the time of --within was used up"
VECTORS = 6  # of the cell's size at a rank's peak: input, output, scratch, reference, and two that come and go
MAX_SEGMENTS = 65536  # of one vector: beyond, the schedule takes longer to prove than the call to run


class Outcome(NamedTuple):
    """What became of a cell: facts for its mark, and its times (None: not measured)."""

    facts: dict
    times: measure.Times | None = None


class Launched(NamedTuple):
    """Where a launch runs: what all ranks agree on."""

    comm: MPI.Comm
    plan: Plan
    launch: Launch
    real: Topology  # as MPI says
    topology: Topology  # the same, or as was declared
    algorithms: dict[str, Algorithm]
    memory_per_rank: int | None  # bytes free on the fullest node, for each of its ranks
    deadline: float | None  # seconds since the epoch; None: none


def outcome_of(launched: Launched, cell: Cell, cells_left: int) -> Outcome:
    """Measure `cell` if it may run and is proved; `cells_left` of the launch share the time that is left."""
    if reason := launched.comm.bcast(_reason_to_skip(launched, cell)):
        return Outcome({"state": "left out" if reason == LEFT_OUT else "skipped", "reason": reason})
    if cell.algorithm == "native":
        return _measured(launched, cell, None, {}, cells_left)
    steps, failure = _own_steps(launched, cell)
    if failures := [why for why in launched.comm.allgather(failure) if why]:
        return Outcome({"state": "refused", "reason": failures[0]})
    algorithm = launched.algorithms[cell.algorithm]
    facts = launched.comm.bcast(_proof(launched, algorithm, cell) if launched.comm.rank == 0 else None)
    facts["schedule_digest"] = _digest(launched.comm, steps)
    if facts.get("state") == "refused":
        return Outcome(facts)
    return _measured(launched, cell, steps, facts, cells_left)


def _own_steps(launched: Launched, cell: Cell) -> tuple[list[Step], str | None]:
    """The steps of this rank, or why a user's generator gave none."""
    algorithm, comm = launched.algorithms[cell.algorithm], launched.comm
    try:
        return algorithm.schedule(comm.rank, comm.size, launched.topology, cell.count, cell.segment or 1), None
    except AlgorithmError as error:
        return [], str(error)


def _reason_to_skip(launched: Launched, cell: Cell) -> str | None:
    need = VECTORS * cell.count * launched.plan.itemsize
    if launched.memory_per_rank is not None and need > launched.memory_per_rank:
        return f"needs {format_size(need)} of buffers a rank, {format_size(launched.memory_per_rank)} are free"
    if launched.deadline is not None and time.time() > launched.deadline:
        return LEFT_OUT
    if cell.segment and cell.count > MAX_SEGMENTS * cell.segment:
        return f"{cell.count // cell.segment} segments are more than {MAX_SEGMENTS}; use a larger --segment"
    if cell.algorithm == "native":
        return None
    return launched.algorithms[cell.algorithm].unmet(launched.comm.size, launched.topology)


def _proof(launched: Launched, algorithm: Algorithm, cell: Cell) -> dict:
    """Prove and price the schedules of all ranks; above PROVED_UP_TO ranks take the declared cost. Rank 0 only."""
    size, itemsize = launched.comm.size, launched.plan.itemsize
    if size > PROVED_UP_TO:
        cost = algorithm.cost(size, launched.topology, cell.count, cell.segment or 1)
        return {"proved": False, **_path_facts(cost.messages, cost.elements, cost.reduced, itemsize)}
    try:
        schedules = algorithm.schedules(size, launched.topology, cell.count, cell.segment or 1)
        proof = verify(schedules, cell.count)
    except (AlgorithmError, Refusal) as refusal:
        return {"state": "refused", "reason": str(refusal), "proved": False}
    path = price(schedules, NOMINAL["alpha"], NOMINAL["beta"] * itemsize, NOMINAL["gamma"] * itemsize)
    return {
        "proved": True,
        "steps": proof.steps,
        "sent_nbytes": proof.sent * itemsize,
        **_path_facts(path.messages, path.elements, path.reduced, itemsize),
    }


def _path_facts(messages: int, elements: int, reduced: int, itemsize: int) -> dict:
    return {
        "path_messages": messages,
        "path_nbytes": elements * itemsize,
        "path_reduced_nbytes": reduced * itemsize,
    }


def _digest(comm: MPI.Comm, steps: list[Step]) -> str | None:
    digests = comm.gather(crc32(repr(steps).encode()))
    return None if digests is None else f"{crc32(repr(digests).encode()):08x}"


def _measured(launched: Launched, cell: Cell, steps: list[Step] | None, facts: dict, cells_left: int) -> Outcome:
    comm, plan = launched.comm, launched.plan
    sendbuf, recvbuf = np.empty(cell.count, plan.dtype), np.empty(cell.count, plan.dtype)
    call, unsupported = _bound(steps, sendbuf, recvbuf, comm, plan.op, cell.executor)
    if reasons := [why for why in comm.allgather(unsupported) if why]:
        return Outcome({**facts, "state": "skipped", "reason": reasons[0]})
    try:
        wrong = measure.wrong_elements(call, sendbuf, recvbuf, comm, plan.op)
        if wrong:
            return Outcome({**facts, "state": "wrong", "wrong": wrong})
        if is_float(plan.dtype):
            facts["same_bits"] = measure.same_bits(call, sendbuf, recvbuf, comm, plan.seed)
        times = measure.repeat(call.run, comm, _budget(launched, cells_left))
        wrong = measure.wrong_elements(call, sendbuf, recvbuf, comm, plan.op)
    finally:
        call.close()
    facts |= {"state": "wrong" if wrong else "done", "wrong": wrong, "repetitions": times.time_s.size - times.warmups}
    return Outcome(facts, times)


def _bound(steps, sendbuf, recvbuf, comm: MPI.Comm, op: str, executor: str) -> tuple[Prepared, str | None]:
    """The all-reduce bound to its buffers, or why this rank's MPI cannot do it."""
    try:
        if steps is None:
            return native(sendbuf, recvbuf, comm, op), None
        return EXECUTORS[executor](steps, sendbuf, recvbuf, comm, op), None
    except Unsupported as error:
        return Prepared(lambda: None, lambda: None), str(error)


def _budget(launched: Launched, cells_left: int) -> measure.Budget:
    """An equal share of what is left of the launch's time, at most the plan's time for a cell."""
    plan = launched.plan
    if launched.deadline is None:
        return measure.Budget(plan.warmups, plan.iters, plan.cell_time_s)
    left = max(0.0, launched.deadline - time.time())
    share = min(plan.cell_time_s, left / cells_left)
    return measure.Budget(plan.warmups, plan.iters, share, time.perf_counter() + left)
