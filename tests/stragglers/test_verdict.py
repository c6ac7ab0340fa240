"""Slow ranks and nodes are named with what they cost, and nobody is where there is nobody."""

import numpy as np
import pytest

from allreduce_bench.stragglers.arrivals import Arrivals
from allreduce_bench.stragglers.sentences import judge_arrivals, verdict_sentences
from allreduce_bench.stragglers.slow_units import GROUP, NODE, RANK
from allreduce_bench.stragglers.synthetic import Slow, synthetic_arrivals
from allreduce_bench.stragglers.verdict import (
    BELOW_CLOCK,
    BELOW_NOISE,
    NO_SINGLE_CAUSE,
    ONE_RANK,
    SMALL_WAIT,
    TOO_FEW_STEPS,
    straggler_report,
)


def arrivals(ranks, slow=(), steps=200, seed=5, **options):
    """Quiet ones: 2 % of noise and no spikes, where nothing else is asked for."""
    return synthetic_arrivals(ranks, steps, seed, slow, **({"noise": 0.02, "spikes": 0.0} | options))


def with_steps(made):
    """The same after its ready times were changed: steps end when the last rank is ready."""
    late_s = made.ready_s - made.begin_s[:, None]
    return made._replace(step_s=late_s.max(axis=1))


def named(report):
    return [(suspect.kind, suspect.ranks) for suspect in report.suspects]


@pytest.mark.parametrize("ranks", [2, 3, 8, 128, 1024])
def test_a_rank_that_is_12_per_cent_slower_is_named(ranks):
    report = straggler_report(arrivals(ranks, [Slow((1,), 0.12)]))
    (suspect,) = report.suspects
    assert (suspect.kind, suspect.ranks, report.silence) == (RANK, (1,), "")
    assert suspect.slower_by == pytest.approx(0.12, abs=0.02) and suspect.z > 3.5
    assert (suspect.from_step, suspect.to_step) == (0, 200)
    assert suspect.is_cause and suspect.explains_share > 0.9 and report.unexplained_share < 0.1
    assert suspect.last_share == report.last_count[1] / 200 > 0.8
    assert suspect.saved_s == report.saved_s == pytest.approx(suspect.cost_share * 200 * 1.13, rel=0.02)


def test_without_noise_the_figures_are_those_of_arithmetic():
    report = straggler_report(arrivals(10, [Slow((3,), 0.12)], noise=0.0))
    assert report.idle_rank_s == pytest.approx(200 * 9 * 0.12)
    assert report.suffered_s.tolist() == pytest.approx([24.0] * 3 + [0.0] + [24.0] * 6)
    assert report.caused_s.tolist() == pytest.approx([0.0] * 3 + [24.0] + [0.0] * 6)
    assert (report.wait_share, report.lasting_share) == pytest.approx((0.9 * 0.12 / 1.12,) * 2)
    assert (report.waiting_share, report.cost_share) == pytest.approx((0.12 / 1.12,) * 2)
    assert (report.undisturbed_s, report.step_s) == pytest.approx((1.0, 1.12))
    (suspect,) = report.causes
    assert (suspect.slower_by, suspect.explains_share) == pytest.approx((0.12, 1.0))


@pytest.mark.parametrize("ranks", [2, 3, 8, 128])
@pytest.mark.parametrize("noise, spikes", [(0.0, 0.0), (0.05, 0.01), (0.2, 0.01)])
def test_nobody_is_named_where_nobody_is_slow(ranks, noise, spikes):
    for seed in range(10):
        report = straggler_report(arrivals(ranks, seed=seed, noise=noise, spikes=spikes))
        assert report.suspects == report.causes == () and report.silence in (SMALL_WAIT, BELOW_NOISE)
        assert report.saved_s == report.cost_share == 0


def test_two_and_three_slow_ranks_are_named_together():
    for slow in ([Slow((1, 6), 0.3)], [Slow((2,), 0.2), Slow((3,), 0.3), Slow((7,), 0.25)]):
        report = straggler_report(arrivals(8, slow, seed=2))
        ranks = {rank for each in slow for rank in each.ranks}
        assert {suspect.ranks[0] for suspect in report.suspects} == ranks
        assert sum(suspect.explains_share for suspect in report.suspects) > 0.9
        assert {suspect.ranks[0] for suspect in report.causes} <= ranks and report.causes
        assert report.saved_s > sum(suspect.saved_s for suspect in report.suspects)  # the other one is still slow


