"""The rounds as values: the classic ring, complete results, and what a picture refuses."""

import re

import pytest

from allreduce_bench.algorithms import builtin
from allreduce_bench.pages.drawing import MOST_RANKS, drawing, letters, word
from allreduce_bench.schedule.algorithm import AlgorithmError


def sent_words(drawn) -> list[list[str]]:
    """Of each round what each rank sends, in the order of the ranks."""
    names = letters(drawn.ranks)
    return [
        [" ".join(word(*pair, names) for pair in zip(message.content, message.blocks)) for message in round_.messages]
        for round_ in drawn.rounds
    ]


def test_the_classic_sequence_of_a_ring_of_four():
    assert sent_words(drawing("ring", 4)) == [
        ["a1", "b2", "c3", "d4"],
        ["d4+a4", "a1+b1", "b2+c2", "c3+d3"],
        ["c3+d3+a3", "d4+a4+b4", "a1+b1+c1", "b2+c2+d2"],
        ["S2", "S3", "S4", "S1"],
        ["S1", "S2", "S3", "S4"],
        ["S4", "S1", "S2", "S3"],
    ]


@pytest.mark.parametrize("name", builtin())
@pytest.mark.parametrize("ranks", [1, 6, 32])
def test_every_block_is_complete_at_the_end_and_incomplete_at_the_start(name, ranks):
    drawn = drawing(name, ranks)
    everyone = frozenset(range(ranks))
    last = drawn.rounds[-1].held if drawn.rounds else drawn.start
    assert last == ((everyone,) * drawn.blocks,) * ranks
    assert all(held == frozenset({rank}) for rank, blocks in enumerate(drawn.start) for held in blocks)
    assert all(len({message.dest for message in each.messages}) == len(each.messages) for each in drawn.rounds)


def test_what_is_held_is_what_was_held_and_what_arrived():
    first = drawing("ring", 4).rounds[0]
    assert first.held[1] == (frozenset({0, 1}), frozenset({1}), frozenset({1}), frozenset({1}))


def test_naive_sends_the_original_again():
    assert sent_words(drawing("naive", 3)) == [["a1", "b1", "c1"], ["a1", "b1", "c1"]]


def test_segments_are_blocks():
    assert drawing("tree", 8, count=64, segment=16).blocks == 4


def test_words():
    names = letters(4)
    assert word(frozenset({1}), 0, names) == "b1"
    assert word(frozenset({3, 0, 1}), 2, names) == "d3+a3+b3"
    assert word(frozenset({0, 2}), 0, names) == "a1+c1"
    assert word(frozenset(range(4)), 1, names) == "S2"
    assert word(frozenset({0}), 0, letters(1)) == "a1"
    assert letters(28)[25:] == ("z", "26.", "27.")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("ring", MOST_RANKS + 1), "-n 33: a.*32 ranks.*txt file"),
        (("rang", 4), re.escape("rang")),
        (("tree", 8, 256, 1), "tree: 256 blocks"),
        (("tree", 8, 9999, 1), "use fewer"),
    ],
)
def test_what_a_picture_cannot_show_is_one_sentence(arguments, sentence):
    with pytest.raises(AlgorithmError) as refusal:
        drawing(*arguments)
    assert re.search(sentence, str(refusal.value)) and "\n" not in str(refusal.value)
