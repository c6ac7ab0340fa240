"""What is injected before calls: words as they are kept, and what makes no sense, each in a sentence."""

import pytest

from allreduce_bench.runs.injected import factor_of, longest_phase_s, parse_slowdown, slowdown_of
from allreduce_bench.runs.plan import Plan, PlanError

CHOICES = {"algorithms": ("native",), "sizes": (8,), "ranks": (4, 8)}


@pytest.mark.parametrize(("words", "kept"), [("5:12%", "5:12%"), (" 05 : 12.50 % ", "5:12.5%"), ("0:200%", "0:200%")])
def test_a_slowdown_is_kept_in_one_form(words, kept):
    assert parse_slowdown(words) == kept == parse_slowdown(kept)


@pytest.mark.parametrize("words", ["5", "5:12", "-1:5%", "x:5%", "5:0%", "5:-3%", "5:12%@9", "5:nan%", ""])
def test_other_words_are_refused(words):
    with pytest.raises(ValueError, match="is not a slowdown; expected a rank and a share"):
        parse_slowdown(words)


def test_only_the_named_rank_is_slower():
    assert slowdown_of("5:12%") == (5, 0.12)
    assert [factor_of(("5:12%", "2:50%"), rank) for rank in (0, 2, 5)] == [1, 1.5, pytest.approx(1.12)]
    assert longest_phase_s(2.0, ("5:12%", "2:50%")) == 3.0
    assert longest_phase_s(2.0, ()) == 2.0


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"compute_s": 0.01, "inject_slowdown": ("5:12%",)}, "a launch of 4 ranks has no rank 5; name one of 0 to 3"),
        ({"compute_s": 0.01, "inject_slowdown": ("8:12%",), "ranks": (8,)}, "has no rank 8"),
        ({"compute_s": 0.01, "inject_slowdown": ("1:12%", "1:5%")}, "names one rank twice"),
        ({"inject_slowdown": ("1:12%",)}, "add one with --compute"),
        ({"compute_s": 0.01, "groups": "2"}, "leave out --groups"),
        ({"compute_s": 0.01, "work": "dance"}, "work"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(choices, words):
    with pytest.raises(PlanError, match=words) as refused:
        Plan.from_json({**Plan(**CHOICES).to_json(), **choices})
    assert "\n" not in str(refused.value)


def test_every_number_of_ranks_is_looked_at():
    assert Plan(**CHOICES, compute_s=0.01, inject_slowdown=("3:12%",)).inject_slowdown == ("3:12%",)
