"""--only: launches are chosen by ranks, by number, or both; an unknown one is refused with the known ones."""

import re

import pytest

from allreduce_bench.runs.launch_choice import chosen_launches, parse_only
from allreduce_bench.runs.plan import Plan, PlanError

PLAN = Plan(("ring",), (8,), (4, 8, 16), 3, 1)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("8r", "8r-1 8r-2 8r-3"),
        ("-2", "4r-2 8r-2 16r-2"),
        ("8r-2,16r", "16r-1 8r-2 16r-2 16r-3"),
        ("8r,-1", "4r-1 8r-1 16r-1 8r-2 8r-3"),
    ],
)
def test_words_choose_launches_in_the_order_of_the_plan(text, names):
    assert [launch.name for launch in chosen_launches(PLAN, text)] == names.split()


@pytest.mark.parametrize("text", ["", ",", "  "])
def test_no_words_choose_all(text):
    assert chosen_launches(PLAN, text) == PLAN.planned_launches() and parse_only(text) == {}


@pytest.mark.parametrize("text", ["9r", "8r-4", "-4", "8r,9r-1", "-0"])
def test_a_word_that_chooses_nothing_names_what_there_is(text):
    with pytest.raises(PlanError, match="no such launch; known: 4r, 8r, 16r.*-1 to -3"):
        chosen_launches(PLAN, text)


@pytest.mark.parametrize(
    "text", ["8", "r", "8r-", "8r-1-2", "8r 2", "all", "8r;rm", "²r", "-", "8r-\n1", "1" * 10 + "r"]
)
def test_other_words_are_refused(text):
    with pytest.raises(PlanError, match=re.escape(f"--only {text}") + ".*example 8r"):
        parse_only(text)
