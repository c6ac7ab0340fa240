"""Conditions of a run: which options declare one, its text, and which are not the default."""

from dataclasses import replace

import pytest

from allreduce_bench.runs.conditions import conditions_of, unusual_conditions
from allreduce_bench.runs.plan import Plan
from allreduce_bench.runs.start import Start

PLAN = Plan(("native", "ring"), (8, 1 << 20), (2, 4), seed=5)
TRACE = ("arrival", "steps.csv (sha256 0123456789abcdef)")


def test_a_plan_as_it_comes_has_no_unusual_condition():
    assert unusual_conditions(PLAN) == [] and conditions_of(PLAN)["segment"] == "128K"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"cache": "cold"}, ("cache", "cold")),
        ({"segment_nbytes": 64 * 1024}, ("segment", "64K")),
        ({"compute_s": 0.01}, ("compute", "10ms")),
        ({"arrival": "/here/steps.csv", "arrival_digest": "0123456789abcdef" * 4}, TRACE),
        ({"start": Start(bind_to="core")}, ("bind-to", "core")),
        ({"energy": True}, ("energy", "yes")),
        ({"launches": 9}, None),
        ({"back_to_back": 9}, None),
        ({"seed": 6}, None),
    ],
)
def test_what_changes_a_time_is_a_condition_and_how_often_it_is_repeated_is_none(changed, said):
    assert unusual_conditions(replace(PLAN, **changed)) == ([said] if said else [])
