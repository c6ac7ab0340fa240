"""All rounds of an algorithm as one PNG."""

import io

import pytest
from PIL import Image

from allreduce_bench.pages.drawing import drawing, rank_names
from allreduce_bench.pages.pictures import _columns, _png_figure, png
from allreduce_bench.pages.scene import scene
from allreduce_bench.schedule.algorithm import AlgorithmError


@pytest.mark.parametrize(("algorithm", "ranks"), [("ring", 1), ("ring", 4), ("parameter_server", 3)])
def test_a_picture_has_a_panel_for_each_round_and_one_for_the_end(algorithm, ranks):
    shown = drawing(algorithm, ranks)
    figure = _png_figure(scene(shown, rank_names(ranks), 330, 330))
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert len(titles) == len(shown.rounds) + 1 and titles[-1].startswith("end")
    image = Image.open(io.BytesIO(png(shown, rank_names(ranks))))
    assert image.format == "PNG" and image.width >= 640


def test_the_same_picture_each_time():
    shown = drawing("tree", 3)
    assert png(shown, rank_names(3)) == png(shown, rank_names(3))


@pytest.mark.parametrize(("panels", "shape"), [(1, 1.0), (7, 1.0), (10, 1.4), (63, 1.0), (99, 2.0)])
def test_few_places_stay_empty(panels, shape):
    columns = _columns(panels, shape)
    rows = -(-panels // columns)
    assert rows * columns - panels < columns
    assert 0.5 < columns * shape / rows < 5


def test_too_many_rounds_are_refused_in_one_sentence():
    with pytest.raises(AlgorithmError, match="two_tree.*fewer than 100"):
        png(drawing("two_tree", 32, segment=1, count=64), rank_names(32))
