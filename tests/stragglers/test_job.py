"""Which steps count, and what is counted in them."""

import numpy as np
import pytest

from allreduce_bench.stragglers.arrivals import Arrivals
from allreduce_bench.stragglers.noise import chance_of_at_least
from allreduce_bench.stragglers.verdict import count_independent, job_of


def test_steps_that_cannot_be_compared_are_left_out():
    ready_s = np.array([[1.0, 2.0], [1.0, np.nan], [1.0, 2.0], [1.0, np.inf], [1.0, 2.0], [5.0, 4.0]])
    job = job_of(Arrivals(ready_s, np.array([3.0, 3.0, np.nan, 3.0, 0.0, 5.0]), 0.0, (0, 1)))
    assert job.used.tolist() == [True, False, False, False, False, True]
    assert (job.steps, job.ranks, job.all_s, job.typical_s, job.undisturbed_s) == (2, 2, 8.0, 4.0, 3.0)
    assert job.last_count.tolist() == [1, 1] and job.caused_s.tolist() == [1.0, 1.0]
    assert job.waiting_share() == pytest.approx(2.0 / 8.0) and job.is_too_small
    assert job.waiting_share(slice(0, 3)) == pytest.approx(1.0 / 3.0)
    assert job.p_values() == pytest.approx([0.75, 0.75])


def test_a_rank_that_is_seldom_known_is_held_against_its_own_steps():
    ready_s = np.tile([1.0, 2.0, 3.0], (12, 1))
    ready_s[np.delete(np.arange(12), [0, 6]), 2] = np.nan
    job = job_of(Arrivals(ready_s, np.full(12, 4.0), 0.0, (0, 1, 2)))
    assert job.last_count.tolist() == [0, 10, 2] and job.last_alike_steps == 1
    assert job.p_values()[2] == pytest.approx(1 / 9) and job.p_values()[1] < 0.03


def test_who_was_last_in_the_step_before_is_seldom_last_by_chance_again():
    ready_s = np.ones((200, 2))
    ready_s[np.arange(200), np.repeat([0, 1, 0, 0], 50)] = 2.0  # in long rows
    job = job_of(Arrivals(ready_s, np.full(200, 4.0), 0.0, (0, 1)))
    assert job.last_count.tolist() == [150, 50] and job.last_alike_steps > 20
    assert job.p_values()[0] > 0.05 > 1e-6 > float(chance_of_at_least(np.array(150), 200, 0.5))


def test_counts_that_are_worth_less_are_not_exaggerated():
    counts, trials = count_independent(np.array([0, 29, 200]), 200, 10.0)
    assert (counts.tolist(), trials) == ([0, 2, 20], 20)
    assert count_independent(np.array([3]), 3, 100.0)[1] == 1


def test_steps_that_are_shorter_than_their_skew_are_taken_as_they_are():
    job = job_of(Arrivals(np.tile([0.0, 0.0, 9.0], (12, 1)), np.full(12, 4.0), 0.0, (0, 1, 2)))
    assert job.undisturbed_s == job.typical_s == 4.0


def test_shapes_that_do_not_fit_are_one_line():
    with pytest.raises(ValueError, match=r"not \[step.*5 steps.*2 ranks"):
        job_of(Arrivals(np.zeros((5, 3)), np.ones(5), 0.0, (0, 0)))
