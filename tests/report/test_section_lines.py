"""The line of a folded section: how good its models are, what is known, what was compared."""

from dataclasses import replace

import pytest
from hand_models import hand_models

from allreduce_bench.models.intervals import HeldOut
from allreduce_bench.report.page import models_line, ran_line, rivals_line


@pytest.mark.parametrize(("error", "is_large"), [(0.1, False), (0.25, False), (0.4, True)])
def test_models_that_miss_left_out_rank_counts_are_not_relied_on(error, is_large):
    (model,) = hand_models(("ring",))
    line = models_line([replace(model, held_out=HeldOut(error, 2 * error, 9))])
    assert f"median error {100 * error:.0f} %" in line and ("too large" in line) == is_large


def test_nothing_fitted_nothing_known_and_nothing_compared_are_said():
    assert models_line([]) == "none could be fitted"
    assert ran_line({"lines": []}) == "unknown" and not ran_line({"lines": [1]})
    assert rivals_line({"compared": [], "lines": []}) == "none could be compared"


def test_faster_rivals_are_counted_once():
    rivals = {"compared": [1, 2, 3], "lines": [{"against": "ring"}, {"against": "ring"}, {"against": "tree"}]}
    assert rivals_line(rivals) == "2 of the rivals faster than native somewhere"
    assert rivals_line({"compared": [1], "lines": []}) == "none of the rivals faster than native somewhere"
