"""Verdicts in sentences."""

import re

import pytest

from allreduce_bench.evaluation.verdict import Advantage, HandOver, Stretch, Verdict
from allreduce_bench.report.verdict_sentence import REASONS, lines

TIMES_S = ((4e-6, 1e-6), (1e-6, 1e-6))  # of native and of ring, at two sizes
WON = Stretch(8, 4096, ("ring",), True, False, (), Advantage("native", TIMES_S, 1.5, 2.5, 5), 1e-5, ())


@pytest.mark.parametrize(
    "changed, sentence",
    [
        (
            {},
            "8 B to 4 KiB: ring, 2.00 times faster than native [1.50, 2.50] (94 %, geometric mean of 2 sizes),"
            " 10.0 us at 4 KiB",
        ),
        ({"advantage": None, "high": 8}, "8 B: ring, 10.0 us at 8 B"),
        ({"advantage": None, "exceptions": (64, 512)}, "8 B to 4 KiB except 64 B, 512 B: ring, 10.0 us at 4 KiB"),
        (
            {"leaders": ("native",), "advantage": Advantage("tree", ((1.5, 1.0),), 1.2, 1.8, 3), "absent": ("ring",)},
            "8 B to 4 KiB: native, 1.50 times faster than tree, the second fastest [1.20, 1.80] (75 %),"
            " 10.0 us at 4 KiB (not ranked at all of these sizes: ring)",
        ),
        (
            {"leaders": ("ring", "tree"), "is_won": False, "is_equal": True, "advantage": None},
            "8 B to 4 KiB: no single winner among ring, tree, equal within 5 %; ring takes 10.0 us at 4 KiB",
        ),
        (
            {"leaders": ("ring", "tree"), "is_won": False, "advantage": None},
            "8 B to 4 KiB: no single winner among ring, tree, which cannot be distinguished;"
            " ring takes 10.0 us at 4 KiB",
        ),
        (
            {"leaders": tuple("abcdef"), "is_won": False, "advantage": None},
            "8 B to 4 KiB: no single winner among a, b, c, d and 2 more, which cannot be distinguished;"
            " a takes 10.0 us at 4 KiB",
        ),
        (
            {"is_won": False, "advantage": None},
            "8 B to 4 KiB: no winner, but every algorithm except ring is slower at some size, 10.0 us at 4 KiB",
        ),
    ],
)
def test_a_sentence_is_made_of_the_facts(changed, sentence):
    (line,) = lines(Verdict(4, (WON._replace(**changed),), (), (), "good"))
    assert str(line) == sentence


def test_a_hand_over_and_unclear_sizes_follow_the_stretches():
    later = WON._replace(low=65536, high=1 << 20, leaders=("tree", "native"), is_won=False, advantage=None)
    over = HandOver("ring", "tree", 4096, 65536, 13496.0)
    *_, sentence, unclear = lines(Verdict(4, (WON, later), (over,), (2, 1 << 21), "good"))
    assert str(sentence) == "crossover from ring to tree or native: about 13 KiB, between 4 KiB and 64 KiB"
    assert str(unclear) == "2 B, 2 MiB: no winner"


@pytest.mark.parametrize("size_bytes, words", [(9.4, "9 B"), (300, "300 B"), (1500, "1.5 KiB"), (2**25, "32 MiB")])
def test_a_crossover_has_two_digits(size_bytes, words):
    (_, _, sentence) = lines(Verdict(4, (WON, WON), (HandOver("a", "b", 8, 4096, size_bytes),), (), "good"))
    assert f": about {words}, between" in str(sentence)


@pytest.mark.parametrize("reason", REASONS)
def test_without_a_winner_the_sentence_says_why(reason):
    (line,) = lines(Verdict(4, (), (), (8,), "good", reason))
    assert str(line) == f"no winner: {REASONS[reason]}"


@pytest.mark.parametrize(
    "grade, words",
    [
        ("good", re.escape("711 times faster than native [700, 720] (95 %)")),
        ("provisional", "10 times faster"),
    ],
)
def test_how_many_times_is_said_only_where_it_can_be_relied_on(grade, words):
    stretch = WON._replace(advantage=Advantage("native", ((711e-6, 1e-6),), 700.0, 720.0, 10))
    (line,) = lines(Verdict(4, (stretch,), (), (), grade))
    assert re.search(words, str(line))


def test_whoever_divides_the_printed_times_gets_the_printed_factor():
    """2.2349 over 1.0051 is 2.2236; a table shows 2.23 and 1.01, which make 2.21."""
    advantage = Advantage("native", ((2.2349e-6, 1.0051e-6),), 2.2230, 2.2240, 5)
    assert advantage.factor == pytest.approx(2.2349 / 1.0051)
    (line,) = lines(Verdict(4, (WON._replace(advantage=advantage, high=8),), (), (), "good"))
    assert ", 2.21 times faster than native [2.21, 2.22] (94 %)," in str(line)
