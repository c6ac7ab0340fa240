"""One cell on all ranks: may it run, is it proved, bind it, check it, measure it."""

import time
from collections.abc import Callable
from contextlib import closing, nullcontext
from functools import partial
from typing import NamedTuple
from zlib import crc32

import numpy as np
from mpi4py import MPI

from . import bits, measure, wire
from .algorithms import Algorithm, AlgorithmError
from .budget import Budget
from .calls import Times
from .clock import Clock
from .dtypes import is_float
from .execute import EXECUTORS, Prepared, Unsupported, floor, native
from .plan import BOUNDED_RANKS, LEFT_OUT, Cell, Launch, Plan
from .predict import price
from .random_floats import CALLS
from .rendezvous import Refusal
from .schedule import Step, elements
from .schema import FLOOR
from .sync import Sync
from .topology import Topology
from .units import format_size, format_time
from .verify import verify

PROVED_UP_TO = 256  # ranks: beyond, a proof takes longer than the measurement
NOMINAL = {"alpha": 5e-6, "beta": 1e-10, "gamma": 1e-11}  # s, s/byte, s/byte: decide between nearly equal paths only
VECTORS = 6  # of the cell's size at a rank's peak: input, output, scratch, reference, and two that come and go
MEMORY_SHARE = 0.5  # of what is free on a node: the rest is the MPI's, and others'
LONGEST_CALL = 20  # times --cell-time: a call that takes longer is skipped
LARGEST_SHARE = 0.25  # of the time that a launch has left: no single cell gets more
FLOOR_SHARE = 0.1  # of the time of an all-reduce: what a floor has
CALLS_AFTER_FIRST = 8  # of a cell at least: two checks, one warm-up, five repetitions
SCALES_FROM = 64 * 1024  # bytes: from here on, time grows at least about as size does
MAX_SEGMENTS = 65536  # of one vector: beyond, the schedule takes longer to prove than the call to run


Bind = Callable[[np.ndarray, np.ndarray], Prepared]


class Outcome(NamedTuple):
    """What became of a cell: facts for its mark, and its times (None: not measured)."""

    facts: dict
    times: Times | None = None


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
    counters: Callable[[], dict[str, int] | None]  # of the interfaces of this node; None on all but one of its ranks
    first_calls: dict[str, tuple[int, float]]  # algorithm -> nbytes and seconds of its first call at the largest size
    clock: Clock  # of all ranks
    sync: Sync  # how they enter a call together
    cold_nbytes: int = 0  # what a rank touches between two uses of a buffer, where calls are cold


def outcome_of(launched: Launched, cell: Cell, cells_left: int) -> Outcome:
    """Measure `cell` if it may run and is proved; `cells_left` all-reduces share the time that is left."""
    if refusal := launched.comm.bcast(_reason_to_skip(launched, cell)):
        return Outcome(refusal)
    if cell.executor == FLOOR:
        return _floor(launched, cell, cells_left)
    if cell.algorithm == "native":
        return _measured(launched, cell, None, {}, cells_left)
    steps, failure = _own_steps(launched, cell)
    if failures := [why for why in launched.comm.allgather(failure) if why]:
        return Outcome({"state": "refused", "reason": failures[0]})
    algorithm = launched.algorithms[cell.algorithm]
    proved = launched.comm.bcast(_proof(launched, algorithm, cell) if launched.comm.rank == 0 else None)
    internode = _internode(launched, steps)
    fingerprints = launched.comm.allgather(_fingerprint(steps))
    digest = f"{crc32(repr(fingerprints).encode()):08x}"
    facts = proved.facts | {"schedule_digest": digest, "internode_nbytes": internode}
    if facts.get("state") == "refused":
        return Outcome(facts)
    if proved.fingerprints and (differing := _differing(fingerprints, proved.fingerprints)):
        return Outcome({**facts, "state": "refused", "reason": differing})
    return _measured(launched, cell, steps, facts, cells_left)


class Proof(NamedTuple):
    """What the proof of all schedules gave: facts, and the fingerprint of each rank's steps (none: not proved)."""

    facts: dict
    fingerprints: list[int]


