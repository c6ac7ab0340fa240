"""The place of the main thread, read without its help."""

import json
from functools import partial

import pytest
from interpreters import interpreters

from allreduce_bench.runs.recorder import Recorder
from allreduce_bench.watching import whereabouts
from allreduce_bench.watching.whereabouts import doing, stepping, where

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")


class Comm:
    """Stands for a communicator whose Sendrecv asks where it is."""

    def __init__(self):
        self.seen = []

    def Sendrecv(self, send, dest, tag, recv, source, sourcetag):
        self.seen.append(where())


def test_inside_a_call_the_step_its_partners_and_all_messages_so_far_are_told():
    from allreduce_bench.executing.sendrecv import join_calls

    comm = Comm()
    steps = [(1, 2), (1, -2), (3, 2)]  # dest, source; -2 stands for MPI_PROC_NULL
    calls = [partial(comm.Sendrecv, None, dest, 0, None, source, 0) for dest, source in steps]
    join_calls([calls[0], partial(int), calls[1], calls[2]])()
    assert [at["call"]["step"] for at in comm.seen] == [1, 2, 3]
    last = comm.seen[-1]["call"]
    assert last == {"step": 3, "of": 3, "dest": 3, "source": 2, "sent": {"1": 2, "3": 1}, "received": {"2": 2}}
    assert comm.seen[1]["call"]["source"] is None
    assert json.loads(json.dumps(comm.seen[0])) == comm.seen[0]
    assert len({json.dumps(at["at"]) for at in comm.seen}) == 3


def test_inside_the_librarys_own_call_it_says_so_and_between_calls_it_does_not():
    from allreduce_bench.measuring.calls import timed

    class Sync:
        def begin(self):
            seen.append(where()["call"] is not None)
            return True

    seen, times = [], iter(range(100))
    timed(lambda: lambda: seen.append(where()["call"]["step"] == 0), Sync(), lambda: float(next(times)), 3)
    assert seen == [False, True] * 3


def test_the_loops_that_places_count_exist():
    from allreduce_bench.measuring import calls, launch, repeat

    counted = (launch.measure_cells, repeat.repeat, calls.timed, calls._in_python)
    counted += (Recorder.cell,)  # a million rows take seconds
    loops = {code: activity.counts for code, activity in whereabouts._activities.items() if activity.counts}
    assert {function.__code__ for function in counted} <= loops.keys()
    for code, variable in loops.items():
        assert variable in code.co_varnames


def test_a_declared_function_is_the_same_function_and_a_variable_that_it_lacks_is_refused():
    def loop(turns):
        for number in range(turns):
            print(number)

    code = loop.__code__
    assert doing("looping", counts="number")(loop) is loop and loop.__code__ is code
    assert stepping("turns", "number", lambda call: None)(loop) is loop
    for declare in (
        stepping("turns", "number", "partners"),
        doing("looping", counts="count"),
        doing(times=("number", "exit")),
        stepping("turns", "call", lambda call: None),
    ):
        with pytest.raises(NameError, match=r"test_whereabouts\..*loop has no variable '(count|exit|call|partners)'"):
            declare(loop)
    del whereabouts._activities[code], whereabouts._stepping[code]


def own_frame(package: str, module: str) -> dict:
    return {"__package__": package, "__name__": module}


def test_places_have_our_own_frames_only_and_none_of_an_algorithm():
    from allreduce_bench.measuring import schedules  # noqa: F401 - excludes them

    assert whereabouts._counts_in_place(own_frame("allreduce_bench", "allreduce_bench.measuring.repeat"))
    assert whereabouts._counts_in_place(own_frame("allreduce_bench", "__main__"))
    for package, module in (
        ("allreduce_bench.algorithms", "allreduce_bench.algorithms.ring"),
        ("allreduce_bench.algorithms", "allreduce_bench.algorithms"),
        ("allreduce_bench_of_mine", "allreduce_bench_of_mine.measure"),
        ("", "mine"),
        ("mpi4py", "mpi4py.run"),
    ):
        assert not whereabouts._counts_in_place(own_frame(package, module))
    assert not whereabouts._counts_in_place({}) and not whereabouts._counts_in_place(vars(whereabouts))


def test_outside_of_everything_it_says_so():
    at = where()
    assert at["call"] is None and at["place"] == [] and at["doing"] == "starting"


def test_a_call_that_waits_for_a_message_has_the_step_and_the_partner_of_that():
    from allreduce_bench.executing.pipeline import _join_calls
    from allreduce_bench.watching.whereabouts import Partners

    seen = []
    calls = [lambda: None, *(lambda: seen.append(where()["call"]) for _ in range(4))]
    _join_calls(calls, [None, Partners(-2, 4, 1), Partners(3, -2, 1), None, Partners(-2, 4, 7)])()
    assert [(call["step"], call["of"], call["dest"], call["source"]) for call in seen] == [
        (1, 7, None, 4),
        (1, 7, 3, None),
        (1, 7, 3, None),
        (7, 7, None, 4),
    ]
    assert (seen[-1]["sent"], seen[-1]["received"]) == ({"3": 1}, {"4": 2})
