"""Who waits for whom when no message is buffered."""

import pytest

from allreduce_bench.algorithms import builtin
from allreduce_bench.schedule import Step
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.schedule.verify import Refusal, rendezvous

X, Y = (range(1),), (range(1, 3),)


def send(dest, ranges=X):
    return Step(dest, ranges, None, ())


def recv(source, ranges=X):
    return Step(None, (), source, ranges)


def both(dest, source):
    return Step(dest, X, source, X)


def test_one_message_completes_at_both_ends():
    assert sorted(rendezvous([[send(1)], [recv(0)]])) == [(0, 0, 0, None), (1, 0, None, 0)]


def test_an_exchange_completes_at_both_ends():
    assert sorted(rendezvous([[both(1, 1)], [both(0, 0)]])) == [(0, 0, 0, 0), (1, 0, 0, 0)]


def test_a_cycle_of_sendrecvs_completes():
    schedules = [[both((rank + 1) % 5, (rank - 1) % 5)] for rank in range(5)]
    assert sorted(rendezvous(schedules)) == [(rank, 0, 0, 0) for rank in range(5)]


def test_messages_between_two_ranks_keep_their_order():
    """The partner's index says which message it was, also where it comes with another step's other half."""
    schedules = [[send(1), send(1, Y)], [recv(0), both(2, 0)], [recv(1)]]
    completed = {(rank, index): (dest, source) for rank, index, dest, source in rendezvous(schedules)}
    assert completed == {
        (0, 0): (0, None),
        (0, 1): (1, None),
        (1, 0): (None, 0),
        (1, 1): (0, 1),
        (2, 0): (None, 1),
    }


def test_steps_without_a_partner_complete_at_once():
    nothing = Step(None, (), None, ())
    assert [place[:2] for place in rendezvous([[nothing, nothing]])] == [(0, 0), (0, 1)]
    assert list(rendezvous([[], []])) == []


def test_a_step_ends_only_when_both_halves_have_ended():
    """Rank 1 sends on in its first step; rank 2 must have taken that before rank 1 may start its second."""
    order = [place[:2] for place in rendezvous([[send(1), recv(1)], [both(2, 0), send(0)], [recv(1)]])]
    assert order.index((1, 0)) < order.index((1, 1)) <= order.index((0, 1)) + 1
    assert len(order) == 5


@pytest.mark.parametrize("name", builtin())
@pytest.mark.parametrize("size", [1, 2, 3, 7, 12])
def test_every_step_completes_once_and_in_the_order_of_its_rank(name, size):
    schedules = builtin()[name].schedules(size, Topology.filled(size, 4), 3 * size + 1, 5)
    seen = [[] for _ in range(size)]
    for rank, index, dest_index, source_index in rendezvous(schedules):
        step = schedules[rank][index]
        seen[rank].append(index)
        assert (dest_index is None) == (step.dest is None) and (source_index is None) == (step.source is None)
        if step.dest is not None:
            assert schedules[step.dest][dest_index].source == rank
        if step.source is not None:
            assert schedules[step.source][source_index].dest == rank
    assert seen == [list(range(len(own))) for own in schedules]


@pytest.mark.parametrize(
    "schedules, round_number, rank, words",
    [
        ([[send(1)], [send(0)]], 1, 0, "waits forever to send to rank 1, which is in round 1"),
        ([[recv(1)], [recv(0)]], 1, 0, "waits forever to receive from rank 1, which is in round 1"),
        ([[send(1)], []], 1, 0, "waits forever to send to rank 1, which has finished"),
        ([[], [recv(0)]], 1, 1, "waits forever to receive from rank 0, which has finished"),
        ([[send(1), recv(1)], [recv(0)]], 2, 0, "waits forever to receive from rank 1, which has finished"),
        (
            [[both(1, 2)], [both(2, 0)], [both(1, 0)]],
            1,
            0,
            "waits forever to receive from rank 2, which is in round 1",
        ),
        ([[send(1)], [recv(2), recv(0)], [recv(1), send(1)]], 1, 0, "to send to rank 1, which is in round 1"),
    ],
)
def test_who_waits_for_ever_is_named(schedules, round_number, rank, words):
    with pytest.raises(Refusal, match=words) as refusal:
        list(rendezvous(schedules))
    assert (refusal.value.round, refusal.value.rank) == (round_number, rank)
    assert str(refusal.value).startswith(f"round {round_number}: rank {rank} ")


def test_what_can_complete_has_completed_before_the_refusal():
    completed = []
    with pytest.raises(Refusal, match="round 2: rank 0"):
        for place in rendezvous([[send(1), recv(1)], [recv(0)]]):
            completed.append(place[:2])
    assert sorted(completed) == [(0, 0), (1, 0)]
