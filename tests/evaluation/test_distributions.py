"""Distributions of single numbers, held against those of scipy."""

from itertools import product
from math import inf

import pytest
from scipy import special
from scipy.stats import chi2, f

from allreduce_bench.evaluation.distributions import (
    digamma,
    f_above,
    tetragamma,
    trigamma,
)

DEGREES = (1, 2, 2.5, 4, 7.3, 30, 200, 5000)


@pytest.mark.parametrize("x", [1e-4, 0.1, 0.5, 1, 2, 3.3, 11.9, 12, 50, 1e4, 1e8])
def test_derivatives_of_log_gamma(x):
    assert digamma(x) == pytest.approx(special.digamma(x), rel=1e-13)
    assert trigamma(x) == pytest.approx(special.polygamma(1, x), rel=1e-13)
    assert tetragamma(x) == pytest.approx(special.polygamma(2, x), rel=1e-13)


@pytest.mark.parametrize(("value", "degrees", "other"), [*product((1e-3, 0.5, 1, 3, 20), (1, 4, 40), DEGREES)])
def test_ratios_of_variances(value, degrees, other):
    assert f_above(value, degrees, other) == pytest.approx(f.sf(value, degrees, other), rel=1e-9)


def test_the_ends():
    assert f_above(3.3, 4, inf) == pytest.approx(chi2.sf(4 * 3.3, 4), rel=1e-4) and f_above(0.0, 4, 4) == 1