def _own_steps(launched: Launched, cell: Cell) -> tuple[list[Step], str | None]:
    """The steps of this rank, or why a user's generator gave none."""
    algorithm, comm = launched.algorithms[cell.algorithm], launched.comm
    try:
        return algorithm.schedule(comm.rank, comm.size, launched.topology, cell.count, cell.segment or 1), None
    except AlgorithmError as error:
        return [], str(error)


def _reason_to_skip(launched: Launched, cell: Cell) -> dict | None:
    """Why this cell is not measured, on rank 0's word: its state and its reason; None: it is."""
    if launched.deadline is not None and time.time() > launched.deadline:
        return {"state": "left out", "reason": LEFT_OUT}
    if reason := _unfit(launched, cell):
        return {"state": "skipped", "reason": reason}
    nbytes, time_s = launched.first_calls.get(cell.algorithm, (0, 0.0))
    call_s = time_s * cell.count * launched.plan.itemsize / nbytes if nbytes >= SCALES_FROM else 0.0
    if call_s > time_s:
        return _too_long(launched, call_s, f"a call would take about {format_time(call_s)} by {format_size(nbytes)}")
    return None


def _unfit(launched: Launched, cell: Cell) -> str | None:
    """Why this cell cannot, or shall not, run on these ranks."""
    if cell.algorithm in launched.plan.bounded and launched.comm.size > BOUNDED_RANKS:
        return f"{cell.algorithm} stops at {BOUNDED_RANKS} ranks unless -a names it"
    need, free = _memory(launched, cell), launched.memory_per_rank
    if free is not None and need > MEMORY_SHARE * free:
        return f"needs {format_size(need)} of buffers a rank, more than half of the {format_size(free)} that are free"
    if cell.segment and cell.count > MAX_SEGMENTS * cell.segment:
        return f"{cell.count // cell.segment} segments are more than {MAX_SEGMENTS}; use a larger --segment"
    if cell.executor in ("native", FLOOR):
        return None
    return launched.algorithms[cell.algorithm].unmet(launched.comm.size, launched.topology)


def _memory(launched: Launched, cell: Cell) -> int:
    """Bytes of buffers of a rank at its peak."""
    nbytes = cell.count * launched.plan.itemsize
    if cell.cache == "warm":
        return VECTORS * nbytes
    from .rotation import memory_for  # late: few runs are cold

    return VECTORS * nbytes + memory_for(nbytes, launched.cold_nbytes)


def _too_long(launched: Launched, call_s: float, words: str) -> dict | None:
    """State and reason of a cell whose calls take `call_s`, as `words` say, if that is more than it is worth."""
    plan = launched.plan
    if launched.deadline is not None:
        left_s = max(0.0, launched.deadline - time.time())
        calls = CALLS_AFTER_FIRST + (CALLS if plan.check == "bits" else 0)
        if call_s * calls > LARGEST_SHARE * left_s:
            return {"state": "left out", "reason": "its calls take too long for the time that --within left"}
    if plan.iters is None and call_s > LONGEST_CALL * max(plan.cell_time_s, plan.min_time_s):
        limit = f"more than {LONGEST_CALL} times --cell-time {plan.cell_time_s:g}s; raise that to measure it"
        return {"state": "skipped", "reason": f"{words}, {limit}"}
    return None


def _proof(launched: Launched, algorithm: Algorithm, cell: Cell) -> Proof:
    """Prove and price the schedules of all ranks; above PROVED_UP_TO ranks take the declared cost. Rank 0 only."""
    size, itemsize = launched.comm.size, launched.plan.itemsize
    if size > PROVED_UP_TO:
        cost = algorithm.cost(size, launched.topology, cell.count, cell.segment or 1)
        return Proof({"proved": False, **_path_facts(cost.messages, cost.elements, cost.reduced, itemsize)}, [])
    try:
        schedules = algorithm.schedules(size, launched.topology, cell.count, cell.segment or 1)
        proof = verify(schedules, cell.count)
    except (AlgorithmError, Refusal) as refusal:
        return Proof({"state": "refused", "reason": str(refusal), "proved": False}, [])
    path = price(schedules, NOMINAL["alpha"], NOMINAL["beta"] * itemsize, NOMINAL["gamma"] * itemsize)
    facts = {
        "proved": True,
        "steps": proof.steps,
        "sent_nbytes": proof.sent * itemsize,
        "promised_same_bits": proof.same_bits,
        "promised_rank_order": proof.rank_ordered,
        "promised_depth": proof.depth,
        **_path_facts(path.messages, path.elements, path.reduced, itemsize),
    }
    return Proof(facts, [_fingerprint(steps) for steps in schedules])


