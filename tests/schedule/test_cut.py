"""Steps cut into segments: the same messages in pieces, proved before they are used."""

import pytest

from allreduce_bench.algorithms import builtin
from allreduce_bench.schedule import Step, elements
from allreduce_bench.schedule import cut as module
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.schedule.cut import cut, cut_schedules
from allreduce_bench.schedule.verify import Refusal, verify

WHOLE = [algorithm for algorithm in builtin().values() if not algorithm.segmented]


def test_a_message_is_cut_by_position_across_its_ranges():
    step = Step(1, (range(10, 15), range(0, 2)), 2, (range(3, 6),), reduce=True, original=True)
    assert cut([step], 3) == [
        Step(1, (range(10, 13),), 2, (range(3, 6),), reduce=True, original=True),
        Step(1, (range(13, 15), range(0, 1)), None, (), original=True),
        Step(1, (range(1, 2),), None, (), original=True),
    ]
    assert cut([step._replace(dest=None, send=(), original=False)], 2) == [
        Step(None, (), 2, (range(3, 5),), reduce=True),
        Step(None, (), 2, (range(5, 6),), reduce=True),
    ]


@pytest.mark.parametrize("segment", [7, 8, 10**9])
def test_what_fits_into_a_segment_stays_as_it_is(segment):
    steps = [Step(1, (range(7),), None, ()), Step(None, (), 1, (range(2), range(4, 7)))]
    assert cut(steps, segment) == steps


@pytest.mark.parametrize("algorithm", WHOLE, ids=lambda algorithm: algorithm.name)
@pytest.mark.parametrize("segment", [1, 3, 64])
def test_the_algorithms_may_be_cut_and_move_as_much_as_before(algorithm, segment):
    for size in (2, 3, 4, 5, 8):
        topology = Topology.filled(size, 3)
        if algorithm.unmet(size, topology):
            continue
        schedules = algorithm.schedules(size, topology, 67, 1)
        pieces = cut_schedules(schedules, 67, segment)
        assert not pieces.why_not and pieces.schedules == [cut(steps, segment) for steps in schedules]
        whole = verify(schedules, 67)
        assert pieces.proof._replace(steps=0) == whole._replace(steps=0) and pieces.proof.steps >= whole.steps
        assert all(elements(step.send) <= segment >= elements(step.recv) for own in pieces.schedules for step in own)


def swap(first: range, second: range) -> list[list[Step]]:
    """Two ranks that exchange both halves at once, each naming them in an order of its own, and reduce."""
    there, back = (first, second), (second, first)
    return [[Step(1, there, 1, back, reduce=True)], [Step(0, back, 0, there, reduce=True)]]


def test_steps_that_send_what_an_earlier_piece_received_run_whole():
    schedules = swap(range(2), range(2, 4))
    assert verify(schedules, 4)
    whole = cut_schedules(schedules, 4, 2)
    assert whole.schedules == schedules and whole.proof == verify(schedules, 4)
    refused, _, where = whole.why_not.partition(": ")
    assert refused.startswith("cut into segments") and refused.endswith("no all-reduce")
    assert where.startswith("round 2: rank ") and "twice" in where
    assert not cut_schedules(schedules, 4, 4).why_not


def test_too_many_pieces_are_not_made(monkeypatch):
    schedules = builtin()["ring"].schedules(4, Topology.one_node(4), 64, 1)
    monkeypatch.setattr(module, "MOST_STEPS", 100)
    assert cut_schedules(schedules, 64, 4).why_not == ""  # 24 messages of 4 pieces
    assert cut_schedules(schedules, 64, 3).why_not == "segments make 144 steps, more than 100"
    assert cut_schedules(schedules, 64, 3).schedules == schedules
    monkeypatch.setattr(module, "MOST_STEPS", 1)
    assert cut_schedules(schedules, 64, 64).why_not == ""  # nothing is cut


def test_whole_steps_that_are_no_all_reduce_are_refused():
    with pytest.raises(Refusal):
        cut_schedules([[Step(1, (range(4),), None, ())], [Step(None, (), 0, (range(4),))]], 4, 2)
