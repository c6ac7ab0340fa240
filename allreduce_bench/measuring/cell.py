"""One cell on all ranks: may it run, is it proved, bind it, check it, measure it."""

import time
from collections.abc import Callable
from contextlib import closing, nullcontext
from functools import partial
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from ..runs.dtypes import is_float
from ..runs.plan import Cell
from ..runs.schema import FLOOR
from ..schedule import Step
from ..watching.whereabouts import doing
from . import repeat, same_bits
from .admission import after_first_call, reason_to_skip
from .budget import share
from .calls import CellTimes
from .context import Context
from .execute import EXECUTORS, Prepared, Unsupported, floor, native
from .schedules import proved_steps

Bind = Callable[[np.ndarray, np.ndarray], Prepared]


class CellOutcome(NamedTuple):
    """What became of a cell: facts for its mark, and its times (None: not measured)."""

    facts: dict
    times: CellTimes | None = None


def outcome_of(launched: Context, cell: Cell, cells_left: int) -> CellOutcome:
    """Measure `cell` if it may run and is proved; `cells_left` all-reduces share the time that is left."""
    if refusal := launched.comm.bcast(reason_to_skip(launched, cell)):
        return CellOutcome(refusal)
    if cell.executor == FLOOR:
        return _floor(launched, cell, cells_left)
    if cell.algorithm == "native":
        return _measured(launched, cell, None, {}, cells_left)
    steps, facts = proved_steps(launched, cell)
    if facts.get("state") == "refused":
        return CellOutcome(facts)
    return _measured(launched, cell, steps, facts, cells_left)


def _measured(launched: Context, cell: Cell, steps: list[Step] | None, facts: dict, cells_left: int) -> CellOutcome:
    comm, us, plan = launched.comm, launched.party, launched.plan
    sendbuf, recvbuf = np.empty(cell.count, plan.dtype), np.empty(cell.count, plan.dtype)
    bind = partial(_bound, cell, steps, us.comm, plan.op)
    call, unsupported = _tried(bind, sendbuf, recvbuf)
    if reasons := [why for why in comm.allgather(unsupported) if why]:
        return CellOutcome({**facts, "state": "skipped", "reason": reasons[0]})
    try:
        first = _checked(launched, call, sendbuf, recvbuf)
        if first.wrong:
            return CellOutcome({**facts, "state": "wrong", "wrong": first.wrong})
        if refusal := comm.bcast(after_first_call(launched, cell, first.time_s)):
            return CellOutcome(facts | refusal)
        if is_float(plan.dtype):
            facts |= _bits(launched, call, sendbuf, recvbuf, facts.get("promised_depth", us.comm.size - 1))
            if facts.get("wrong"):
                return CellOutcome({**facts, "state": "wrong"})
        with _turns(launched, cell, bind, sendbuf, len(steps or ())) as rotation:
            before = launched.counters()
            times = _repeated(launched, cell, rotation.turn if rotation else lambda: call.run, cells_left)
            facts["wire"] = _wire(launched, before, times)
            facts["nccl_tests_s"] = None if rotation else _back_to_back(launched, call)  # a loop would be warm
            timed, sent, received = rotation.places[-1] if rotation else (call, sendbuf, recvbuf)
            wrong = _checked(launched, timed, sent, received).wrong
    finally:
        call.close()
    facts["wrong"] = wrong
    if wrong:
        return CellOutcome({**_ended(facts, times).facts, "state": "wrong", "reason": None}, times)
    return _ended(facts, times)


def _floor(launched: Context, cell: Cell, cells_left: int) -> CellOutcome:
    """Measure a floor like any cell; it has no schedule to be proved, and no result to be checked."""
    comm, plan = launched.comm, launched.plan
    sendbuf, recvbuf = np.ones(cell.count, plan.dtype), np.ones(cell.count, plan.dtype)  # no product outgrows its type
    bind = partial(_bound, cell, None, comm, plan.op)
    call, unsupported = _tried(bind, sendbuf, recvbuf)
    if reasons := [why for why in comm.allgather(unsupported) if why]:
        return CellOutcome({"state": "skipped", "reason": reasons[0]})
    with _turns(launched, cell, bind, sendbuf, 1) as rotation:
        times = _repeated(launched, cell, rotation.turn if rotation else lambda: call.run, cells_left)
    return _ended({}, times)


