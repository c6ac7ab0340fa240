"""The words of --placement."""

import pytest

from allreduce_bench.runs.cell import EXPECTED_PLACEMENT, parse_placement
from allreduce_bench.runs.plan import Plan, PlanError


def test_a_placement_is_one_word():
    assert [parse_placement(text) for text in ("page", " numpy", "016", "0")] == ["page", "numpy", "16", "0"]


@pytest.mark.parametrize("text", ["", "paeg", "16B", "-1", "1.5", "4096", "1" * 300, "²"])
def test_what_is_no_placement_is_refused_with_what_is_one(text):
    with pytest.raises(ValueError, match=EXPECTED_PLACEMENT):
        parse_placement(text)
    assert "below 4096" in EXPECTED_PLACEMENT


def test_a_plan_refuses_differences_at_which_elements_are_not_aligned():
    choices = {"competitors": ("ring",), "sizes": (8,), "ranks": (2,)}
    assert Plan(**choices, placement="8").placement == "8"
    with pytest.raises(PlanError, match="--placement 6.*4 bytes.*multiple of 4"):
        Plan(**choices, placement="6")
    with pytest.raises(PlanError):
        Plan(**choices, placement="nowhere")
