"""Verdicts in sentences."""

import re

import pytest

from allreduce_bench.evaluation.verdict import Advantage, HandOver, Stretch, Verdict
from allreduce_bench.report.verdict_sentence import REASONS, lines

TIMES_S = ((4e-6, 1e-6), (3e-6, 2e-6))  # of native and of ring, at two sizes
WON = Stretch(8, 4096, ("ring",), True, False, (), Advantage("native", TIMES_S, 0.9, 5), 1e-5, ())


@pytest.mark.parametrize(
    "changed, sentence",
    [
        (
            {},
            "ring from 8 B to 4 KiB: 1.50 to 4.00 times as fast as native (0.900 in the worst of 5 launches),"
            " 10.0 us at 4 KiB",
        ),
        ({"advantage": None, "high": 8}, "ring at 8 B: 10.0 us at 8 B"),
        ({"advantage": None, "exceptions": (64, 512)}, "ring from 8 B to 4 KiB except 64 B, 512 B: 10.0 us at 4 KiB"),
        (
            {"leaders": ("native",), "advantage": Advantage("tree", ((1.5, 1.0),), 1.2, 8), "absent": ("ring",)},
            "native from 8 B to 4 KiB: 1.50 times as fast as tree, the second fastest "
            "(1.20 in the worst of 8 launches), 10.0 us at 4 KiB (not ranked at all of these sizes: ring)",
        ),
        (
            {"leaders": ("ring", "tree"), "is_won": False, "is_equal": True, "advantage": None},
            "no single winner from 8 B to 4 KiB among ring, tree, equal within 5 %; ring takes 10.0 us at 4 KiB",
        ),
        (
            {"leaders": ("ring", "tree"), "is_won": False, "advantage": None},
            "no single winner from 8 B to 4 KiB among ring, tree, which cannot be distinguished;"
            " ring takes 10.0 us at 4 KiB",
        ),
        (
            {"leaders": tuple("abcdef"), "is_won": False, "advantage": None},
            "no single winner from 8 B to 4 KiB among a, b, c, d and 2 more, which cannot be distinguished;"
            " a takes 10.0 us at 4 KiB",
        ),
        (
            {"is_won": False, "advantage": None},
            "no winner from 8 B to 4 KiB, but every algorithm except ring is slower at some size; "
            "ring takes 10.0 us at 4 KiB",
        ),
        (
            {"is_won": False},
            "no winner from 8 B to 4 KiB, but every algorithm except ring is slower at some size; ring is 1.50 to 4.00 "
            "times as fast as native (0.900 in the worst of 5 launches), 10.0 us at 4 KiB",
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
    assert str(unclear) == "no winner at 2 B, 2 MiB"


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
        ("good", re.escape("1.50 to 711 times as fast as native (1.40 in")),
        ("provisional", "1.50 to more than 10 times as fast as native"),
    ],
)
def test_how_many_times_is_said_only_where_it_can_be_relied_on(grade, words):
    stretch = WON._replace(advantage=Advantage("native", ((711e-6, 1e-6), (1.5e-6, 1e-6)), 1.4, 10))
    (line,) = lines(Verdict(4, (stretch,), (), (), grade))
    assert re.search(words, str(line))


def test_whoever_divides_the_printed_times_gets_the_printed_factor():
    """2.2349 over 1.0051 is 2.2236; a table shows 2.23 and 1.01, which make 2.21."""
    advantage = Advantage("native", ((2.2349e-6, 1.0051e-6),), 2.2230, 5)
    (line,) = lines(Verdict(4, (WON._replace(advantage=advantage, high=8),), (), (), "good"))
    assert ": 2.21 times as fast as native (2.21 in the worst of 5 launches)," in str(line)
