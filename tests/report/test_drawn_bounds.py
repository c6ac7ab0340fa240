"""The bounds that figures draw: from the models of the run, and only where times hold them."""

import numpy as np
import pytest
from hand_models import hand_models
from made_runs import ALPHA_S, BETA_S_PER_BYTE, build_run

from allreduce_bench.evaluation.summary import summary
from allreduce_bench.models.curves import layouts, lower_bounds
from allreduce_bench.report.figure import Drawing, bound_curves
from allreduce_bench.report.pictures import time_pictures

NAMES = ("native", "ring", "two_tree")


def over_sizes(frame, models) -> list[Drawing]:
    """The figures with a bound: of times, and of bandwidths."""
    return [sketch.draw() for sketch in time_pictures(frame, models) if sketch.stem in ("latency", "bus_bandwidth")]


def captions(frame, models) -> dict[str, str]:
    return {sketch.stem: picture.caption for sketch in time_pictures(frame, models) if (picture := sketch.draw())}


def test_the_curve_is_the_greater_of_two_bounds(tmp_path):
    rows = summary([build_run(tmp_path / "a", ranks=(1, 2, 8))])
    curve = bound_curves(lower_bounds(hand_models(NAMES, (2, 8)), rows), 8, 1 << 22)
    assert set(curve["ranks"]) == {2, 8}
    curve = curve[curve["ranks"] == 8]
    assert curve["size_bytes"].iloc[0] == pytest.approx(8) and curve["size_bytes"].iloc[-1] == pytest.approx(1 << 22)
    assert curve["time_s"].iloc[0] == pytest.approx(3 * ALPHA_S)
    assert curve["time_s"].iloc[-1] == pytest.approx(1.75 * (1 << 22) * BETA_S_PER_BYTE)
    assert curve["busbw_bytes_per_s"].max() == pytest.approx(1 / BETA_S_PER_BYTE)


def test_where_times_beat_it_no_bound_is_drawn(tmp_path):
    run = build_run(tmp_path / "a", factor=lambda launch, cell: 0.5 if launch.ranks == 2 else 1.2)
    rows, models = summary([run]), hand_models(NAMES)
    assert layouts(rows) == {2: [1], 4: [1]} and set(lower_bounds(models, rows)) == {4}
    for words in (captions(rows, models)[stem] for stem in ("latency", "bus_bandwidth")):
        assert "Dashed line: bound" in words
        assert "drawn at 2 ranks" in words
    latency, _ = over_sizes(rows, models)
    drawn = latency.numbers
    assert drawn.loc[drawn["ranks"] == 2, "bound_s"].isna().all()
    assert (drawn.loc[drawn["ranks"] == 4, "bound_s"] > 0).all()


def test_without_a_model_there_is_no_bound_and_the_caption_says_so(tmp_path):
    rows = summary([build_run(tmp_path / "a", ranks=(4,))])
    assert lower_bounds([], rows) == {} and bound_curves({}, 8, 1024).empty
    assert "Time against" in captions(rows, [])["latency"]
    latency, _ = over_sizes(rows, [])
    assert latency.numbers["bound_s"].isna().all()
    assert not any("bound" in text.get_text() for text in latency.figure.legends[0].get_texts())


def test_nothing_is_sent_where_nobody_is(tmp_path):
    rows = summary([build_run(tmp_path / "a", ranks=(1, 2))])
    assert layouts(rows) == {2: [1]}
    numbers = over_sizes(rows, hand_models(NAMES))[0].numbers
    assert np.isnan(numbers.loc[numbers["ranks"] == 1, "bound_s"]).all()
