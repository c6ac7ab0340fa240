"""Units that stand out from unlike ones. Rates: tests/studies/false_causes.py."""

from statistics import NormalDist

import numpy as np
import pytest
from scipy.stats import norm, t

from allreduce_bench.stragglers.noise import expected_beyond, normal_of_t, z_above_others


@pytest.mark.parametrize("freedom", [4, 10, 60])
def test_wallaces_formula_is_good_far_out(freedom):
    for chance in (1e-2, 1e-4, 1e-6):
        assert normal_of_t(t.isf(chance, freedom), freedom) == pytest.approx(norm.isf(chance), rel=0.03)
    assert normal_of_t(-2.0, freedom) == -normal_of_t(2.0, freedom)


@pytest.mark.parametrize("units", [8, 64, 512])
def test_of_units_that_differ_normally_one_stands_out_as_seldom_as_stated(units):
    values = np.random.default_rng(1).normal(0, 3.0, (2000, units))
    critical = -NormalDist().inv_cdf(0.01 / units)
    assert (z_above_others(values, 1.5) >= critical).any(axis=1).mean() < (0.05 if units == 8 else 0.02)


def test_slow_units_do_not_hide_each_other():
    values = np.random.default_rng(1).normal(0, 1.0, 16)
    values[[3, 9]] += 30.0
    z = z_above_others(values[None], 1.5)[0]
    assert set(np.flatnonzero(z > 4).tolist()) == {3, 9}


def test_a_fast_unit_does_not_hide_a_slow_one():
    values = np.random.default_rng(1).normal(0, 1.0, 16)
    values[3] += 15.0
    values[5] -= 100.0
    assert np.flatnonzero(z_above_others(values[None], 1.5)[0] > 4).tolist() == [3]


def test_what_is_not_known_does_not_stand_out():
    values = np.array([[0.0, 0.1, np.nan, 9.0, -0.1, 0.05]])
    z = z_above_others(values, 0.1)[0]
    assert z[2] == -np.inf and z.argmax() == 3


def test_how_many_are_expected():
    assert expected_beyond(0.0, 8) == 4.0 and expected_beyond(np.inf, 8) == 0.0
    assert expected_beyond(3.0, 512) == pytest.approx(0.69, abs=0.01)
