"""Points that say nothing are left out, and a series with too few says what is lacking."""

import re

import pytest
from made_models import series

from allreduce_bench.models.fitting import UnfittedSeries, fit_all, fit_series


@pytest.mark.parametrize(
    ("points", "sentence"),
    [
        (series("ring", (4,), (8,)), re.escape("one point")),
        (series("ring", (4,)), re.escape("one rank count")),
        (series("ring", (4, 8), (8,)), re.escape("cannot be separated")),
        (series("ring").assign(time_s=1e-5), re.escape("all 32 times are equal")),
        (series("ring").assign(time_s=0.0), re.escape("0, negative or missing")),
        (series("ring").assign(time_s=float("nan")), re.escape("0, negative or missing")),
        (series("ring").assign(ranks=1), "rank sends"),
        (series("ring").assign(competitor="mystery"), re.escape("are unknown")),
        (series("ring").assign(size_bytes=2, dtype="float64"), re.escape("below one element")),
    ],
)
def test_what_cannot_be_fitted_says_what_is_lacking(points, sentence):
    (found,) = fit_series(points)
    assert isinstance(found, UnfittedSeries) and re.search(sentence, found.reason) and not fit_all(points)


def test_bad_points_are_left_out_and_counted():
    points = series("ring", noise=0.02)
    points.loc[[0, 5], "time_s"] = [0.0, -1.0]
    (model,) = fit_all(points)
    assert any("2 of 32 points left out" in note for note in model.notes)
    assert len(model.cells) == 30


def test_one_size_at_many_ranks_does_not_tell_alpha_from_beta():
    (model,) = fit_all(series("recursive_doubling", (96, 192, 384, 768, 1536), (8,), noise=0.02))
    assert not any(one.is_identified for one in model.parameters) and len(model.cells) == 5


def test_more_ranks_than_cores_are_said():
    points = series("ring", noise=0.02)
    assert not any("oversubscribed" in note for note in fit_all(points)[0].notes)
    crowded = points.assign(oversubscribed=(points["ranks"] > 4).astype("boolean"))
    assert any(note.startswith("8,16 ranks are oversubscribed: ") for note in fit_all(crowded)[0].notes)
