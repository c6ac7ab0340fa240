"""Models beside the times that they were made of."""

import numpy as np
import pytest

from allreduce_bench.models.curves import held_against_models
from allreduce_bench.report import figures

SIZES = (8, 1024, 65536, 1 << 20)


def test_models_lie_beside_the_times_that_they_were_made_of(rows, models):
    compared = held_against_models(rows, models)
    timed = rows[rows["time_s"].notna()]
    assert len(compared) == len(timed)
    true = compared[
        (compared["competitor"] == "recursive_doubling")
        | ((compared["competitor"] == "ring") & (compared["size_bytes"] < 1 << 20))
    ]
    assert true["ratio"].to_numpy() == pytest.approx(1, abs=0.05)
    assert (compared["ratio"] * compared["time_s"]).to_numpy() == pytest.approx(compared["model_s"].to_numpy())


def test_residuals_show_the_ratio_of_model_to_time(rows, models):
    compared = held_against_models(rows, models[1:3])
    figure = figures.fitted(compared)
    above = next(axes for axes in figure.axes if axes.get_title() == "ring")
    below = next(axes for axes in figure.axes if "measured" in axes.get_ylabel())
    assert above.get_ylabel() == "time" and "size of the" in below.get_xlabel()
    drawn = np.concatenate([line.get_ydata() for line in below.lines if len(line.get_ydata()) == len(SIZES)])
    ring = compared[compared["competitor"] == "ring"]
    assert set(np.round(drawn, 9)) == set(np.round(ring["ratio"], 9))
    low, high = below.get_ylim()
    assert low < compared["ratio"].min() and compared["ratio"].max() < high and low * high == pytest.approx(1)
    assert figures.fitted(held_against_models(rows, [])) is None
