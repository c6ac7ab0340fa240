"""Borrowed variances: known results, what must not break the fit, and the level of moderated intervals."""

from math import inf, log

import numpy as np
import pytest
from scipy.special import polygamma
from scipy.stats import binom, norm, t

from allreduce_bench.evaluation.spread import (
    Prior,
    prior_of,
    shrunk,
    t_below,
    t_quantile,
    trigamma_inverse,
)


def drawn_variances(random: np.random.Generator, prior: Prior, degrees: int, cells: int) -> tuple[list, list]:
    """True variances of the prior, and what `degrees` degrees of freedom say of them."""
    shares = random.chisquare(prior.degrees, cells) / prior.degrees if prior.degrees < inf else np.ones(cells)
    true = prior.variance / shares
    return list(true), list(true * random.chisquare(degrees, cells) / degrees)


@pytest.mark.parametrize("value", [1e-9, 1e-3, 0.1, 1.0, 1.6449340668, 30.0, 1e9])
def test_trigamma_is_inverted(value):
    assert polygamma(1, trigamma_inverse(value)) == pytest.approx(value, rel=1e-4)


def test_trigamma_by_a_known_value():
    assert trigamma_inverse(np.pi**2 / 6) == pytest.approx(1)


@pytest.mark.parametrize("prior", [Prior(4.0, 4.0), Prior(1e-4, 10.0)])
def test_a_prior_is_found_again_from_many_cells(prior):
    _, variances = drawn_variances(np.random.default_rng(1), prior, 8, 5000)
    found = prior_of(variances, [8] * len(variances))
    assert found.variance == pytest.approx(prior.variance, rel=0.05)
    assert found.degrees == pytest.approx(prior.degrees, rel=0.2)


def test_cells_of_one_variance_are_worth_all_their_degrees():
    found = prior_of([1.0, 1.1, 0.9, 1.0], [8, 8, 8, 4])
    assert found.degrees == 28 and found.variance == pytest.approx(1.15, abs=0.05)  # the mean of logarithms is lower


def test_a_prior_of_limma():
    """Three variances of four degrees, by the formulas of fitFDist written out."""
    logs = np.log([0.1, 1.0, 10.0]) - polygamma(0, 2) + log(2)
    half = trigamma_inverse(logs.var(ddof=1) - polygamma(1, 2))
    found = prior_of([0.1, 1.0, 10.0], [4, 4, 4])
    assert found == pytest.approx((np.exp(logs.mean() + polygamma(0, half)) / half, 2 * half))


def test_too_few_cells_or_no_variances_lend_nothing():
    for variances in ([], [1.0, 2.0], [0.0] * 9, [0.0, 0.0, 1.0, 1.0]):
        assert prior_of(variances, [8] * len(variances)) == Prior(0, 0)
    assert shrunk(0.3, 4, Prior(0, 0)) == (0.3, 4)


def test_zeros_and_one_huge_variance_hardly_move_the_prior():
    _, variances = drawn_variances(np.random.default_rng(2), Prior(1.0, 20.0), 8, 12)
    usual = prior_of(variances, [8] * 12)
    assert prior_of([*variances, 0.0, 0.0], [8] * 14) == usual
    for huge in (100.0, 1e6):
        found = prior_of([*variances, huge], [8] * 13)
        assert 0.7 < found.variance / usual.variance < 1.5 and found.degrees > 5
        assert shrunk(huge, 8, found) == (huge, 8)
    assert shrunk(1e-9, 8, usual)[0] > 0.3 * usual.variance


def test_shrinking_is_a_mean_weighed_by_degrees():
    assert shrunk(1.0, 4, Prior(2.0, 6)) == (pytest.approx(1.6), 10)
    assert shrunk(1.0, 4, Prior(2.0, inf)) == (2.0, inf)
    assert shrunk(100.0, 4, Prior(2.0, inf)) == (100.0, 4)


@pytest.mark.parametrize("prior", [Prior(1.0, 3.0), Prior(1.0, 8.0), Prior(1.0, inf)])
@pytest.mark.parametrize(("cells", "degrees"), [(4, 8), (12, 8), (12, 4), (50, 8)])
def test_moderated_intervals_keep_their_level_over_the_cells(prior, cells, degrees):
    """And are shorter than each cell's own. What few cells lend is known badly: they may miss a little more often."""
    random, experiments = np.random.default_rng(3), 2400 // cells
    missed, widths, own_widths = 0, [], []
    for _ in range(experiments):
        true, variances = drawn_variances(random, prior, degrees, cells)
        found = prior_of(variances, [degrees] * cells)
        for of_cell, of_truth in zip(variances, true):
            moderated, total = shrunk(of_cell, degrees, found)
            missed += abs(random.normal(0, of_truth**0.5)) > (reach := t_quantile(0.975, total) * moderated**0.5)
            widths.append(reach)
            own_widths.append(t_quantile(0.975, degrees) * of_cell**0.5)
    assert missed <= binom.ppf(0.999, experiments * cells, 0.06 if cells < 12 else 0.05)
    assert np.mean(widths) < np.mean(own_widths)


def test_student_and_normal():
    assert t_quantile(0.975, 7) == pytest.approx(t.ppf(0.975, 7)) and t_quantile(0.975, inf) == norm.ppf(0.975)
    assert list(t_below(np.array([0.0, 1.0]), np.array([3, inf]))) == pytest.approx([0.5, norm.cdf(1)])


@pytest.mark.parametrize("tail, degrees", [(0.025, 4), (0.025 / 7, 12), (0.001, 200)])
def test_quantiles_are_those_of_scipy_to_the_last_bit(tail, degrees):
    assert -t_quantile(tail, degrees) == t.isf(tail, degrees) and -t_quantile(tail, inf) == norm.isf(tail)
