"""Sizes that a tuning was not made from, and what counts as harmless."""

from dataclasses import replace

import pytest
from made_tunings import TUNING

from allreduce_bench.identifying.evidence import Answer
from allreduce_bench.identifying.launch import Findings
from allreduce_bench.which.tuning import Rule, TuneError
from allreduce_bench.which.tuning_proof import Alternated, Seen, compare_places, is_faster, refuse_told, sizes_to_time

RULE = Rule(4, 64, 1 << 20, "ring", (), 1.3, 1.4, 1.2, 10)


@pytest.mark.parametrize(
    "sizes, expected",
    [
        ((8, 64, 1024, 1 << 20), [256, 32768]),
        ((64, 128, 1 << 20, 1 << 24), [88, 11584]),
        ((64, 256, 1024, 4096, 1 << 14, 1 << 16, 1 << 18, 1 << 20), [128, 1 << 13, 1 << 19]),
    ],
)
def test_a_rule_is_timed_between_the_sizes_that_it_was_made_from(sizes, expected):
    found = sizes_to_time(RULE, sizes)
    assert not {*found} & {*sizes} and all(size % 8 == 0 for size in found)
    assert found == expected


def test_a_rule_without_a_size_between_is_timed_at_its_own():
    assert sizes_to_time(replace(RULE, high_bytes=72), (8, 64, 72, 1 << 20)) == [64, 72]


@pytest.mark.parametrize(
    "files_s, ratios, is_kept",
    [(1e-6, (1.2, 1.3), True), (1e-6, (1.2, 0.92), True), (1e-6, (1.2, 0.90), False), (1.95e-6, (1.2, 1.0), False)],
)
def test_a_rule_is_kept_that_is_faster_and_in_no_round_slower_by_ten_per_cent(files_s, ratios, is_kept):
    assert is_faster(RULE, [Alternated(RULE, 256, 2e-6, files_s, ratios)]) is is_kept


@pytest.mark.parametrize("words, wrong", [("acts", False), ("cannot tell", False), ("CHANGED", True)])
def test_what_changes_without_a_rule_is_wrong(words, wrong):
    assert Seen(3, 8, "", ("ring",), ("tree",), words).is_wrong is wrong


RAN = {"ring": ("ring",), "tree": ("tree",), "either": ("ring", "tree")}


@pytest.mark.parametrize(
    "with_files, without, words",
    [
        ("ring", "tree", "acts"),
        ("ring", "ring", "runs without the file, too"),
        ("either", "either", "cannot tell"),
        ("tree", "tree", "DOES NOT ACT"),
    ],
)
def test_a_rule_acts_where_another_algorithm_runs_without_it(with_files, without, words):
    sides = [
        Findings({256: Answer(RAN[name], True, True, "")}, (), "", {}, 4, 1, "float32", {})
        for name in (with_files, without)
    ]
    (seen,) = compare_places(replace(TUNING, rules=(RULE,)), 4, [256], *sides)
    assert seen.words == words
    assert seen.is_wrong == (words == "DOES NOT ACT")


def test_what_else_tells_the_library_something_is_refused(monkeypatch):
    monkeypatch.setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1")
    refuse_told(TUNING)
    monkeypatch.setenv("OMPI_MCA_coll_tuned_allreduce_algorithm", "ring")
    with pytest.raises(TuneError, match="coll_tuned_allreduce_algorithm=ring"):
        refuse_told(TUNING)
    refuse_told(replace(TUNING, told="coll_tuned_allreduce_algorithm=ring"))