def _path_facts(messages: int, elements: int, reduced: int, itemsize: int) -> dict:
    return {
        "path_messages": messages,
        "path_nbytes": elements * itemsize,
        "path_reduced_nbytes": reduced * itemsize,
    }


def _fingerprint(steps: list[Step]) -> int:
    return crc32(repr(steps).encode())


def _differing(made: list[int], proved: list[int]) -> str | None:
    """Which ranks made other steps than those that rank 0 proved in their place: an algorithm must be pure."""
    ranks = ", ".join(str(rank) for rank, (ours, theirs) in enumerate(zip(made, proved)) if ours != theirs)
    words = "made other steps than were proved for it; an algorithm may use nothing but its arguments"
    return f"rank {ranks} {words}" if ranks else None


def _measured(launched: Launched, cell: Cell, steps: list[Step] | None, facts: dict, cells_left: int) -> Outcome:
    comm, plan = launched.comm, launched.plan
    sendbuf, recvbuf = np.empty(cell.count, plan.dtype), np.empty(cell.count, plan.dtype)
    bind = partial(_bound, cell, steps, comm, plan.op)
    call, unsupported = _tried(bind, sendbuf, recvbuf)
    if reasons := [why for why in comm.allgather(unsupported) if why]:
        return Outcome({**facts, "state": "skipped", "reason": reasons[0]})
    try:
        first = measure.check(call, sendbuf, recvbuf, comm, plan.op)
        if first.wrong:
            return Outcome({**facts, "state": "wrong", "wrong": first.wrong})
        if refusal := comm.bcast(_after_first_call(launched, cell, first.time_s)):
            return Outcome(facts | refusal)
        if is_float(plan.dtype):
            facts |= _bits(launched, call, sendbuf, recvbuf, facts.get("promised_depth", comm.size - 1))
            if facts.get("wrong"):
                return Outcome({**facts, "state": "wrong"})
        with _turns(launched, cell, bind, sendbuf, len(steps or ())) as rotation:
            before = launched.counters()
            times = _repeated(launched, cell, rotation.turn if rotation else lambda: call.run, cells_left)
            facts["wire"] = _wire(launched, before, times)
            facts["nccl_tests_s"] = None if rotation else _back_to_back(launched, call)  # a loop would be warm
            timed, sent, received = rotation.places[-1] if rotation else (call, sendbuf, recvbuf)
            wrong = measure.check(timed, sent, received, comm, plan.op).wrong
    finally:
        call.close()
    facts["wrong"] = wrong
    if wrong:
        return Outcome({**_ended(facts, times).facts, "state": "wrong", "reason": None}, times)
    return _ended(facts, times)


def _floor(launched: Launched, cell: Cell, cells_left: int) -> Outcome:
    """Measure a floor like any cell; it has no schedule to be proved, and no result to be checked."""
    comm, plan = launched.comm, launched.plan
    sendbuf, recvbuf = np.ones(cell.count, plan.dtype), np.ones(cell.count, plan.dtype)  # no product outgrows its type
    bind = partial(_bound, cell, None, comm, plan.op)
    call, unsupported = _tried(bind, sendbuf, recvbuf)
    if reasons := [why for why in comm.allgather(unsupported) if why]:
        return Outcome({"state": "skipped", "reason": reasons[0]})
    with _turns(launched, cell, bind, sendbuf, 1) as rotation:
        times = _repeated(launched, cell, rotation.turn if rotation else lambda: call.run, cells_left)
    return _ended({}, times)