def test_a_rank_that_became_slow_and_recovered_has_its_period():
    report = straggler_report(arrivals(16, [Slow((4,), 0.3, 700, 900)], steps=1000))
    (suspect,) = report.suspects
    assert suspect.from_step == pytest.approx(700, abs=3) and suspect.to_step == pytest.approx(900, abs=3)
    assert suspect.slower_by == pytest.approx(0.3, abs=0.02) and report.slower_by[4] < 0.02
    assert (
        suspect.is_cause and report.waiting_share < 0.1 < suspect.waiting_share
    )  # of all steps, not of those in which it was slow
    assert suspect.last_share > 0.95 and 190 < report.last_count[4] < 300
    assert suspect.step_with_s == pytest.approx(1.3, abs=0.02)  # of these steps; the median of all steps is shorter
    assert suspect.step_without_s == pytest.approx(1.04, abs=0.02) and report.step_s < 1.1


def test_a_node_whose_ranks_are_late_alike_is_named_instead_of_them():
    report = straggler_report(arrivals(16, [Slow((4, 5, 6, 7), 0.2)], ranks_per_node=4))
    assert named(report) == [(NODE, (4, 5, 6, 7))]
    assert report.suspects[0].node == 1 and report.suspects[0].is_cause and report.suspects[0].last_share > 0.95


def test_one_of_two_nodes_is_late_behind_the_other():
    assert named(straggler_report(arrivals(8, [Slow((4, 5, 6, 7), 0.2)], ranks_per_node=4))) == [(NODE, (4, 5, 6, 7))]
    halves = arrivals(8, [Slow((4, 5, 6, 7), 0.2)])
    assert named(straggler_report(halves)) == [(GROUP, (4, 5, 6, 7))]  # of ranks alone nobody stands out


def test_a_slow_rank_is_not_its_node():
    for per_node in (2, 3, 4, 8):
        assert named(straggler_report(arrivals(24, [Slow((9,), 0.3)], ranks_per_node=per_node))) == [(RANK, (9,))]
    both = straggler_report(arrivals(16, [Slow((0, 1, 2, 3), 0.2), Slow((2,), 0.3)], ranks_per_node=4))
    assert sorted(named(both)) == [(NODE, (0, 1, 2, 3)), (RANK, (2,))]


def test_ranks_that_differ_all_over_are_no_single_cause():
    ramp = [Slow((rank,), 0.03 * rank) for rank in range(16)]
    report = straggler_report(arrivals(16, ramp))
    assert report.silence == NO_SINGLE_CAUSE and report.lasting_share > 0.8 * report.wait_share
    assert report.unexplained_share == 1.0


@pytest.mark.parametrize(("ranks", "slow"), [(8, 4), (64, 21), (64, 48)])
def test_two_groups_are_told_with_their_cost(ranks, slow):
    report = straggler_report(arrivals(ranks, [Slow(tuple(range(slow)), 0.3)], noise=0.05, spikes=0.01, steps=300))
    (group,) = report.groups
    assert report.causes == (group,) and group.ranks == tuple(range(slow)) and report.silence == ""
    assert group.slower_by == pytest.approx(0.3, abs=0.02) and group.explains_share > 0.8
    assert group.cost_share > 0.03 and (group.from_step, group.to_step) == (0, 300)


def test_two_groups_without_noise_are_those_of_arithmetic():
    report = straggler_report(arrivals(8, [Slow((0, 2, 4, 6), 0.3)], noise=0.0))
    (group,) = report.causes
    assert (group.kind, group.ranks, group.node) == (GROUP, (0, 2, 4, 6), -1)
    assert (group.slower_by, group.cost_share, report.undisturbed_s) == pytest.approx((0.3, 0.3 / 1.3, 1.0))


def test_a_rank_beyond_its_slow_group_is_named_beside_it():
    report = straggler_report(arrivals(16, [Slow(tuple(range(8)), 0.3), Slow((3,), 0.1)]))
    assert named(report) == [(GROUP, tuple(range(8))), (RANK, (3,))]


def test_few_nodes_are_named_and_many_are_a_group():
    few = straggler_report(arrivals(64, [Slow(tuple(range(16)), 0.2)], ranks_per_node=8))
    assert named(few) == [(NODE, tuple(range(8))), (NODE, tuple(range(8, 16)))]
    many = straggler_report(arrivals(64, [Slow(tuple(range(32)), 0.2)], ranks_per_node=8))
    assert named(many) == [(GROUP, tuple(range(32)))]


def test_a_rank_that_is_late_in_every_tenth_step_has_its_period():
    made = arrivals(8, steps=300, noise=0.05)
    made.ready_s[9::10, 0] += 0.3
    (suspect,) = straggler_report(with_steps(made)).causes
    assert (suspect.ranks, suspect.every) == ((0,), 10) and suspect.late_share == pytest.approx(0.1, abs=0.01)
    assert 0.01 < suspect.cost_share < 0.03 and suspect.step_without_s < suspect.step_with_s


