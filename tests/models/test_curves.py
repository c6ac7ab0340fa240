"""What models say at what was measured and beyond."""

import pandas as pd
import pytest
from hand_models import hand_model, hand_models
from made_runs import ALPHA_S, build_run

from allreduce_bench.algorithms import builtin
from allreduce_bench.evaluation.summary import summary
from allreduce_bench.models.curves import REACH, held_against_models, layouts, lower_bounds, over_ranks, predicted_at
from allreduce_bench.models.model import bounds

NAMES = ("native", "ring", "two_tree")


def test_no_schedule_beats_the_bound_of_its_own_parameters(tmp_path):
    rows = summary([build_run(tmp_path / "a", ranks=(3, 4, 8))])
    models = hand_models(NAMES, (3, 4, 8))
    for row in rows.itertuples():
        assert row.time_s >= 0.95 * max(bounds(models, row.ranks, None, row.size_bytes))
    assert set(lower_bounds(models, rows)) == {3, 4, 8}


def test_times_are_held_against_the_model_of_their_series(tmp_path):
    rows = summary([build_run(tmp_path / "a", ranks=(1, 2, 4))])
    compared = held_against_models(rows, [hand_model("ring")])
    assert set(compared["competitor"]) == {"ring"} and set(compared["ranks"]) == {2, 4}
    assert compared["ratio"].to_numpy() == pytest.approx(1, rel=0.1)
    assert held_against_models(rows, []).empty
    assert held_against_models(rows.assign(states="low:1,high:4"), [hand_model("ring")]).empty


def test_a_curve_goes_beyond_the_measured_ranks_and_says_what_is_speculative():
    curve = over_ranks([hand_model("ring", (2, 4)), hand_model("two_tree", (4,))], [8])
    assert set(curve["competitor"]) == {"ring"}  # one number of ranks makes no curve
    assert curve["ranks"].tolist() == [2, 4, 8, 4 * REACH] and curve["measured"].tolist() == [True, True, False, False]
    assert curve["speculative"].tolist() == [False, False, False, True]
    assert (curve["low_s"] < curve["model_s"]).all() and (curve["model_s"] < curve["high_s"]).all()


def test_an_algorithm_that_cannot_run_has_no_time():
    own = {"mine": builtin()["ring"]._replace(needs=frozenset({"power-of-two"}))}
    model = hand_model("mine")
    assert predicted_at(model, 3, None, 8, own=own) is None
    assert predicted_at(model, 4, None, 8, own=own).time_s == pytest.approx(6 * ALPHA_S, rel=0.01)


def test_the_layouts_of_runs_that_do_not_tell_their_nodes():
    rows = pd.DataFrame({"ranks": [1, 2, 4, 4], "nodes": [1, 1, 2, pd.NA]}).astype({"nodes": "Int64"})
    assert layouts(rows) == {2: [1], 4: [2, None]}
