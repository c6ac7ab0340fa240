"""Medians leave out what is not known; noise is told from levels."""

import warnings

import numpy as np
import pytest

from allreduce_bench.robust import block_medians, critical_z, deviation, median, median_of_others, spread_of_blocks


def with_holes(shape, share, seed=3):
    random = np.random.default_rng(seed)
    values = random.integers(0, 6, shape).astype(float)  # many are equal
    values[random.random(shape) < share] = np.nan
    return values


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("share", [0.0, 0.4])
def test_medians_are_those_of_numpy(axis, share):
    values = with_holes((5, 6, 7), share)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of slices without a value
        assert np.array_equal(median(values, axis), np.nanmedian(values, axis=axis), equal_nan=True)


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 7, 8])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_the_others_are_all_but_the_one(columns, share):
    values = with_holes((40, columns), share)
    found = median_of_others(values)
    for row, column in np.ndindex(*values.shape):
        others = np.delete(values[row], column)
        others = others[~np.isnan(others)]
        if not np.isnan(values[row, column]):
            expected = np.median(others) if len(others) else np.nan
            assert np.array_equal(found[row, column], expected, equal_nan=True)


def test_deviation_is_that_of_normal_values_and_ignores_few_others():
    values = np.random.default_rng(1).normal(3, 2, 10_000)
    values[:1000] = 1e6
    assert deviation(values) == pytest.approx(2.2, abs=0.15)
    assert deviation(np.array([1.0, 2.0, 9.0, np.nan])) == 0.0


def test_a_step_of_level_is_no_noise():
    values = np.random.default_rng(1).normal(0, 1, (2000, 8))
    quiet = spread_of_blocks(block_medians(values, 50))
    values[1000:, 3] += 5
    assert quiet == pytest.approx(1.25 / 40**0.5, rel=0.35)
    assert spread_of_blocks(block_medians(values, 50))[3] < 2.7 * quiet[3]


def test_no_column_is_quieter_than_the_middle_one():
    values = np.random.default_rng(1).normal(0, 1, (2000, 8)) * ([1.0] * 7 + [0.0])
    spread = spread_of_blocks(block_medians(values, 50))
    assert spread[7] == spread.min() > 0.1


def test_more_comparisons_and_less_known_noise_ask_for_more():
    assert critical_z(100, 1000, 1000) == pytest.approx(3.5, abs=0.01)
    assert critical_z(1e6, 1000, 1000) == pytest.approx(4.753, abs=0.01)
    assert critical_z(1e6, 20, 2) > critical_z(1e6, 20, 8) > 4.9
