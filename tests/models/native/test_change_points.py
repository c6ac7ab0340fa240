"""Sizes cut into pieces, each explained at prices of its own."""

import numpy as np
import pytest

from allreduce_bench.models.resemblance import misfits_of, sums_of_pieces, weigh

SIZES = 4.0 ** np.arange(8)


def paths(messages: np.ndarray, nbytes: np.ndarray, time_s: np.ndarray) -> list[np.ndarray]:
    """For each size a call, its messages and its bytes over its time: two numbers of ranks with equal times."""
    return [np.array([[1.0, m, n], [1.0, 2 * m, 2 * n]]) / t for m, n, t in zip(messages, nbytes, time_s)]


def test_sums_of_pieces_are_those_from_the_first_to_the_last():
    sums = sums_of_pieces(np.array([1.0, 10.0, 100.0]))
    assert sums[0].tolist() == [1, 11, 111] and sums[1, 1:].tolist() == [10, 110] and sums[2, 2] == 100


def test_times_that_the_prices_explain_leave_nothing_and_no_price_is_negative():
    alone = [np.array([[1.0, 3.0, n]]) / (3e-6 + n * 1e-9) for n in SIZES]
    assert misfits_of(alone)[2][0, -1] == pytest.approx(0, abs=1e-6)
    falling = [np.array([[1.0, 3.0, n]]) * n for n in SIZES]  # a time that falls with the bytes
    assert (misfits_of(falling)[2] >= 0).all() and misfits_of(falling)[2][0, -1] > 1


def test_each_size_belongs_to_the_candidate_that_explains_it():
    half = len(SIZES) // 2
    pieces = np.triu(np.ones((len(SIZES), len(SIZES))))
    width = np.cumsum(pieces, axis=1)
    below = np.where(np.arange(len(SIZES)) < half, 0.0, 1.0)
    early = {2: sums_of_pieces(below), 3: sums_of_pieces(below)}  # off by 100 % at each of the larger sizes
    late = {2: sums_of_pieces(1 - below), 3: sums_of_pieces(1 - below)}
    probability, left = weigh({"early": early, "late": late}, 2 * width, stray=0.05)
    assert (probability["early"][:half] > 0.9).all() and (probability["late"][half:] > 0.9).all()
    assert probability["early"] + probability["late"] == pytest.approx(1) and left < 0.1
