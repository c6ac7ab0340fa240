"""The deviation of means over blocks, held against what is known of autoregressive noise."""

import numpy as np
import pytest

from allreduce_bench.stragglers.noise import SCALES, BlockNoise


def series(lag: float, blocks: int, columns: int = 8, seed: int = 1) -> np.ndarray:
    """Autoregressive noise of deviation 1: float64 [block, column]."""
    values = np.random.default_rng(seed).standard_normal((blocks, columns))
    values[1:] *= np.sqrt(1 - lag**2)
    for block in range(1, blocks):
        values[block] += lag * values[block - 1]
    return values


def expected(lag: float, blocks: int) -> float:
    """The deviation of a mean over so many blocks of it."""
    apart = np.arange(1, blocks)
    return float(np.sqrt((1 + 2 * ((1 - apart / blocks) * lag**apart).sum()) / blocks))


def taken(values: np.ndarray) -> BlockNoise:
    noise = BlockNoise(values.shape[1])
    for row in values:
        noise.take(row)
    return noise


@pytest.mark.parametrize("lag", [0.0, 0.6, 0.9, 0.98])
def test_correlated_noise_is_measured_as_it_is(lag):
    noise = taken(series(lag, 2000))
    for scale in range(6):
        assert np.median(noise.estimate_means(scale).deviation) == pytest.approx(expected(lag, 2**scale), rel=0.15)


def test_after_few_blocks_independent_noise_is_not_taken_for_more():
    found = [np.median(taken(series(0.0, 20, seed=seed)).estimate_means(3).deviation) for seed in range(20)]
    assert np.mean(found) == pytest.approx(expected(0.0, 8), rel=0.2)


def test_a_jump_of_one_column_is_no_noise_and_a_noisy_column_is_noisy():
    values = series(0.0, 100)
    values[50:, 2] += 20.0
    values[:, 5] *= 3.0
    deviations = taken(values).estimate_means(0).deviation
    assert deviations[2] < 1.5 and deviations[5] == pytest.approx(3.0, rel=0.25)


def test_what_columns_differ_by_for_good_is_known():
    offsets = np.random.default_rng(1).standard_normal(200)
    values = series(0.0, 200, columns=200)
    assert taken(values).estimate_means(4).between < 0.1
    assert taken(values + offsets).estimate_means(4).between == pytest.approx(1.0, rel=0.15)


def test_memory_does_not_grow_and_what_is_not_known_is_no_evidence():
    values = series(0.0, 3000, columns=3)
    values[::7, 1] = np.nan
    noise = taken(values)
    assert noise._means.shape == (SCALES, 3) and np.isfinite(noise.estimate_means(0).deviation).all()
    assert not BlockNoise(3).estimate_means(0).deviation.any()