def test_a_checkpoint_of_one_rank_is_told_where_it_costs_one_per_cent():
    made = arrivals(8, steps=300, noise=0.05)
    made.ready_s[99::100, 0] += 2.0
    (suspect,) = straggler_report(with_steps(made)).causes
    assert (suspect.ranks, suspect.every) == ((0,), 100) and suspect.cost_share == pytest.approx(0.018, abs=0.002)
    made.ready_s[99::100, 0] -= 1.5
    assert not straggler_report(with_steps(made)).suspects


@pytest.mark.parametrize("ranks", [8, 64])
@pytest.mark.parametrize("lag1", [0.9, 0.95])
def test_steps_that_depend_on_each_other_name_nobody(ranks, lag1):
    for seed in range(5):
        report = straggler_report(arrivals(ranks, steps=300, noise=0.2, lag1=lag1, seed=seed))
        assert not report.suspects and 5 < report.worth_steps < (30 if lag1 == 0.9 else 15)
        assert report.steps_needed > 300


def test_a_cause_costs_one_per_cent():
    made = arrivals(8, [Slow((3,), 0.3, 2000, 2060)], steps=4000, noise=0.01)
    report = straggler_report(made)
    (suspect,) = report.suspects
    assert suspect.stands_out and not suspect.is_cause and suspect.cost_share < 0.01
    assert "and 1 % is the least" in verdict_sentences(judge_arrivals("", made))[0]


def test_the_last_of_a_wide_field_is_told_and_is_no_cause():
    random = np.random.default_rng(3)
    made = arrivals(8, steps=300, noise=0.05)
    made.ready_s[:] += 0.03 * random.standard_normal(8)
    made.ready_s[:, 2] += 0.1
    report = straggler_report(with_steps(made))
    assert [suspect.ranks for suspect in report.suspects] == [(2,)] and not report.causes
    assert not report.suspects[0].stands_out and 0 < report.suspects[0].expected < 0.7
    assert 0.01 < report.spread_share < 0.06


def test_below_the_clock_nothing_is_claimed():
    job = arrivals(8, [Slow((3,), 0.12)])
    assert named(straggler_report(job._replace(clock_error_s=0.03))) == [(RANK, (3,))]
    report = straggler_report(job._replace(clock_error_s=0.05))
    assert (report.silence, report.suspects) == (BELOW_CLOCK, ()) and report.clock_share == pytest.approx(
        0.15, rel=0.05
    )


def test_a_lateness_that_noise_may_make_is_not_claimed():
    report = straggler_report(arrivals(8, [Slow((3,), 0.12)], steps=20, noise=0.3))
    assert report.silence == BELOW_NOISE and report.noise_share > 0.12


def test_small_lateness_is_measured_and_not_named():
    report = straggler_report(arrivals(8, [Slow((3,), 0.03)], noise=0.01))
    assert report.silence == SMALL_WAIT and report.slower_by[3] == pytest.approx(0.03, abs=0.005) and report.z[3] > 10


def test_where_chance_makes_the_wait_a_slow_rank_is_named_and_is_no_cause():
    report = straggler_report(arrivals(128, [Slow((3,), 0.12)], noise=0.05, spikes=0.01))
    (suspect,) = report.suspects
    assert suspect.ranks == (3,) and not suspect.is_cause and suspect.cost_share < 0.02 < 0.5 < report.wait_share


def test_too_little_to_compare():
    assert straggler_report(arrivals(1)).silence == ONE_RANK
    assert straggler_report(arrivals(4, [Slow((0,), 1.0)], steps=9)).silence == TOO_FEW_STEPS
    empty = straggler_report(Arrivals(np.empty((0, 4)), np.empty(0), 0.0, (0, 1, 2, 3)))
    assert empty.silence == TOO_FEW_STEPS and empty.steps == 0 and empty.last_count.tolist() == [0] * 4


def test_what_is_not_known_is_left_out():
    job = arrivals(8, [Slow((3,), 0.2)], steps=300)
    job.ready_s[::3, 3] = np.nan
    job.ready_s[100:, 5] = np.nan
    job.ready_s[:, 6] = np.nan
    job.ready_s[40] = np.nan
    job.step_s[0] = np.nan
    report = straggler_report(job)
    assert named(report) == [(RANK, (3,))] and report.steps == 298
    assert np.isnan(report.slower_by[6]) and np.isnan(report.p_value[6]) and report.suffered_s[6] == 0
    assert report.suspects[0].slower_by == pytest.approx(0.2, abs=0.02)
