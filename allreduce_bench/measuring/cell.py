"""One cell on all ranks: decide whether it runs, prove its schedule, bind, check and measure it."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from math import inf
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from ..algorithms import is_of_library
from ..executing import EXECUTORS, NATIVES, Place, Prepared, Unsupported
from ..executing.memory import PAGES, Allocate, Memory, filled, memory_of, offsets_of
from ..executing.sendrecv import floor
from ..machine.traffic import format_traffic, per_call, total_traffic
from ..runs.cell import splitmix64
from ..runs.competitor import FLOOR_PREFIX, Competitor
from ..runs.dtypes import is_float
from ..runs.plan import Cell
from ..schedule import Step
from ..watching.whereabouts import doing
from . import repeat, same_bits
from .budget import share
from .calls import Approach, CellTimes, NextCall, TimedLoop, back_to_back, why_impossible, with_input
from .context import Context
from .schedules import compile_in_turns, proved_steps
from .skipping import after_first_call, reason_to_skip

Bind = Callable[[np.ndarray, np.ndarray], Prepared]


class CellOutcome(NamedTuple):
    """Outcome of a cell: facts for its mark, and its times (None: not measured)."""

    facts: dict
    times: CellTimes | None = None


class CellEnded(Exception):
    """The end of a cell before it is timed, on all ranks alike; `facts` say its state and the reason."""

    def __init__(self, facts: dict):
        super().__init__(facts)
        self.facts = facts


def outcome_of(context: Context, cell: Cell, cells_left: int) -> CellOutcome:
    """Measure `cell` if it may run and is proved; `cells_left` all-reduces share the time left."""
    facts: dict = {}
    try:
        if facts_of_skipped := context.comm.bcast(reason_to_skip(context, cell)):
            raise CellEnded(facts_of_skipped)
        if cell.competitor.is_reference:
            return _measure_floor(context, cell, cells_left)
        return _measure_all_reduce(context, cell, cells_left, facts)
    except CellEnded as end:
        return CellOutcome(facts | end.facts)
    except Unsupported as error:  # on all ranks
        return CellOutcome({"state": "skipped", "reason": str(error)})


def _measure_all_reduce(context: Context, cell: Cell, cells_left: int, facts: dict) -> CellOutcome:
    """Prove, bind, check, warm up and time, and check again; `facts` are filled on the way. Raises CellEnded."""
    comm, party, plan = context.comm, context.party.comm, context.plan
    approach = _approach(context, cell)
    with ExitStack() as stack:
        # prove: its steps; none are those of the library's own all-reduce
        steps, of_calls = None, party
        if cell.competitor.is_forced:
            of_calls = stack.enter_context(_open_forced(context, cell))
        elif not is_of_library(cell.algorithm):
            steps, cell = _prove(context, cell, facts)

        # bind
        memory, count = memory_of(plan.placement), plan.element_count(cell)
        sendbuf, recvbuf = memory.sendbuf(count, plan.dtype), memory.recvbuf(count, plan.dtype)
        sent = recvbuf if plan.in_place else sendbuf
        if cell.competitor.is_compiled and (reason := _compiled(context)):
            raise CellEnded({"state": "skipped", "reason": reason})
        bind = partial(_bind, cell, steps, of_calls, plan.op, memory.scratch)
        call = _bind_together(context, bind, sent, recvbuf)
        stack.callback(call.close)
        facts["offsets"] = offsets_of([Place(call, sent, recvbuf)], party)
        if plan.in_place:
            call = with_input(call, sendbuf, recvbuf)

        # check
        wait = comm.Barrier if context.is_crowded else None
        checks = repeat.Checks(party, plan.op, _seed_of_party(context), Place(call, sendbuf, recvbuf), wait)
        facts |= _check_before(context, cell, checks, call, sendbuf, recvbuf)

        # warm up, time and check
        with _rotation(context, bind, memory, sendbuf, len(steps or ())) as rotation:
            if rotation:
                facts["offsets"] = offsets_of(rotation.places, party)
            checked, prepare = checks.calls, rotation.prepare_call if rotation else call.prepare_call
            checks.rotate(rotation)
            checks.renew()
            before = context.node.sent_bytes()
            loop = rotation.loop if rotation else call.timed_calls
            times = _repeated_calls(context, cell, prepare, cells_left, checks, loop, approach)
            facts["wire"] = _traffic_per_call(context, before, times.number + checks.untimed)
            if not rotation:  # a loop would be warm
                facts |= _back_to_back(context, call, checks, times)
                counted, times = _counted_energy(context, call, checks, times)
                facts |= counted
    return _outcome_of_checks(context, checks, checked, facts, times)


def _prove(context: Context, cell: Cell, facts: dict) -> tuple[list[Step], Cell]:
    """Return the proved steps of this rank, and the cell as it is run. Raises CellEnded for a refused schedule."""
    steps, found = proved_steps(context, cell)
    facts |= found
    if facts.get("state") == "refused":
        raise CellEnded({})
    if facts.get("run_whole"):
        cell = replace(cell, window=1)  # posting whole messages ahead would need as many vectors of scratch
    return steps, cell


@contextmanager
def _open_forced(context: Context, cell: Cell) -> Iterator[MPI.Comm]:
    """Yield a communicator on which the library uses the algorithm of `cell`. Raises Unsupported."""
    from ..executing.forced import forced_to  # late: few runs have any

    ended = None
    with forced_to(cell.algorithm, context.party.comm, len({*context.real.node_of})) as comm:
        try:
            yield comm
        except CellEnded as end:  # on all ranks alike, so that the communicator can be freed
            ended = end
    if ended:
        raise ended


def _check_before(
    context: Context, cell: Cell, checks: repeat.Checks, call: Prepared, sendbuf: np.ndarray, recvbuf: np.ndarray
) -> dict:
    """Check calls before any is timed, on exact inputs and on random floats; return facts about their bits.

    Raises CellEnded for a wrong result, or if the cell is not repeated.
    """
    comm, plan = context.comm, context.plan
    first_s = checks.call()
    _refuse_wrong(comm, checks)
    if facts_of_skipped := comm.bcast(after_first_call(context, cell, first_s)):
        raise CellEnded(facts_of_skipped)
    left_s = inf if context.deadline is None else max(0.0, context.deadline - time.time())
    for _ in range(comm.bcast(checks.further_calls(min(plan.cell_time_s, repeat.SHARE * left_s)))):
        checks.call()
    _refuse_wrong(comm, checks)
    return _compared_bits(context, call, sendbuf, recvbuf) if is_float(plan.dtype) else {}


def _refuse_wrong(comm: MPI.Comm, checks: repeat.Checks) -> None:
    """Raise CellEnded if a check found wrong elements on any rank."""
    if wrong := comm.allreduce(checks.wrong):
        raise CellEnded({"state": "wrong", "wrong": wrong, "checks": checks.calls})


def _outcome_of_checks(
    context: Context, checks: repeat.Checks, checked: int, facts: dict, times: CellTimes
) -> CellOutcome:
    """Return the outcome of timed calls: wrong if any check says so, of which `checked` came before them."""
    facts = {**facts, "wrong": context.comm.allreduce(checks.wrong), "checks": checks.calls}
    outcome = _done_or_skipped(facts, times)
    if facts.get("state") == "wrong":  # as a loop of calls has shown
        return CellOutcome({**outcome.facts, **facts}, times)
    if facts["wrong"]:
        reason = f"{facts['wrong']} wrong elements after timed calls, none after the {checked} before them"
        return CellOutcome({**outcome.facts, "state": "wrong", "reason": reason}, times)
    return outcome


def _measure_floor(context: Context, cell: Cell, cells_left: int) -> CellOutcome:
    """Measure a floor like any cell; it has no schedule to prove and no result to check."""
    plan = context.plan
    memory = PAGES  # wherever others lie: a slow copy would be no reference
    vectors = memory.sendbuf, memory.recvbuf
    count = plan.element_count(cell)
    sendbuf, recvbuf = (filled(allocate, count, plan.dtype, 1) for allocate in vectors)  # so that products stay 1
    asks_for_compiled = any(Competitor(name).is_compiled for name in plan.competitors)
    is_compiled = asks_for_compiled and not _compiled(context)  # gives the lowest
    bind = partial(_bind_floor, cell.algorithm.removeprefix(FLOOR_PREFIX), plan.op, is_compiled)
    call = _bind_together(context, bind, sendbuf, recvbuf)
    with _rotation(context, bind, memory, sendbuf, 1) as rotation:
        prepare, loop = (rotation.prepare_call, rotation.loop) if rotation else (call.prepare_call, call.timed_calls)
        times = _repeated_calls(context, cell, prepare, cells_left, loop=loop)
    return _done_or_skipped({}, times)


def _repeated_calls(
    context: Context,
    cell: Cell,
    prepare: NextCall,
    cells_left: int,
    checks: repeat.Checks | None = None,
    loop: TimedLoop | None = None,
    approach: Approach | None = None,
) -> CellTimes:
    left_s = None if context.deadline is None else max(0.0, context.deadline - time.time())
    budget = share(context.plan, cell, cells_left, left_s, time.perf_counter())
    return repeat.repeat(prepare, context.comm, budget, context.sync, context.clock, checks, loop, approach)


def _approach(context: Context, cell: Cell) -> Approach | None:
    """Return what ranks do before each call of an all-reduce, or None. Raises Unsupported on all ranks."""
    if not context.plan.compute_s and not context.plan.arrival:
        return None
    from .work import late_entry, work_of  # late: few runs have a phase of work, or late ranks

    return work_of(context.comm, context.plan) if context.plan.compute_s else late_entry(context, cell)


def _seed_of_party(context: Context) -> int:
    """Return the seed for checks: each group has its own inputs, so that a leak between groups is detected."""
    return int(splitmix64(context.plan.seed, np.array([context.party.number]))[0])


def _done_or_skipped(facts: dict, times: CellTimes) -> CellOutcome:
    """Return the outcome of a cell without a wrong result: done if any of its calls is valid, else skipped."""
    facts = {**facts, **times.facts}
    if times.unusable:
        return CellOutcome({**facts, "state": "skipped", "reason": times.unusable}, times)
    return CellOutcome({**facts, "state": "done"}, times)


def _rotation(context: Context, bind: Bind, memory: Memory, vector: np.ndarray, steps: int):
    """Return a context manager of the buffers that cold calls of `steps` rotate through; of None if they are warm."""
    if context.plan.cache == "warm":
        return nullcontext()
    from .cold_calls import Rotation, places_for  # late: few runs are cold

    places = context.comm.allreduce(places_for(vector.nbytes, context.cold_nbytes, steps), MPI.MIN)
    return closing(Rotation(bind, memory, vector, context.cold_nbytes, places))


def _compared_bits(context: Context, call: Prepared, sendbuf, recvbuf) -> dict:
    """Compare results on random floats; with --check bits also over calls and lengths."""
    comm, plan, seed, op = context.party.comm, context.plan, context.plan.seed, context.plan.op

    def run() -> None:
        call.prepare_call()()

    if plan.check != "bits":
        facts = same_bits.same_bits(run, sendbuf, recvbuf, comm, seed, op)
    else:
        counts = [size_bytes // plan.itemsize for size_bytes in plan.sizes]
        shorter = max((count for count in counts if count < recvbuf.size), default=0)
        facts = same_bits.same_bits(run, sendbuf, recvbuf, comm, seed, op, shorter)
        facts["same_bits_calls"] = same_bits.same_bits_calls(run, recvbuf, comm, op)
    return same_bits.bits_of_parties(context.comm.allgather(facts)) if plan.groups else facts


def _back_to_back(context: Context, call: Prepared, checks: repeat.Checks, times: CellTimes) -> dict:
    """Return `nccl_tests_s`, seconds per call in a loop without a common start, on rank 0; or the loop's error.

    Empty if not requested, or if no time is left.
    """
    calls, has_time = context.plan.back_to_back, context.deadline is None or time.time() < context.deadline
    if not calls or not context.comm.bcast(has_time):
        return {}
    checks.renew()
    loop_s = back_to_back(call, context.comm, context.clock, calls)
    checks.check_result()
    if reason := why_impossible(loop_s, times.least_s, call, context.comm, context.clock):
        return {"state": "wrong", "reason": reason}
    return {"nccl_tests_s": loop_s}


def _counted_energy(
    context: Context, call: Prepared, checks: repeat.Checks, times: CellTimes
) -> tuple[dict, CellTimes]:
    """Return the columns of the energy of a call, on rank 0, or the loop's error; and `times` with what was found."""
    energy, has_time = context.energy, context.deadline is None or time.time() < context.deadline
    if energy is None or not energy.is_counted or times.unusable or not context.comm.bcast(has_time):
        return {}, times
    found = energy.count_idle()
    if energy.is_counted:
        checks.renew()
        facts, of_cell, loop_s = energy.count(call, context.clock)
        checks.check_result()
        if reason := why_impossible(loop_s, times.least_s, call, context.comm, context.clock):
            facts = {"state": "wrong", "reason": reason}
        found += of_cell
    else:
        facts = {}
    return facts, times._replace(findings=[*times.findings, *found])


