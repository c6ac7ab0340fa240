"""Tiny schedules whose critical path is counted by hand: alpha = 100, beta = 10, gamma = 1."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allreduce_bench.algorithms import builtin
from allreduce_bench.schedule import Step
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.schedule.price import Path, price
from allreduce_bench.schedule.verify import Refusal


def of(elements):
    return (range(elements),)


def send(dest, elements):
    return Step(dest, of(elements), None, ())


def recv(source, elements, reduce=False):
    return Step(None, (), source, of(elements), reduce)


def exchange(dest, sent, source, received, reduce=False):
    return Step(dest, of(sent), source, of(received), reduce)


@pytest.mark.parametrize(
    "schedules, path",
    [
        pytest.param([[], []], Path(0, 0, 0, 0), id="nothing"),
        pytest.param([[send(1, 3)], [recv(0, 3)]], Path(130, 1, 3, 0), id="one message"),
        pytest.param([[send(1, 3)], [recv(0, 3, True)]], Path(133, 1, 3, 3), id="one message, reduced"),
        pytest.param([[exchange(1, 3, 1, 5)], [exchange(0, 5, 0, 3)]], Path(150, 1, 5, 0), id="both ways at once"),
        pytest.param([[send(1, 1)] * 2, [recv(0, 1)] * 2], Path(220, 2, 2, 0), id="one after the other"),
        pytest.param(
            [[send(1, 2)], [recv(0, 2, True), send(2, 4)], [recv(1, 4, True)]],
            Path(266, 2, 6, 6),
            id="handed on, with the sum",
        ),
        pytest.param(
            [[send(2, 5)], [send(2, 1)], [recv(1, 1), recv(0, 5)]],
            Path(260, 2, 6, 0),
            id="a sender waits for its receiver",
        ),
        pytest.param(
            [[send(1, 9)], [recv(0, 9)], [send(3, 1)], [recv(2, 1)]],
            Path(190, 1, 9, 0),
            id="pairs do not wait for others",
        ),
        pytest.param(
            [[exchange(1, 1, 2, 8)], [recv(0, 1), send(2, 1)], [send(0, 8), recv(1, 1)]],
            Path(290, 2, 9, 0),
            id="a step ends with its longer half",
        ),
        pytest.param(
            [[exchange(1, 8, 2, 1), send(2, 1)], [recv(0, 8)], [send(0, 1), recv(0, 1)]],
            Path(290, 2, 9, 0),
            id="also if that is what it sends",
        ),
        pytest.param(
            [[send(1, 1), send(2, 1)], [recv(3, 9), recv(0, 1)], [recv(0, 1)], [send(1, 9)]],
            Path(410, 3, 11, 0),
            id="who waited for its receiver goes on late",
        ),
    ],
)
def test_the_critical_path(schedules, path):
    assert price(schedules, alpha=100, beta=10, gamma=1) == path


def test_which_path_is_critical_depends_on_the_prices():
    """Three short messages in a row against one long one."""
    schedules = [[send(1, 1)] * 3, [recv(0, 1)] * 3, [send(3, 20)], [recv(2, 20)]]
    assert price(schedules, alpha=1, beta=0) == Path(3, 3, 3, 0)
    assert price(schedules, alpha=0, beta=1) == Path(20, 1, 20, 0)


def test_a_schedule_that_waits_for_ever_has_no_price():
    with pytest.raises(Refusal, match="waits forever"):
        price([[send(1, 1)], [send(0, 1)]], alpha=1, beta=1)


prices = st.integers(0, 1000)


@pytest.mark.parametrize("name", builtin())
@given(size=st.integers(1, 9), count=st.integers(0, 40), alpha=prices, beta=prices, gamma=prices)
def test_the_time_is_the_sum_of_what_lies_on_the_path(name, size, count, alpha, beta, gamma):
    schedules = builtin()[name].schedules(size, Topology.filled(size, 3), count, 4)
    path = price(schedules, alpha, beta, gamma)
    assert path.time == alpha * path.messages + beta * path.elements + gamma * path.reduced
    assert path.time >= price(schedules, alpha, beta, 0).time  # dearer is not faster
    assert price(schedules, 3 * alpha, 3 * beta, 3 * gamma).time == 3 * path.time
