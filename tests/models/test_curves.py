"""What the figures draw of models."""

from dataclasses import replace

import numpy as np
import pytest
from hand_models import hand_model
from made_runs import build_run

from allreduce_bench.evaluation.competing import competing
from allreduce_bench.evaluation.summary import summarise, summary_frame
from allreduce_bench.models.curves import REACH, held_against_models, over_ranks
from allreduce_bench.models.fitting import fit_all
from allreduce_bench.models.points import points


def test_measured_times_stand_beside_those_of_their_prices(tmp_path):
    folder = build_run(tmp_path / "a", algorithms=("ring", "native"))
    rows = summary_frame(competing(summarise(folder)), "a")
    held = held_against_models(rows, fit_all(points([folder])))
    assert set(held["competitor"]) == {"ring", "native"} and (held["ratio"] == held["model_s"] / held["time_s"]).all()
    assert held.loc[held["competitor"] == "ring", "ratio"].to_numpy() == pytest.approx(1.0, abs=0.1)


def test_curves_pass_through_the_measured_times_and_widen_beyond():
    model = hand_model("ring", (2, 4))
    off = replace(model, cells=tuple(cell._replace(time_s=2 * cell.time_s) for cell in model.cells))
    curve = over_ranks([off], [8]).set_index("ranks")
    assert list(curve.index) == [2, 4, 8, 4 * REACH] and list(curve["measured"]) == [True, True, False, False]
    assert curve.loc[2, "model_s"] == off.cells[0].time_s and np.isnan(curve.loc[2, "low_s"])
    assert curve.loc[8, "high_s"] / curve.loc[8, "low_s"] == pytest.approx(1.8**2)
    assert curve.loc[16, "high_s"] / curve.loc[16, "low_s"] == pytest.approx(9)
