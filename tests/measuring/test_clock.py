"""The common clock over a real MPI: its bound holds whatever the ranks' clocks show, or it says that there is none.

No time is asserted but the bound, which must hold on the slowest machine; the figures are printed.
"""

import pytest
from interpreters import FULL, in_turn, interpreters

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
RANKS = [1, 2, 3, 5, 8]
WITH_BAD = RANKS if FULL else [2, 5]


@pytest.fixture(params=dict.fromkeys(interpreters()), ids=lambda path: path.parent.parent.name)
def python(request):
    return request.param


@pytest.mark.parametrize("ranks", RANKS)
def test_the_bound_holds_in_every_trial_and_with_clocks_that_differ(python, on_ranks, ranks):
    in_turn(RANKS.index(ranks), python)
    trials = 100 if ranks == 2 else 10
    held, bounds = on_ranks(ranks, "clock.trials", trials)[0]
    print(bounds)
    assert held == trials
    assert on_ranks(ranks, "clock.good") == [(16, [])] * ranks


@pytest.mark.parametrize("ranks", WITH_BAD)
def test_clocks_that_run_backwards_or_stand_are_noticed(python, on_ranks, ranks):
    in_turn(RANKS.index(ranks), python)
    assert on_ranks(ranks, "clock.bad") == [(10, [])] * ranks


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_one_clock_of_a_node_is_believed_until_a_window_says_otherwise(python, on_ranks, ranks):
    in_turn(ranks, python)
    first, *others = on_ranks(ranks, "clock.of_one_node")
    assert first == [(True, "one"), (True, "several")]
    assert all(is_right for found in others for is_right, _ in found)


def test_the_drift_lies_in_the_middle_of_what_two_windows_allow():
    from allreduce_bench.measuring.clock import Clock, Window  # late: it starts MPI

    clock = Clock.__new__(Clock)
    clock._first, clock._windows = Window(10.0, -1e-6, 1e-6), [Window(12.0, 799e-6, 801e-6)]
    assert clock._drift_ppm() == pytest.approx((400, 1))
