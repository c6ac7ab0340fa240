"""The round of each message: neither end is busy with another message of its kind, and nothing is lost."""

import pytest

from allreduce_bench.algorithms import builtin
from allreduce_bench.schedule import Step
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.schedule.draw import Sent, messages_of_rounds
from allreduce_bench.schedule.price import price
from allreduce_bench.schedule.verify import Refusal


@pytest.mark.parametrize("name", builtin())
@pytest.mark.parametrize("size", [1, 2, 6, 13])
def test_every_message_has_one_round_and_there_are_as_many_as_the_critical_path_is_long(name, size):
    schedules = builtin()[name].schedules(size, Topology.filled(size, 3), 4 * size, size)
    rounds = messages_of_rounds(schedules)
    assert len(rounds) == price(schedules, 1.0, 0.0).messages
    assert sum(map(len, rounds)) == sum(bool(step.send) for steps in schedules for step in steps)
    for messages in rounds:
        assert len({sent.source for sent in messages}) == len({sent.dest for sent in messages}) == len(messages) > 0


def test_a_message_waits_for_the_later_end():
    """Rank 2 has to send to rank 1 before it receives from rank 0, which sends at once."""
    whole = (range(1),)
    last = [Step(1, whole, None, ()), Step(None, (), 0, whole)]
    schedules = [[Step(2, whole, None, ())], [Step(None, (), 2, whole)], last]
    assert messages_of_rounds(schedules) == [[Sent(2, 0, 1, 0)], [Sent(0, 0, 2, 1)]]


def test_who_waits_for_ever_is_refused():
    with pytest.raises(Refusal, match="waits forever .*receive from rank 1") as refused:
        messages_of_rounds([[Step(None, (), 1, (range(1),))], []])
    assert (refused.value.round, refused.value.rank) == (1, 0)
