"""Sections with large errors are folded, and say so in one line."""

from dataclasses import replace

import pytest
from hand_models import hand_models

from allreduce_bench.models.intervals import HeldOut
from allreduce_bench.report.page import of_models, of_ran, of_rivals


def with_error(error: float):
    (model,) = hand_models(("ring",))
    return [replace(model, held_out=HeldOut(error, 2 * error, 9))]


@pytest.mark.parametrize(("error", "is_open"), [(0.1, True), (0.25, True), (0.4, False)])
def test_models_that_miss_left_out_rank_counts_are_folded(error, is_open):
    folding = of_models(with_error(error))
    assert folding.is_open == is_open and f"median error {100 * error:.0f} %" in folding.line
    assert ("folded" in folding.line) == (not is_open)


def test_no_model_has_nothing_to_fold():
    assert of_models([]) == (True, "none could be fitted")


def test_what_the_library_ran_is_folded_where_that_is_known_nowhere():
    assert of_ran({"lines": [1]}).is_open
    assert of_ran({"lines": []}) == (False, "unknown")


def test_faster_rivals_are_counted_once_and_open_where_times_are_reliable():
    rivals = {"compared": [1, 2, 3], "lines": [{"against": "ring"}, {"against": "ring"}, {"against": "tree"}]}
    assert of_rivals(rivals, "good") == (True, "2 of the rivals faster than native somewhere")
    assert not of_rivals(rivals, "not reliable").is_open
    assert of_rivals({"compared": [1], "lines": []}, "good") == (
        False,
        "none of the rivals faster than native somewhere",
    )
    assert "none could" in of_rivals({"compared": [], "lines": []}, "good").line
