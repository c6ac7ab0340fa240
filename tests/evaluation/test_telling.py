"""What launches tell of two cells, held against known truths."""

import numpy as np
import pytest

from allreduce_bench.evaluation.spread import differences, launch_ratios, significant


def test_ratios_are_of_launches_that_measured_both():
    row = {"launch_medians": {"2r-1": 1.0, "2r-2": 2.0}}
    assert launch_ratios(row, {"launch_medians": {"2r-2": 4.0, "2r-9": 1.0}}) == {"2r-2": 0.5}


def test_too_few_launches_tell_nothing():
    assert differences([[2.0, 2.0], []]) == [None, None] and differences([]) == []


def test_a_clear_ratio_is_told_with_its_interval_and_the_other_way_round():
    (told,) = differences([[2.0, 2.1, 1.9]])
    assert 1 < told.low < told.ratio < told.high and told.p_value < 0.05 and not told.is_equal
    assert told.ratio == pytest.approx((2.0 * 2.1 * 1.9) ** (1 / 3))
    assert told.inverse.ratio == pytest.approx(1 / told.ratio) and told.inverse.low == pytest.approx(1 / told.high)


def test_equal_is_shown_and_not_merely_not_refuted():
    same, unknown, apart = differences([[1.01, 0.99, 1.0, 1.01, 0.99], [0.5, 2.0, 1.0, 0.6, 1.7], [1.06] * 5])
    assert same.is_equal and same.p_value > 0.3
    assert not unknown.is_equal and unknown.p_value > 0.3
    assert not apart.is_equal and apart.p_value < 0.05


def test_spread_is_borrowed_from_the_other_pairs():
    quiet = [list(np.exp(np.random.default_rng(i).normal(0, 0.01, 5))) for i in range(10)]
    lucky = [1.02, 1.0200001, 1.0199999, 1.02, 1.02]  # without the others it would be certain beyond measure
    alone, together = differences([lucky])[0], differences([lucky, *quiet])[0]
    assert together.high - together.low > 10 * (alone.high - alone.low)


def test_a_disturbed_launch_is_drawn_in():
    others = [list(np.exp(np.random.default_rng(i).normal(0, 0.02, 5))) for i in range(10)]
    disturbed = [1.2, 1.21, 1.19, 1.2, 20.0]
    told = differences([disturbed, *others])[0]
    assert told.ratio < 1.3 and told.p_value < 0.01


def test_the_level_is_kept():
    """Of 400 equal pairs with nothing to borrow from, 5 % are found different at 5 %, give or take three errors."""
    noise = np.random.default_rng(7).normal(0, 0.1, (400, 5))
    found = sum(differences([list(np.exp(of_pair))])[0].p_value < 0.05 for of_pair in noise)
    assert found < 20 + 3 * 20**0.5


@pytest.mark.parametrize(
    "p_values, answered",
    [
        ([], []),
        ([0.02], [True]),
        ([0.02, 0.02], [False, False]),
        ([0.02, 0.012], [True, True]),  # the second one counts once
        ([0.5, 0.008, 0.02], [False, True, False]),
    ],
)
def test_the_first_of_many_questions_pays_for_all(p_values, answered):
    assert significant(p_values) == answered