def _traffic_per_call(context: Context, before: dict[str, int] | None, calls: int) -> str | None:
    """Return the bytes that the interfaces of all nodes sent per call; rank 0 only."""
    after = context.node.sent_bytes()
    counts = context.comm.gather((before, after))
    if counts is None:
        return None
    return format_traffic(total_traffic(per_call(before, after, calls) for before, after in counts)) or None


@doing("binding the schedule")
def _bind(
    cell: Cell, steps, comm: MPI.Comm, op: str, scratch: Allocate, sendbuf: np.ndarray, recvbuf: np.ndarray
) -> Prepared:
    """Bind the call of `cell` to its buffers. Raises Unsupported."""
    if cell.competitor.is_mockup:
        from ..executing.mockups import mockup  # late: few runs have any

        return mockup(cell.algorithm, sendbuf, recvbuf, comm, op, scratch)
    if cell.competitor.is_gloo:
        from ..executing.gloo import gloo  # late: it loads torch

        return gloo(sendbuf, recvbuf, comm, op)
    if cell.competitor.is_forced:
        from ..executing.forced import native_forced

        return native_forced(cell.algorithm, sendbuf, recvbuf, comm, op)
    if steps is None:
        return NATIVES[cell.competitor](sendbuf, recvbuf, comm, op)
    window = () if cell.window is None else (cell.window,)
    return EXECUTORS[cell.competitor.way](steps, sendbuf, recvbuf, comm, op, *window, scratch=scratch)