def _repeated(launched: Launched, cell: Cell, turn: measure.Turn, cells_left: int) -> Times:
    return measure.repeat(turn, launched.comm, _budget(launched, cell, cells_left), launched.sync, launched.clock)


def _ended(facts: dict, times: Times) -> Outcome:
    """A cell whose results are right, or need not be: done, if any of its calls is valid."""
    facts = {**facts, **times.facts, "repetitions": times.number - times.warmups}
    if times.unusable:
        return Outcome({**facts, "state": "skipped", "reason": times.unusable}, times)
    return Outcome({**facts, "state": "done"}, times)


def _turns(launched: Launched, cell: Cell, bind: Bind, vector: np.ndarray, steps: int):
    """A context: the places through which a cold cell of `steps` on this rank rotates; None for a warm one."""
    if cell.cache == "warm":
        return nullcontext()
    from .rotation import Rotation, places_for  # late: few runs are cold

    places = launched.comm.allreduce(places_for(vector.nbytes, launched.cold_nbytes, steps), MPI.MIN)
    return closing(Rotation(bind, vector, launched.cold_nbytes, places))


def _bits(launched: Launched, call: Prepared, sendbuf, recvbuf, depth: int) -> dict:
    """What random floats show; with --check bits also over repeated calls and against the exact result."""
    comm, seed, op = launched.comm, launched.plan.seed, launched.plan.op
    facts = bits.same_bits(call.run, sendbuf, recvbuf, comm, seed, op)
    if launched.plan.check == "bits":
        facts |= bits.accuracy_of_first(recvbuf, comm, seed, op, depth)
        facts["same_bits_calls"] = bits.same_bits_calls(call.run, recvbuf, comm)
    return facts


def _back_to_back(launched: Launched, call: Prepared) -> float | None:
    """Seconds of a call in a loop without a common start, on rank 0; None where nobody asked, or no time is left."""
    calls, in_time = launched.plan.back_to_back, launched.deadline is None or time.time() < launched.deadline
    if not calls or not launched.comm.bcast(in_time):
        return None
    return measure.back_to_back(call.run, launched.comm, launched.clock, calls)


def _wire(launched: Launched, before: dict[str, int] | None, times: Times) -> str | None:
    """What the interfaces of all nodes sent in a call; rank 0 only."""
    after = launched.counters()
    counts = launched.comm.gather((before, after))
    if counts is None:
        return None
    return wire.written(wire.added(wire.per_call(before, after, times.number) for before, after in counts)) or None


def _internode(launched: Launched, steps: list[Step]) -> int:
    """Bytes that the schedule sends between real nodes in one call."""
    node_of = launched.real.node_of
    here = node_of[launched.comm.rank]
    away = [step for step in steps if step.dest is not None and node_of[step.dest] != here]
    return launched.comm.allreduce(sum(elements(step.send) for step in away)) * launched.plan.itemsize


def _after_first_call(launched: Launched, cell: Cell, time_s: float) -> dict | None:
    """State and reason of a cell that is not repeated; its first call, of `time_s`, is noted for larger sizes."""
    nbytes = cell.count * launched.plan.itemsize
    if nbytes > launched.first_calls.get(cell.algorithm, (0, 0.0))[0]:
        launched.first_calls[cell.algorithm] = nbytes, time_s
    return _too_long(launched, time_s, f"its first call took {format_time(time_s)}")


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


def _budget(launched: Launched, cell: Cell, cells_left: int) -> Budget:
    """An equal share of what is left of the launch's time, at most the plan's time for a cell; a tenth for a floor."""
    plan = launched.plan
    part = FLOOR_SHARE if cell.executor == FLOOR else 1.0
    cell_time_s, min_time_s = part * plan.cell_time_s, part * plan.min_time_s
    if launched.deadline is None:
        return Budget(plan.warmups, plan.iters, cell_time_s, min_time_s, None, plan.precision)
    left = max(0.0, launched.deadline - time.time())
    share, over = part * left / max(1, cells_left), time.perf_counter() + left
    time_s, short = min(cell_time_s, share), share < cell_time_s
    return Budget(plan.warmups, plan.iters, time_s, min_time_s, over, plan.precision, short)
