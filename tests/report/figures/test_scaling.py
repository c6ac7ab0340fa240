"""Time over ranks, measured and modelled."""

import numpy as np
import pytest
from drawn_maps import texts_of
from hand_models import hand_model
from made_runs import ALPHA_S

from allreduce_bench.models.curves import over_ranks, predicted_at
from allreduce_bench.report import figures


def test_curves_reach_beyond_the_measured_ranks_and_say_where_they_speculate(models):
    curves = over_ranks(models, [8])
    ring = curves[curves["competitor"] == "ring"].set_index("ranks")
    assert list(ring.index) == [2, 4, 8, 16, 32]
    assert ring["measured"].tolist() == [True, True, True, False, False]
    assert ring["speculative"].tolist() == [False] * 4 + [True]
    assert ring.loc[32, "model_s"] == pytest.approx(2 * 31 * ALPHA_S, rel=0.01)
    width = ring["high_s"] / ring["low_s"]
    assert width[8] == pytest.approx(np.exp(0.3)) and width[32] > width[16] > width[8]


def test_a_model_of_one_number_of_ranks_has_no_curve():
    assert over_ranks([hand_model("ring", (4,))], [8]).empty


def test_what_cannot_run_is_not_predicted(monkeypatch):
    from allreduce_bench.algorithms import Algorithm

    monkeypatch.setattr(Algorithm, "unmet", lambda self, size, topology: "needs 4" if size != 4 else None)
    assert (
        predicted_at(hand_model("ring"), 8, None, 8) is None
        and predicted_at(hand_model("ring"), 4, None, 8) is not None
    )


def test_time_over_ranks_at_three_sizes(rows, models):
    assert figures.some_sizes(rows) == [8, 65536, 1 << 20]
    curves = over_ranks(models, figures.some_sizes(rows))
    figure = figures.over_ranks(rows, curves)
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title() for axes in panels] == ["8 B", "64 KiB", "1 MiB"]
    for axes in panels:
        assert axes.get_xscale() == "log" and axes.get_xlabel() == "ranks" and "speculative" in texts_of(axes)
        assert axes.get_xlim()[1] >= 32
    plain = figures.over_ranks(rows, over_ranks([], [8]))
    assert not any("speculative" in texts_of(axes) for axes in plain.axes)


def test_one_number_of_ranks_has_no_time_over_ranks(rows):
    one = rows[rows["ranks"] == 4]
    assert figures.some_sizes(one) == []
    assert figures.over_ranks(one, over_ranks([], [8])) is None