def _bind_floor(name: str, op: str, is_compiled: bool, sendbuf: np.ndarray, recvbuf: np.ndarray) -> Prepared:
    """Bind the call of a floor to its buffers. Raises Unsupported."""
    if is_compiled:
        from ..executing import compiled  # late: few ranks compile

        return compiled.floor(name, sendbuf, recvbuf, op)
    return floor(name, sendbuf, recvbuf, op)


def _compiled(context: Context) -> str | None:
    """Compile on one rank, then load that on the others; return why a rank cannot, or None."""
    return compile_in_turns(context.comm, context.real, context.plan.dtype)


def _bind_together(context: Context, bind: Bind, sendbuf: np.ndarray, recvbuf: np.ndarray) -> Prepared:
    """Bind the call to its buffers on all ranks. Raises CellEnded on all of them if one cannot."""
    call, unsupported = None, None
    try:
        call = bind(sendbuf, recvbuf)
    except Unsupported as error:
        unsupported = str(error)
    except MemoryError as error:  # of scratch: the vectors' memory was checked before
        unsupported = f"no memory for its scratch: {error}"
    if reasons := [reason for reason in context.comm.allgather(unsupported) if reason]:
        raise CellEnded({"state": "skipped", "reason": reasons[0]})
    assert call is not None
    return call
