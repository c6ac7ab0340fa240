"""The data of a page: other numbers of blocks for pipelines, and prices that are those of the formulas."""

import pytest

from allreduce_bench.pages.drawing import subject
from allreduce_bench.pages.page import cut, cut_data, cuts_of, path


def test_pipelines_come_in_several_cuts_and_others_in_one():
    assert [made.drawing.blocks for made in cuts_of(subject("tree", 8), "tree", None)] == [1, 2, 4, 8, 16, 32]
    assert [made.drawing.blocks for made in cuts_of(subject("two_tree", 8), "two_tree", None)] == [2, 4, 8, 16, 32]
    assert [made.drawing.blocks for made in cuts_of(subject("ring", 8), "ring", None)] == [8]
    asked = cuts_of(subject("tree", 8, count=24, segment=8), "tree", None)
    assert [made.drawing.blocks for made in asked] == [1, 2, 3, 4, 8]


def test_a_round_is_a_list_of_numbers():
    data = cut_data(cut(subject("ring", 2, count=2)))
    assert data["blocks"] == data["count"] == 2
    assert data["rounds"] == [
        [[0, 0, 1, 0, 1, 1, 0, 0], [1, 0, 0, 0, 1, 1, 1, 1]],
        [[0, 1, 1, 1, 0, 1, 1, 1], [1, 1, 0, 1, 0, 1, 0, 0]],
    ]
    assert cut_data(cut(subject("naive", 3)))["rounds"][1][0][4] == 3


@pytest.mark.parametrize("ranks", [4, 6, 16])
def test_the_price_of_a_ring_is_its_formula(ranks):
    alpha_s, beta_s_per_byte, size_bytes = 5e-6, 8e-11, 1 << 20
    expected = 2 * (ranks - 1) * (alpha_s + beta_s_per_byte * size_bytes / ranks)
    assert path(subject("ring", ranks), alpha_s, beta_s_per_byte, size_bytes).time == pytest.approx(expected)
