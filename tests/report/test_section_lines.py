"""The line of the folded models: how good they are."""

from dataclasses import replace

import pytest
from hand_models import hand_models

from allreduce_bench.models.intervals import HeldOut
from allreduce_bench.report.page import models_line


@pytest.mark.parametrize(("error", "is_large"), [(0.1, False), (0.25, False), (0.4, True)])
def test_models_that_miss_left_out_rank_counts_are_not_relied_on(error, is_large):
    (model,) = hand_models(("ring",))
    line = models_line([replace(model, held_out=HeldOut(error, 2 * error, 9))])
    assert f"median error {100 * error:.0f} %" in line and ("too large" in line) == is_large


def test_nothing_fitted_is_said():
    assert models_line([]) == "none could be fitted"
