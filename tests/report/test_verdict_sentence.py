"""Verdicts in sentences."""

import re

import pytest
from made_runs import build_run

from allreduce_bench.evaluation.settable import Gain, Settable
from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.evaluation.verdict import Advantage, HandOver, Probable, Stretch, Verdict, verdicts
from allreduce_bench.report.page import switches
from allreduce_bench.report.verdict_sentence import (
    REASONS,
    crossover_words,
    settable_sentence,
    verdict_sentence,
    verdict_sentences,
)

TIMES_S = ((4e-6, 1e-6), (3e-6, 2e-6))  # of native and of ring, at two sizes
WON = Stretch(8, 4096, ("ring",), True, False, (), Advantage("native", TIMES_S, 0.9, 5), ())
SIZES = (8, 64, 4096, 1 << 20)
SHARED = WON._replace(leaders=("ring", "tree"), is_won=False, advantage=None)


@pytest.mark.parametrize(
    "changed, sentence",
    [
        ({}, "ring up to 4 KiB: 1.5 to 4.0 times as fast as native (0.90 in the worst of 5 launches)."),
        ({"low": 64}, "ring from 64 B to 4 KiB: 1.5 to 4.0 times as fast as native (0.90 in the worst of 5 launches)."),
        ({"advantage": None, "high": 8}, "ring at 8 B."),
        ({"advantage": None, "exceptions": (64,)}, "ring up to 4 KiB except 64 B."),
        ({"advantage": None, "high": 1 << 20}, "ring at all sizes."),
        (
            {"leaders": ("native",), "advantage": Advantage("tree", ((1.5, 1.0),), 1.2, 8), "absent": ("ring",)},
            "native up to 4 KiB (at some sizes without a ranked time: ring).",
        ),
        (
            {"advantage": Advantage("", ((1.5, 1.0),), 1.2, 8)},
            "ring up to 4 KiB: 1.5 times as fast as the second fastest (1.2 in the worst of 8 launches).",
        ),
        (
            {"leaders": ("ring", "tree"), "is_won": False, "is_equal": True, "advantage": None},
            "ring or tree (equal) up to 4 KiB.",
        ),
        (
            {"leaders": ("ring", "tree"), "is_won": False, "advantage": None},
            "ring or tree (not told apart) up to 4 KiB.",
        ),
        (
            {"leaders": tuple("abcdef"), "is_won": False, "advantage": None},
            "a, b, c, d and 2 more (not told apart) up to 4 KiB.",
        ),
        ({"is_won": False, "advantage": None}, "No winner up to 4 KiB: ring is nowhere slower."),
        ({"is_won": False}, "No winner up to 4 KiB: ring is nowhere slower."),  # a launch contradicts the factor
        (
            {"is_won": False, "advantage": Advantage("native", TIMES_S, 1.2, 5)},
            "No winner up to 4 KiB: ring is nowhere slower, 1.5 to 4.0 times as fast as native "
            "(1.2 in the worst of 5 launches).",
        ),
    ],
)
def test_a_sentence_is_made_of_the_facts(changed, sentence):
    assert verdict_sentences(Verdict(4, (WON._replace(**changed),), (), (), "good", sizes=SIZES)) == [sentence]


def test_sizes_outside_of_the_stretches_come_last():
    verdict = Verdict(4, (WON._replace(advantage=None),), (), (1 << 20, 1 << 21), "good", single=((65536, "tree"),))
    assert verdict_sentence(verdict._replace(sizes=SIZES)) == (
        "4 ranks: ring up to 4 KiB. At one size only: tree at 64 KiB. No winner: 1 MiB, 2 MiB."
    )


@pytest.mark.parametrize("size_bytes, words", [(9.4, "9 B"), (300, "300 B"), (1500, "1.5 KiB"), (2**25, "32 MiB")])
def test_a_crossover_says_between_which_sizes(size_bytes, words):
    found = crossover_words(HandOver("a", "b", 8, 4096, size_bytes))
    assert found == f"a to b: about {words}, between 8 B and 4 KiB"


@pytest.mark.parametrize("reason", REASONS)
def test_without_a_winner_the_sentence_says_why(reason):
    assert verdict_sentences(Verdict(4, (), (), (8,), "good", reason)) == [f"No winner: {REASONS[reason]}."]


def test_few_launches_name_who_is_probably_the_fastest():
    verdict = Verdict(4, (), (), (8,), "good", "few launches", (Probable("ring", 65536, 1 << 20),))
    assert verdict_sentences(verdict)[1] == "Probably ring from 64 KiB to 1 MiB."


@pytest.mark.parametrize(
    "grade, words",
    [("good", "1.5 to 711 times as fast as native (1.4 in"), ("provisional", "1.5 to more than 10 times")],
)
def test_how_many_times_is_said_only_where_it_can_be_relied_on(grade, words):
    stretch = WON._replace(advantage=Advantage("native", ((711e-6, 1e-6), (1.5e-6, 1e-6)), 1.4, 10))
    (sentence,) = verdict_sentences(Verdict(4, (stretch,), (), (), grade))
    assert re.search(re.escape(words), sentence)


def test_whoever_divides_the_printed_times_gets_the_printed_factor():
    """1.4949 over 1.0049 is 1.4876; a table shows 1.49 and 1.00, which make 1.49."""
    advantage = Advantage("native", ((1.4549e-6, 1.0049e-6),), 1.5, 5)
    (sentence,) = verdict_sentences(Verdict(4, (WON._replace(advantage=advantage, high=8),), (), (), "good"))
    assert ": 1.4 times as fast as native (1.4 in the worst of 5 launches)" in sentence


def test_what_can_be_set_is_named_with_its_gain():
    gain = Gain("native:ring", (1 << 20, 1 << 22, 1 << 24), 1.5, 1.61, 1.3, 5)
    assert settable_sentence(Settable("native:default", 4, (gain,))) == (
        "What you can set: native:ring from 1 MiB to 16 MiB: 1.5 to 1.6 times as fast as native:default "
        "(1.3 in the worst of 5 launches)."
    )
    none_gains = "none of the library's 4 algorithms is shown to be faster than native:default."
    assert settable_sentence(Settable("native:default", 4, ())) == f"What you can set: {none_gains}"
    assert settable_sentence(None).endswith("add -a native:all.")


def test_a_crossover_lies_where_the_winner_changes(tmp_path):
    def factor(_, cell):
        return 4.0 if cell.algorithm == ("ring" if cell.size_bytes < 16384 else "native") else 1.0

    run = build_run(tmp_path / "run", algorithms=("native", "ring"), ranks=(2,), launches=5, factor=factor)
    ((switch,),) = switches(verdicts(summarise(run))).values()
    assert (switch.low, switch.high) == (1024, 65536) and switch.low < switch.x < switch.high
    assert switch.words.startswith("crossover from native to ring: about ")
