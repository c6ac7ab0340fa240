"""Holds the loop of the kernel against the loop of Python on both ranks: the same columns, stamps of the same clock."""

import time
from functools import partial

import numpy as np
from mpi4py import MPI

from allreduce_bench.algorithms import builtin
from allreduce_bench.executing import EXECUTORS, NATIVES, Prepared
from allreduce_bench.executing.memory import PAGES
from allreduce_bench.measuring.budget import Budget
from allreduce_bench.measuring.calls import CellTimes, back_to_back, why_impossible
from allreduce_bench.measuring.clock import Clock
from allreduce_bench.measuring.cold_calls import Rotation
from allreduce_bench.measuring.repeat import repeat
from allreduce_bench.measuring.schedules import compile_in_turns
from allreduce_bench.measuring.sync import RoundTime, make
from allreduce_bench.schedule.algorithm import Topology

CALLS, WARMUPS, COUNT, LONG, TRIALS = 30, 3, 1000, 1 << 17, 100


def as_from_python(comm: MPI.Comm, way: str) -> None:
    """Run all checks; `way` is barrier or round_time."""
    assert compile_in_turns(comm, Topology.one_node(comm.size), "float64") is None
    clock = Clock(comm, shared=True)
    sync = make(way, comm, clock)
    if isinstance(sync, RoundTime):
        sync.slack_s = 5e-3  # on busy cores, too
    steps = list(builtin()["ring"].steps(comm.rank, comm.size, Topology.one_node(comm.size), COUNT, COUNT))
    vector, total = np.ones(COUNT), np.zeros(COUNT)
    call = EXECUTORS["compiled"](steps, vector, total, comm, "sum")
    budget = Budget(WARMUPS, CALLS, 1.0)
    for _ in range(TRIALS):
        begun = time.perf_counter()
        compiled = repeat(lambda: call.run, comm, budget, sync, clock, loop=call.timed_calls)
        ended = time.perf_counter()
        python = repeat(lambda: call.run, comm, budget, sync, clock)
        if are_on_time := comm.bcast(is_on_time(compiled) and is_on_time(python)):
            break
    if comm.rank == 0:
        assert compiled.calls.keys() == python.calls.keys()
        entry, exit = compiled.stamps
        assert (entry > begun).all() and (entry < exit).all() and (exit[:-1] <= entry[1:]).all()
        assert (exit < ended).all(), "another clock than perf_counter"
        if are_on_time:  # on busy cores perhaps never
            assert compiled.number == python.number == CALLS + WARMUPS
            assert compiled.facts["start"] == python.facts["start"]
    assert (total == comm.size).all()
    if isinstance(sync, RoundTime):
        late_calls_are_invalid(comm, call, clock)
    rotates(comm, steps, vector, sync)
    assert_back_to_back(comm, long_call(comm), clock)
    native = NATIVES["native@compiled"](vector, total, comm, "avg")
    assert native.timed_calls(5, sync.common_start()).shape == (3, 5) and (total == 1).all()
    failures_are_errors(comm, vector)


def is_on_time(times: CellTimes) -> bool:
    """Whether, as rank 0 knows, no rank was so late that calls went on by barriers, as happens on busy cores."""
    return any(times.calls.get("valid", ())) and times.warmups == WARMUPS


def late_calls_are_invalid(comm: MPI.Comm, call, clock: Clock) -> None:
    """Nobody can be in time for a start that is over when it is named."""
    past = RoundTime(comm, clock, -1.0)
    assert not call.timed_calls(4, past.common_start())[2].any()
    lost = past.common_start()._replace(rate=0.0, slack_s=1e-3)
    assert not call.timed_calls(4, lost)[2].any()


def rotates(comm: MPI.Comm, steps, vector: np.ndarray, sync) -> None:
    """Cold calls are made one by one, in one place after the other."""
    bind = partial(EXECUTORS["compiled"], steps)
    rotation = Rotation(lambda send, recv: bind(send, recv, comm, "sum"), PAGES, vector, 4 * vector.nbytes, 3)
    places = [place.recvbuf for place in rotation.places]
    for place in places:
        place[:] = 0
    assert rotation.loop is not None and rotation.loop(2, sync.common_start()).shape == (3, 2)
    assert [bool(place.all()) for place in places] == [True, True, False]
    assert rotation.loop(0, sync.common_start()).shape == (3, 0)


def long_call(comm: MPI.Comm) -> Prepared:
    """A call that takes far longer than a busy core's turn, divided by the calls of a loop."""
    vector = np.ones(LONG)
    steps = builtin()["ring"].steps(comm.rank, comm.size, Topology.one_node(comm.size), LONG, LONG)
    return EXECUTORS["compiled"](list(steps), vector, np.zeros(LONG), comm, "sum")


def assert_back_to_back(comm: MPI.Comm, call, clock: Clock) -> None:
    """A loop without starts has a mean, on rank 0."""
    ways = call, call._replace(timed_calls=None)
    means_s = [back_to_back(way, comm, clock, 300) for way in ways]
    assert means_s == [None, None] if comm.rank else min(means_s) > 0
    for way, mean_s in zip(ways, means_s):
        assert why_impossible(mean_s, 0.0, way, comm, clock) == ""
        assert why_impossible(mean_s, 1.0, way, comm, clock) == "", "a slow moment is no fault"

    def leaving_out(calls: int, start, between) -> np.ndarray:
        """Without a start no call is made: of some, ranks would make different numbers, and wait for each other."""
        return call.timed_calls(calls, start, between) if start else np.full((3, calls), clock.now())

    broken = call._replace(timed_calls=leaving_out)
    reason = why_impossible(back_to_back(broken, comm, clock, 300), 1.0, broken, comm, clock)
    assert reason.endswith("the loop left out calls"), reason


def failures_are_errors(comm: MPI.Comm, vector: np.ndarray) -> None:
    """An MPI function that fails ends in mpi4py's exception, on the rank whose it is."""
    from allreduce_bench.executing.compiled import prepare
    from allreduce_bench.executing.program import INPUT, OUTPUT, Exchange, Program, View

    nowhere, whole = comm.size + 5, (range(COUNT),)
    bad = Program([Exchange(nowhere, View(INPUT, whole), None, View(OUTPUT, whole))], 0)
    try:
        prepare(bad, vector, np.empty_like(vector), comm, "sum").run()
    except MPI.Exception as error:
        assert error.Get_error_class() == MPI.ERR_RANK
    else:
        raise AssertionError("a message to no rank was sent")
