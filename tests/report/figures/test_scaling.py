"""Time over ranks, measured and modelled."""

import numpy as np
import pytest
from hand_models import hand_model
from made_runs import ALPHA_S

from allreduce_bench.models.curves import over_ranks
from allreduce_bench.report import figures


def test_curves_reach_beyond_the_measured_ranks(models):
    curves = over_ranks(models, [8])
    ring = curves[curves["competitor"] == "ring"].set_index("ranks")
    assert list(ring.index) == [2, 4, 8, 16, 32]
    assert ring["measured"].tolist() == [True, True, True, False, False]
    assert ring.loc[32, "model_s"] == pytest.approx(2 * 31 * ALPHA_S, rel=0.01)
    width = ring["high_s"] / ring["low_s"]
    assert np.isnan(width[8]) and width[32] > width[16] > 1


def test_what_cannot_run_is_not_predicted(monkeypatch):
    from allreduce_bench.algorithms import Algorithm, builtin

    choosy = builtin()["ring"]._replace(needs=frozenset({"power-of-two"}))
    monkeypatch.setitem(builtin(), "ring", choosy)
    monkeypatch.setattr(Algorithm, "unmet", lambda self, size, topology: "needs 4" if size != 4 else None)
    assert over_ranks([hand_model("ring", (2, 4))], [8])["ranks"].tolist() == [4]


def test_time_over_ranks_at_three_sizes(rows, models):
    assert figures.some_sizes(rows) == [8, 65536, 1 << 20]
    curves = over_ranks(models, figures.some_sizes(rows))
    figure = figures.over_ranks(rows, curves)
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title() for axes in panels] == ["8 B", "64 KiB", "1 MiB"]
    for axes in panels:
        assert axes.get_xscale() == "log" and axes.get_xlabel() == "ranks"
        assert axes.get_xlim()[1] >= 32


def test_one_number_of_ranks_has_no_time_over_ranks(rows):
    one = rows[rows["ranks"] == 4]
    assert figures.some_sizes(one) == []
    assert figures.over_ranks(one, over_ranks([], [8])) is None
