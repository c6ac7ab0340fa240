"""A grade in words: every reason says what was found and what to do."""

import pytest

from allreduce_bench.evaluation.grade import CRITERIA, GOOD, NOT_RELIABLE, PROVISIONAL, Grade, Reason
from allreduce_bench.report.grade_sentence import (
    UNKNOWN,
    WORDS,
    grade_sentence,
    reason_words,
)

OTHERS = Reason("others", NOT_RELIABLE, 0.38)
CROWDED = Reason("oversubscribed", PROVISIONAL, 4, 2)


def test_every_criterion_has_its_words():
    assert {*WORDS} == {*CRITERIA}


@pytest.mark.parametrize("code", CRITERIA)
def test_numbers_stand_in_the_words_and_agree_with_their_nouns(code):
    text, advice = reason_words(Reason(code, PROVISIONAL, 1))
    assert len(text) > 5 and len(advice) > 5 and "1 nodes" not in text and "1 cells" not in text
    if code != "unmeasured":
        assert reason_words(Reason(code, PROVISIONAL, 3))[0] != text


def test_every_reason_is_said_with_what_to_do():
    reasons = (OTHERS, Reason("launches", PROVISIONAL, 1), CROWDED)
    assert "2 per node" in grade_sentence(Grade(NOT_RELIABLE, reasons))
    assert "2 per node" in grade_sentence(Grade(PROVISIONAL, (CROWDED,)))


def test_cells_that_lack_launches_are_told_from_a_run_of_few():
    assert reason_words(Reason("launches", PROVISIONAL, 3)) == ("3 launches", "use 5 launches or more")
    said, advice = reason_words(Reason("launches", PROVISIONAL, 1, 3))
    assert "cells have 1 of 3 launches" in said and advice == "measure all of them in 5 launches or more"


def test_a_good_grade_is_short_and_what_is_not_known_is_said():
    assert grade_sentence(Grade(GOOD, ())) == "grade: good"
    assert grade_sentence(Grade(GOOD, (), ("load",))) == f"grade: good: {UNKNOWN['load']}"


@pytest.mark.parametrize(
    ("upper_over_lower", "half"), [(1.29, " ±14 %"), (3.9, " ±97 %"), (100, " a factor of 10.0 either way")]
)
def test_a_wide_interval_is_said_by_its_half_width(upper_over_lower, half):
    said, _ = reason_words(Reason("wide", PROVISIONAL, upper_over_lower))
    assert said == f"times known to{half}"


def test_small_shares_are_no_zero():
    assert "0.5 %" in reason_words(Reason("others", PROVISIONAL, 0.005))[0]
