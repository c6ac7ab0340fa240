"""The picture of a step: what it says in words, and that it is a picture."""

import io

import pytest
from matplotlib.image import imread

from allreduce_bench.models.machine import bare_machine
from allreduce_bench.training import step_picture as module
from allreduce_bench.training.architectures import known_model
from allreduce_bench.training.cost import modelled_costs
from allreduce_bench.training.step import Setup, outcome
from allreduce_bench.training.step_picture import step_picture
from allreduce_bench.training.time_line import Phase, TimeLine, Transfer

COSTS = modelled_costs(bare_machine(20e-6, 8e-10), ["ring"])


@pytest.fixture(name="kept")
def kept_figures(monkeypatch) -> list:
    """The figures that are drawn from here on."""
    kept = []

    class Kept(module.FigureCanvasAgg):
        def __init__(self, figure):
            kept.append(figure)
            super().__init__(figure)

    monkeypatch.setattr(module, "FigureCanvasAgg", Kept)
    return kept


def test_it_has_axes_units_a_legend_and_a_panel_for_each_number_of_ranks(kept):
    setup = Setup(known_model("resnet50"), 0.1)
    png = step_picture({f"ResNet-50, {ranks} ranks": outcome(setup, COSTS, ranks).time_line for ranks in (2, 8)})
    pixels = imread(io.BytesIO(png))
    assert pixels.shape[1] == 11 * module.DPI and pixels.std() > 0.1
    (figure,) = kept
    titles = [axes.get_title(loc="left").split(":")[0] for axes in figure.axes]
    assert titles == [
        "ResNet-50, 2 ranks",
        "ResNet-50, 8 ranks",
    ]
    assert "beginning of the step (ms)" in figure.axes[-1].get_xlabel()
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words[:2] == ["forward", "backward"] and "exposed all-reduce" in words
    labels = [text.get_text() for text in figure.axes[0].texts]
    assert {"forward", "backward", "1: 30.04 MiB"} <= {*labels}
    assert all(text.get_position()[0] <= figure.axes[0].get_xlim()[1] for text in figure.axes[0].texts)


def test_a_long_step_is_told_in_seconds(kept):
    setup = Setup(known_model("resnet50"), 1.5)
    step_picture({"ResNet-50": outcome(setup, modelled_costs(bare_machine(20e-6, 3e-8), ["ring"]), 2).time_line})
    (axes,) = kept[0].axes
    title = axes.get_title(loc="left")
    assert "e+" not in title and title == "ResNet-50: step 3.57 s, exposed 2.07 s"
    assert "beginning of the step (s)" in axes.get_xlabel() and 3.5 < axes.get_xlim()[1] < 3.7


def test_parts_between_which_gradients_are_ready_are_one_pass(kept):
    parts = [Phase("backward", 0.5 + 0.005 * part, 0.505 + 0.005 * part) for part in range(100)]
    line = TimeLine((Phase("forward", 0, 0.5), *parts), (Transfer(8, 0.9, 0.9, 1.1),))
    step_picture({"step": line})
    (axes,) = kept[0].axes
    assert [len(bars.get_paths()) for bars in axes.collections] == [1, 1, 1, 1]
    assert [text.get_text() for text in axes.texts][:2] == ["forward", "backward"]
