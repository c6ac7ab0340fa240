"""Errors at held-out ranks are what they say; the published series are predicted as well as they can be."""

import numpy as np
import pytest
from made_models import observed, pico, series

from allreduce_bench.models.fitting import doublings_beyond, plain, pooled, score
from allreduce_bench.models.series import FittedSeries, choose, fit_series


def test_the_largest_ranks_are_not_seen_when_they_are_held_out():
    points = series("ring", (2, 4, 8), noise=0.02)
    slow = points.assign(time_s=points["time_s"].where(points["ranks"] < 8, 2 * points["time_s"]))
    seen = []

    def fitter(one, counts):
        seen.append(tuple(counts))
        return plain(one, "ring", one.at(counts))

    found = score(observed("ring", slow), fitter)
    assert found.errors["leave_largest_p_out"].median == pytest.approx(0.5, abs=0.05)
    assert found.errors["leave_largest_p_out"].covered == 0
    assert (2, 4) in seen and (2, 4, 8) in seen and (2,) in seen and (4,) in seen


def test_errors_of_exact_times_are_none():
    found = score(observed("ring", series("ring", (2, 4, 8))), choose)
    assert all(errors.median < 1e-3 for errors in found.errors.values())


def test_intervals_cover_what_they_promise():
    """Noise of launches: nine tenths of the cells at ranks that were held out lie within."""
    covered = []
    for seed in range(6):
        found = score(observed("ring", series("ring", (2, 4, 8, 16), noise=0.1, seed=seed)), choose)
        covered.append(found.residuals["leave_largest_p_out"].covered)
    assert np.mean(covered) >= 0.85


def test_doublings_beyond_what_was_measured():
    assert (
        doublings_beyond(64, [8, 16]) == 2 and doublings_beyond(4, [8, 16]) == 1 and doublings_beyond(12, [8, 16]) == 0
    )


def test_published_series_with_the_largest_ranks_held_out():
    """LUMI and Fugaku: at most 10 % in the median and 35 % at P90, and better than the uniform alpha-beta model."""
    found = [one for one in fit_series(pico()) if isinstance(one, FittedSeries)]
    assert len(found) == 4
    chosen, beside = pooled([one.scores for one in found]), pooled([one.plain for one in found])
    largest = chosen["leave_largest_p_out"]
    assert largest.points == 35 and largest.median <= 0.10 and largest.p90 <= 0.35 and largest.covered >= 0.8
    assert all(chosen[kind].median < beside[kind].median for kind in chosen)
    for one in found:
        model = one.model
        assert model.reach_log > 0 and model.reach_log_per_doubling > 0 and model.ranks_per_node == 1
        assert model.errors["in_sample"].median < 0.1
