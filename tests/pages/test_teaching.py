"""Answers beside a picture: prices that are those of the formulas."""

import pytest

from allreduce_bench.algorithms import builtin
from allreduce_bench.pages.drawing import subject
from allreduce_bench.pages.teaching import (
    ALPHA_S,
    BETA_S_PER_BYTE,
    FIRST,
    SIZE_BYTES,
    busy_sentence,
    cuts,
    fastest_cut,
    price_subject,
    ways,
)


def pieces(name: str, **options) -> list[int]:
    found = cuts(subject(name, 8, **options), name, None)
    return sorted(cut.count // cut.segment for cut in found)


def test_pipelines_come_in_several_cuts_and_others_in_one():
    assert pieces("tree") == pieces("two_tree") == [1, 2, 4, 8, 16, 32]
    assert pieces("ring") == [1]
    assert pieces("tree", count=24, segment=8) == [1, 2, 3, 4, 8]
    assert fastest_cut(subject("tree", 8), "tree", None, 8)[0].segment == subject("tree", 8).count


@pytest.mark.parametrize("ranks", [4, 6, 16])
def test_the_price_of_a_ring_is_its_formula(ranks):
    expected = 2 * (ranks - 1) * (ALPHA_S + BETA_S_PER_BYTE * SIZE_BYTES / ranks)
    assert price_subject(subject("ring", ranks)).time == pytest.approx(expected)


def test_few_messages_win_at_8_bytes_and_few_bytes_at_16_mebibytes():
    found = {way.name: way for way in ways(["naive"], 8, None)}
    assert [*found][0] == "recursive_doubling" and [*found][-1] == "ring" and {*found} == {"naive", *FIRST}
    assert [found[name].messages for name in FIRST] == [14, 8, 3, 6]
    assert found["ring"].vectors == found["rabenseifner"].vectors == 14 / 8 < found["tree"].vectors
    assert ways(["torus:2x3"], 8, None) == ways([], 8, None)  # it needs six ranks


def test_who_is_busy():
    assert busy_sentence([[(0, 1), (1, 0)]], 2).endswith(
        "use 100 % of what they could send and receive, over 2 directed links; no rank is idle in any round."
    )
    assert "25 % " in busy_sentence([[(0, 1)], [(1, 2)]], 4) or "12 % " in busy_sentence([[(0, 1)], [(1, 2)]], 4)
    assert "1 rank idle in 2 of 2 rounds" in busy_sentence([[(0, 1)], [(1, 2)]], 4)


@pytest.mark.parametrize("name", builtin())
def test_every_algorithm_says_why_it_takes_so_many_rounds(name):
    assert builtin()[name].why.endswith(".")