def _repeated(launched: Context, cell: Cell, turn: repeat.Turn, cells_left: int) -> CellTimes:
    left_s = None if launched.deadline is None else max(0.0, launched.deadline - time.time())
    budget = share(launched.plan, cell, cells_left, left_s, time.perf_counter())
    return repeat.repeat(turn, launched.comm, budget, launched.sync, launched.clock, launched.groups)


def _checked(launched: Context, call: Prepared, sendbuf, recvbuf) -> repeat.CheckedCall:
    """One checked call of all groups at once, each on inputs of its own, so that a leak between them is seen."""
    comm = launched.party.comm
    check = repeat.check(call, sendbuf, recvbuf, comm, launched.plan.op, launched.number)
    if launched.group is None:
        return check
    return check._replace(wrong=launched.comm.allreduce(check.wrong if comm.rank == 0 else 0))


def _ended(facts: dict, times: CellTimes) -> CellOutcome:
    """A cell whose results are right, or need not be: done, if any of its calls is valid."""
    facts = {**facts, **times.facts, "repetitions": times.number - times.warmups}
    if times.unusable:
        return CellOutcome({**facts, "state": "skipped", "reason": times.unusable}, times)
    return CellOutcome({**facts, "state": "done"}, times)


def _turns(launched: Context, cell: Cell, bind: Bind, vector: np.ndarray, steps: int):
    """A context: the places through which a cold cell of `steps` on this rank rotates; None for a warm one."""
    if cell.cache == "warm":
        return nullcontext()
    from .cold_calls import Rotation, places_for  # late: few runs are cold

    places = launched.comm.allreduce(places_for(vector.nbytes, launched.cold_nbytes, steps), MPI.MIN)
    return closing(Rotation(bind, vector, launched.cold_nbytes, places))


def _bits(launched: Context, call: Prepared, sendbuf, recvbuf, depth: int) -> dict:
    """What random floats show; with --check bits also over repeated calls and against the exact result."""
    comm, seed, op = launched.party.comm, launched.plan.seed, launched.plan.op
    facts = same_bits.same_bits(call.run, sendbuf, recvbuf, comm, seed, op)
    if launched.plan.check == "bits":
        facts |= same_bits.accuracy_of_first(recvbuf, comm, seed, op, depth)
        facts["same_bits_calls"] = same_bits.same_bits_calls(call.run, recvbuf, comm)
    return same_bits.bits_of_groups(launched.comm.allgather(facts)) if launched.group else facts


def _back_to_back(launched: Context, call: Prepared) -> float | None:
    """Seconds of a call in a loop without a common start, on rank 0; None where nobody asked, or no time is left."""
    calls, in_time = launched.plan.back_to_back, launched.deadline is None or time.time() < launched.deadline
    if not calls or not launched.comm.bcast(in_time):
        return None
    return repeat.back_to_back(call.run, launched.comm, launched.clock, calls)


def _wire(launched: Context, before: dict[str, int] | None, times: CellTimes) -> str | None:
    """What the interfaces of all nodes sent in a call; rank 0 only."""
    after = launched.counters()
    counts = launched.comm.gather((before, after))
    if counts is None:
        return None
    from ..machine import traffic  # late: rank 0 only

    return (
        traffic.format_traffic(
            traffic.total_traffic(traffic.per_call(before, after, times.number) for before, after in counts)
        )
        or None
    )


@doing("binding the schedule")
def _bound(cell: Cell, steps, comm: MPI.Comm, op: str, sendbuf: np.ndarray, recvbuf: np.ndarray) -> Prepared:
    """The call of `cell` bound to its buffers. Raises Unsupported."""
    if cell.executor == FLOOR:
        return floor(cell.algorithm, sendbuf, recvbuf, op)
    if steps is None:
        return native(sendbuf, recvbuf, comm, op)
    return EXECUTORS[cell.executor](steps, sendbuf, recvbuf, comm, op)


def _tried(bind: Bind, sendbuf: np.ndarray, recvbuf: np.ndarray) -> tuple[Prepared, str | None]:
    """The call bound to its buffers, or why this rank's MPI cannot do it."""
    try:
        return bind(sendbuf, recvbuf), None
    except Unsupported as error:
        return Prepared(lambda: None, lambda: None), str(error)
