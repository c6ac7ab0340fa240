"""Errors at held-out ranks are what they say; the published series are predicted as well as they can be."""

import numpy as np
import pandas as pd
import pytest
from made_models import observed, pico, series

from allreduce_bench.models.choice import choose
from allreduce_bench.models.fitting import plain
from allreduce_bench.models.intervals import reach
from allreduce_bench.models.scores import doublings_beyond, pooled, score
from allreduce_bench.models.series import FittedSeries, UnfittedSeries, fit_all, fit_series


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


def test_reach_grows_with_held_out_errors_up_to_a_limit():
    inside = np.full(20, 0.1)
    assert reach(inside, np.full(20, 0.15)).log == pytest.approx(0.15)
    assert reach(inside, np.full(20, 3.0)).log == pytest.approx(0.2) == reach(inside, np.empty(0)).log
    assert reach(inside, np.full(20, 0.01)).log == pytest.approx(0.1)
    assert reach(inside, inside).at(2.0) > reach(inside, inside).at(1.0) > reach(inside, inside).log


def test_doublings_beyond_what_was_measured():
    assert (
        doublings_beyond(64, [8, 16]) == 2 and doublings_beyond(4, [8, 16]) == 1 and doublings_beyond(12, [8, 16]) == 0
    )


def test_published_series_with_the_largest_ranks_held_out():
    """LUMI and Fugaku: at most 10 % in the median and 35 % at the 90th percentile, and better than plain alpha-beta."""
    found = [one for one in fit_series(pico()) if isinstance(one, FittedSeries)]
    assert len(found) == 4
    chosen, beside = pooled([one.scores for one in found]), pooled([one.plain for one in found])
    largest = chosen["leave_largest_p_out"]
    assert largest.points == 35 and largest.median <= 0.10 and largest.p90 <= 0.35 and largest.covered >= 0.8
    assert all(chosen[kind].median < beside[kind].median for kind in chosen)
    for one in found:
        model = one.model
        assert model.reach_log > 0 and model.reach_log_per_doubling > 0 and model.ranks_per_node == 1
        assert model.errors["in_sample"].median < 0.1 and any("one launch only" in note for note in model.notes)


@pytest.mark.parametrize(
    ("points", "sentence"),
    [
        (series("ring", (4,), (8,)), "one point"),
        (series("ring", (4,)), "one number of ranks"),
        (series("ring", (4, 8), (8,)), "one size"),
        (series("ring", (4, 8), (8,)), "cannot be told apart"),
        (series("ring").assign(time_s=1e-5), "all 32 times are equal"),
        (series("ring").assign(time_s=0.0), "0, negative or missing"),
        (series("ring").assign(time_s=-1.0), "0, negative or missing"),
        (series("ring").assign(time_s=float("nan")), "0, negative or missing"),
        (series("ring").assign(ranks=1), "one rank sends no messages"),
        (series("ring").assign(algorithm="mystery"), "is not known"),
        (series("ring").assign(nbytes=2, count=0, dtype="float64"), "below one element"),
        (series("ring").assign(time_s=1e300), "no time"),
    ],
)
def test_what_cannot_be_fitted_says_what_is_lacking(points, sentence):
    (found,) = fit_series(points)
    assert isinstance(found, UnfittedSeries) and sentence in found.reason and not fit_all(points)


def test_bad_points_are_left_out_and_counted():
    points = series("ring", noise=0.02)
    points.loc[[0, 5], "time_s"] = [0.0, -1.0]
    (model,) = fit_all(points)
    assert any("2 of 32 points left out" in note for note in model.notes)
    assert model.errors["in_sample"].points == 30


def test_one_size_at_many_ranks_tells_of_messages_only():
    (model,) = fit_all(series("ring", (96, 192, 384, 768, 1536), (8,), noise=0.02))
    alpha, beta = model.parts[0].parameters[-2:]
    assert alpha.name == "alpha_s" and alpha.identified and not beta.identified
    assert any("one size" in note and "only alpha" in note for note in model.notes)


def test_series_are_not_pooled():
    ring = series("ring", noise=0.02)
    several = [ring, ring.assign(executor="pipelined"), ring.assign(cache="cold"), ring.assign(dtype="float64")]
    models = fit_all(pd.concat(several, ignore_index=True))
    assert len(models) == 4 and {(m.executor, m.cache, m.dtype) for m in models} == {
        ("sendrecv", "warm", "float32"),
        ("pipelined", "warm", "float32"),
        ("sendrecv", "cold", "float32"),
        ("sendrecv", "warm", "float64"),
    }


def test_launches_count_as_one_cell_and_their_spread_is_told():
    (model,) = fit_all(series("ring", launches=5, noise=0.05))
    assert model.launches == 5 and model.errors["in_sample"].points == 32
    assert any("bootstrap over launches" in note for note in model.notes)
    assert any("launches of one cell differ" in note for note in model.notes)


def test_more_ranks_than_cores_are_said():
    points = series("ring", noise=0.02)
    assert not any("oversubscribed" in note for note in fit_all(points)[0].notes)
    crowded = points.assign(oversubscribed=(points["ranks"] > 4).astype("boolean"))
    assert any(note.startswith("8,16 ranks are oversubscribed: ") for note in fit_all(crowded)[0].notes)
