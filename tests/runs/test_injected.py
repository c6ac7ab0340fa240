"""What is injected before calls: words as they are kept, and what makes no sense, each in a sentence."""

import re

import pytest

from allreduce_bench.runs.cell import Cell
from allreduce_bench.runs.injected import (
    factor_of,
    late_by_of,
    longest_delay_s,
    longest_phase_s,
    parse_arrival,
    parse_late_by,
    parse_phase,
    parse_slowdown,
    slowdown_of,
)
from allreduce_bench.runs.plan import Plan, PlanError

CHOICES = {"competitors": ("native",), "sizes": (8,), "ranks": (4, 8)}


@pytest.mark.parametrize(("words", "kept"), [("5:12%", "5:12%"), (" 05 : 12.50 % ", "5:12.5%"), ("0:200%", "0:200%")])
def test_a_slowdown_is_kept_in_one_form(words, kept):
    assert parse_slowdown(words) == kept == parse_slowdown(kept)


@pytest.mark.parametrize("words", ["5", "5:12", "-1:5%", "x:5%", "5:0%", "5:-3%", "5:12%@9", "5:nan%", ""])
def test_other_words_are_refused(words):
    with pytest.raises(ValueError, match=re.escape(f"'{words}' is not") + ".*share above"):
        parse_slowdown(words)


def test_only_the_named_rank_is_slower():
    assert slowdown_of("5:12%") == (5, 0.12)
    assert [factor_of(("5:12%", "2:50%"), rank) for rank in (0, 2, 5)] == [1, 1.5, pytest.approx(1.12)]
    assert longest_phase_s(2.0, ("5:12%", "2:50%")) == 3.0
    assert longest_phase_s(2.0, ()) == 2.0


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        (
            {"compute_s": 0.01, "inject_slowdown": ("5:12%",)},
            "--inject-slowdown 5.*4 ranks.*rank 5",
        ),
        ({"compute_s": 0.01, "inject_slowdown": ("8:12%",), "ranks": (8,)}, "has no rank 8"),
        ({"compute_s": 0.01, "inject_slowdown": ("1:12%", "1:5%")}, "--inject-slowdown names"),
        ({"inject_slowdown": ("1:12%",)}, "add one with --compute"),
        ({"work": "sleep"}, "sleep is a.*--compute 10ms"),
        ({"compute_s": 0.01, "groups": "2"}, "leave out --groups"),
        ({"arrival": "ramp", "compute_s": 0.1}, "--compute lets"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(choices, words):
    with pytest.raises(PlanError, match=words) as refused:
        Plan.from_json({**Plan(**CHOICES).to_json(), **choices})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("none", ""),
        (" one-late", "one-late"),
        ("/a/../b/steps.csv", "/b/steps.csv"),
    ],
)
def test_a_pattern_is_one_word_or_the_path_of_a_trace(words, kept):
    assert parse_arrival(words) == kept


@pytest.mark.parametrize(
    ("words", "found"),
    [("late", "'late' is not"), ("one-lat", "did you mean one-late"), ("", "expected none, one-late")],
)
def test_other_patterns_are_refused(words, found):
    with pytest.raises(ValueError, match=found):
        parse_arrival(words)


@pytest.mark.parametrize(
    ("words", "kept", "meaning"),
    [
        ("1x", "1x", (1.0, None)),
        (" 0.50 x", "0.5x", (0.5, None)),
        ("1ms", "0.001s", (None, 0.001)),
        ("2s", "2s", (None, 2.0)),
    ],
)
def test_a_lateness_is_a_factor_or_a_time(words, kept, meaning):
    assert parse_late_by(words) == kept == parse_late_by(kept)
    assert late_by_of(kept) == meaning


def test_a_phase_of_work_has_a_unit():
    assert parse_phase("20ms") == 0.02 and parse_phase("1m30s") == 90 and parse_phase("0") == 0
    with pytest.raises(ValueError, match="'20' has no.*such as 20ms, 20us or 20s"):
        parse_phase("20")


@pytest.mark.parametrize("words", ["0x", "0s", "x", "soon", "-1ms", "2", ""])
def test_other_lateness_is_refused(words):
    with pytest.raises(ValueError, match="not a lateness"):
        parse_late_by(words)


def test_how_long_a_rank_may_wait_is_known_where_it_is_a_time():
    assert longest_delay_s("ramp", "2s") == 2.0
    assert longest_delay_s("ramp", "2x") == longest_delay_s("/a/steps.csv", "2s") == 0.0


def test_a_pattern_changes_no_cell_and_no_order():
    plain, delayed = Plan(**CHOICES, seed=1), Plan(**CHOICES, seed=1, arrival="/a/s.csv")
    launch = plain.planned_launches()[0]
    assert delayed.arrival_name == "s.csv"
    assert delayed.cells(launch) == plain.cells(launch)
    assert all(Cell.from_key(cell.key) == cell for cell in plain.cells(launch))
