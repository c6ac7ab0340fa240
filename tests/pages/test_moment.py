"""One moment of a drawing, looked at in its pixels."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from matplotlib.text import Text

from allreduce_bench.pages.drawing import colour_of, drawing, rank_names
from allreduce_bench.pages.scene import Spot, draw_messages, draw_ranks, draw_ways, scene, ways


def drawn(algorithm: str, ranks: int, round_number: int, **options):
    """The axes with the messages of a round halfway, and their scene."""
    placed = scene(drawing(algorithm, ranks, **options), rank_names(ranks), 600, 600)
    figure = Figure(figsize=(6, 6), dpi=100)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    rounds = placed.drawing.rounds
    draw_ranks(axes, placed, rounds[round_number - 1].held if round_number else placed.drawing.start)
    if round_number < len(rounds):
        sent = ways(placed, rounds[round_number].messages)
        draw_ways(axes, placed, sent)
        draw_messages(axes, placed, sent, [Spot(0.5)] * len(sent))
    return axes, placed


def words(axes) -> list[str]:
    return [text.get_text() for text in axes.findobj(Text) if text.get_text()]


@pytest.mark.parametrize(
    ("round_number", "said"),
    [(0, "a1 b2 c3 d4"), (1, "d4+a4 a1+b1 b2+c2 c3+d3"), (3, "S1 S2 S3 S4"), (6, "")],
)
def test_the_classic_sequence_of_a_ring(round_number, said):
    axes, _ = drawn("ring", 4, round_number)
    on_their_way = [word for word in words(axes) if any(map(str.isdigit, word)) and not word.startswith("rank")]
    assert sorted(on_their_way) == sorted(said.split())


def test_a_slot_is_filled_for_each_contribution():
    axes, placed = drawn("ring", 4, 1)
    boxes = [image.get_array() for image in axes.images]
    for rank, held in enumerate(placed.drawing.rounds[0].held):
        filled = np.abs(boxes[rank] - to_rgb("#ececec")).sum(axis=-1) > 0.01
        assert [{*np.flatnonzero(row)} for row in filled] == [{*content} for content in held]


def test_a_finished_sum_has_its_full_colour():
    axes, placed = drawn("ring", 4, 6)
    assert len(axes.images) == 4
    for image in axes.images:
        for block, row in enumerate(image.get_array()):
            assert np.allclose(row, to_rgb(colour_of(block, placed.drawing.blocks)))


def test_a_box_in_one_of_two_trees_has_the_blocks_of_that_tree():
    axes, placed = drawn("two_tree", 8, len(drawing("two_tree", 8, segment=16).rounds), segment=16)
    assert placed.layout.tree_of_block == (0, 0, 1, 1) and len(axes.images) == 2 * 8
    for number, image in enumerate(axes.images):
        colours = [to_rgb(colour_of(block, 4)) for block in ((0, 1) if number < 8 else (2, 3))]
        assert np.allclose(image.get_array()[:, 0], colours)
    assert words(axes).count("rank 3") == 2


def test_nodes_have_frames():
    axes, placed = drawn("hierarchical_ring", 8, 8)
    boxes = [patch.get_bbox() for patch in axes.patches if isinstance(patch, FancyBboxPatch)]
    assert len(boxes) == 2
    for box, ranks in zip(boxes, placed.drawing.nodes):
        assert all(box.contains(*placed.places[0][rank]) for rank in ranks)
    assert {"node 0", "node 1"} < {*words(axes)}


def test_a_name_is_above_what_its_rank_holds():
    axes, _ = drawn("ring", 4, 6)
    names = [text for text in axes.texts if text.get_text().startswith("rank")]
    assert len(names) == 4
    for name, image in zip(names, axes.images):
        assert name.get_position()[1] > image.get_extent()[3]


def test_messages_of_many_ranks_or_blocks_are_rows():
    axes, placed = drawn("ring", 16, 0)
    assert len(axes.images) == 16 + 16
    axes, _ = drawn("hierarchical_ring", 8, 0)
    assert [image.get_array().shape[0] for image in axes.images[8:]] == [2] * 8


def test_names_are_no_formulas():
    placed = scene(drawing("ring", 2), ("$x^2$", "<b>"), 300, 300)
    figure = Figure()
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    draw_ranks(axes, placed, placed.drawing.start)
    figure.canvas.draw()
    assert not any(text.get_parse_math() for text in axes.texts if text.get_text() in placed.names)
