"""Prices by least squares: what made runs were made of, within their intervals, or not identified."""

import numpy as np
import parameter_intervals as study
import pytest

from allreduce_bench.algorithms import builtin
from allreduce_bench.models.alpha_beta import (
    ALIKE,
    ALPHA,
    APART,
    BETA,
    GAMMA,
    Parameter,
    fit_prices,
    meanings_for,
    priced_s,
    replace_beta,
    solve,
)
from allreduce_bench.models.terms import terms


@pytest.mark.parametrize("misfit", study.PLAIN)
@pytest.mark.parametrize("algorithm", study.ALGORITHMS)
def test_the_intervals_hold_what_runs_were_made_of(misfit, algorithm):
    """In 90 to 99 % of 200 trials; the study has more misfits, and four numbers of ranks."""
    held = study.figures([study.trial(algorithm, study.COUNTS[0], misfit, seed) for seed in range(200)])[:2]
    assert study.LEAST_HELD <= min(held) <= max(held) <= study.MOST_HELD


def test_exact_times_give_exact_prices():
    columns = np.array([[2.0, 8.0], [4.0, 8e6], [6.0, 64.0]])
    time_s = columns @ [5e-6, 1e-10]
    found = solve(columns / time_s[:, None])
    assert found.prices == pytest.approx([5e-6, 1e-10]) and found.loss == pytest.approx(0.0, abs=1e-9)


def test_no_price_is_below_zero():
    """Times that fall as messages grow: beta is 0, and the rest the best alpha alone."""
    columns = np.array([[1.0, 8.0], [1.0, 8e3], [1.0, 8e6]])
    found = solve(columns / np.array([3e-6, 2e-6, 1e-6])[:, None])
    assert found.prices[1] == 0 and 1e-6 < found.prices[0] < 3e-6


def test_below_four_numbers_of_ranks_there_is_no_interval():
    columns = np.array([[p, 1e6 * n] for p in (2.0, 4.0, 8.0, 16.0) for n in (1.0, 2.0)])
    time_s, ranks = columns @ [1e-6, 1e-10], np.repeat([2, 4, 8, 16], 2)
    alpha, beta = fit_prices(ALIKE, columns, time_s, ranks)
    assert alpha.is_identified and beta.is_identified and beta.value == pytest.approx(1e-10)
    few = fit_prices(ALIKE, columns[:6], time_s[:6], ranks[:6])
    assert [one.value for one in few] == pytest.approx([1e-6, 1e-10])
    assert [(one.low, one.is_identified) for one in few] == [(None, False)] * 2


def test_prices_that_stand_for_each_other_are_not_identified():
    """One size by recursive doubling: as many messages as bytes, up to a factor."""
    ranks = np.array([2, 4, 8, 16])
    columns = np.column_stack([np.log2(ranks), 8 * np.log2(ranks)])
    assert not any(one.is_identified for one in fit_prices(ALIKE, columns, columns @ [1e-6, 1e-9], ranks))


def test_links_of_both_kinds_have_prices_of_their_own():
    ring, per_node = builtin()["hierarchical_ring"], 4
    paths = [terms(ring, p, p // per_node, n, 4) for p in (8, 16, 32) for n in (8, 1 << 10, 1 << 20)]
    assert meanings_for(paths) == APART and meanings_for(paths[:7]) == ALIKE  # too few cells for four prices
    one_each = [terms(ring, p, p, n, 4) for p in (8, 16, 32) for n in (8, 1 << 10, 1 << 20)]
    assert meanings_for(one_each) == ALIKE


def test_other_links_replace_the_beta_between_nodes():
    alike = (Parameter(ALPHA, "", 1e-6), Parameter(BETA, "", 1e-10))
    assert replace_beta(alike, 2e-10, 0.0) == (alike[0], Parameter(BETA, "", 2e-10))
    apart = tuple(Parameter(*meaning, 1e-10) for meaning in APART)
    changed = replace_beta(apart, 2e-10, 3e-11)
    assert [one.value for one in changed] == [1e-10, 1e-10, 1e-10, 2e-10, 3e-11] and changed[-1].name == GAMMA


def test_a_price_is_that_of_the_formula():
    path = terms(builtin()["ring"], 16, None, 1 << 20, 4)
    prices = (Parameter(ALPHA, "", 5e-6), Parameter(BETA, "", 8e-11), Parameter(GAMMA, "", 1e-11))
    size_bytes = 1 << 20
    assert priced_s(prices, path) == pytest.approx(
        30 * 5e-6 + 30 / 16 * size_bytes * 8e-11 + 15 / 16 * size_bytes * 1e-11
    )
