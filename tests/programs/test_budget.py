"""What trials may cost: a little to begin with, then a share of the time that all ranks know of."""

from math import inf

import pytest

from allreduce_bench.programs.settling import BEGIN_S, PREPARED_S, SHARE, Budget


def test_a_little_may_be_spent_at_once_and_then_a_share():
    budget = Budget()
    assert budget.allows(BEGIN_S) and not budget.allows(1.01 * BEGIN_S)
    budget.spend(BEGIN_S)
    assert budget.allows(0) and not budget.allows(1e-6)
    budget.earn(10)
    assert budget.allows(0.99 * SHARE * 10) and not budget.allows(1.01 * SHARE * 10)


def test_what_is_agreed_on_is_a_sum_so_far_and_what_is_earned_is_added():
    budget = Budget(share=0.5)
    budget.untimed_s = 100  # nobody else knows of it
    assert budget.time_s == 0
    budget.agree(2)
    budget.earn(1)
    budget.agree(3)
    budget.earn(1)
    assert budget.time_s == 5 and budget.allows(2.5) and not budget.allows(2.6)


def test_a_trial_that_was_faster_than_the_calls_gives_nothing_back():
    budget = Budget()
    budget.spend(-1)
    assert budget.spent_s == 0
    budget.spend(2)
    budget.spend(-1)
    assert budget.spent_s == 2


def test_what_it_takes_to_prepare_is_learnt():
    budget = Budget()
    assert budget.preparing_s == PREPARED_S
    budget.spend(0.5)  # in which nothing was prepared
    assert budget.preparing_s == PREPARED_S
    budget.spend(0.03, prepared=3, preparing_s=0.03)
    assert budget.preparing_s == pytest.approx((PREPARED_S + 0.03) / 4)


def test_one_without_end_allows_all():
    budget = Budget(inf)
    budget.spend(1e9)
    assert budget.is_endless and budget.allows(1e9) and not Budget().is_endless
