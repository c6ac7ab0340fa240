"""Distributions of single numbers, held against those of scipy."""

from itertools import product
from math import inf

import pytest
from scipy import special
from scipy.stats import chi2, f, norm, t

from allreduce_bench.evaluation.distributions import (
    digamma,
    f_above,
    t_beyond,
    t_reach,
    tetragamma,
    trigamma,
)

DEGREES = (1, 2, 2.5, 4, 7.3, 30, 200, 5000)


@pytest.mark.parametrize("x", [1e-4, 0.1, 0.5, 1, 2, 3.3, 11.9, 12, 50, 1e4, 1e8])
def test_derivatives_of_log_gamma(x):
    assert digamma(x) == pytest.approx(special.digamma(x), rel=1e-13)
    assert trigamma(x) == pytest.approx(special.polygamma(1, x), rel=1e-13)
    assert tetragamma(x) == pytest.approx(special.polygamma(2, x), rel=1e-13)


@pytest.mark.parametrize(("degrees", "value"), [*product(DEGREES, (1e-3, 0.1, 1, 2, -5, 20, 100))])
def test_students_t(degrees, value):
    assert t_beyond(value, degrees) == pytest.approx(2 * t.sf(abs(value), degrees), rel=1e-10)


@pytest.mark.parametrize(("degrees", "share"), [*product(DEGREES, (0.1, 0.05, 0.01, 1e-4))])
def test_reaches_of_students_t(degrees, share):
    assert t_reach(share, degrees) == pytest.approx(t.isf(share / 2, degrees), rel=1e-10)


@pytest.mark.parametrize(("value", "degrees", "other"), [*product((1e-3, 0.5, 1, 3, 20), (1, 4, 40), DEGREES)])
def test_ratios_of_variances(value, degrees, other):
    assert f_above(value, degrees, other) == pytest.approx(f.sf(value, degrees, other), rel=1e-9)


def test_without_end_of_degrees_they_are_normal():
    assert t_beyond(1.96, inf) == pytest.approx(2 * norm.sf(1.96)) and t_reach(0.05, inf) == pytest.approx(
        norm.isf(0.025)
    )
    assert f_above(3.3, 4, inf) == pytest.approx(chi2.sf(4 * 3.3, 4), rel=1e-4)


def test_the_ends():
    assert t_beyond(0.0, 4) == 1 and f_above(0.0, 4, 4) == 1 and t_beyond(1e200, 4) == 0
