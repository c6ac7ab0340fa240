"""What a reader is told of a fit."""

import numpy as np
import pandas as pd
from made_models import ALPHA_S, observed, series

from allreduce_bench.models.fitting import diagnose, estimates, plain
from allreduce_bench.models.forms import Observations


def notes(cells: Observations) -> str:
    fit = plain(cells, "ring", cells.at(cells.counts))
    return "\n".join(diagnose(cells, fit, estimates(cells, fit)))


def test_a_good_fit_says_only_how_its_intervals_came_about():
    cells = observed("ring", series("ring", noise=0.01))
    assert "4) and each size (8)" in notes(cells)


def test_what_is_not_identified_is_named():
    cells = observed("ring", series("ring", theta=(ALPHA_S, 0.0), noise=0.02))
    assert "beta" in notes(cells)
    cells = observed("ring", series("ring", sizes=(8,)))
    said = notes(cells)
    assert "8 bytes" in said and "alpha can be" in said


def test_ranks_where_nearly_all_sizes_are_off_to_one_side_are_named():
    far = series("ring", (16,)).assign(time_s=lambda points: 3 * points["time_s"])
    text = notes(observed("ring", pd.concat([series("ring", (2, 4, 8)), far], ignore_index=True)))
    assert "low at nearly" in text and "16 ranks" in text and "8 of 32 cells" in text and "off by more" in text


def test_launches_that_differ_are_told():
    cells = observed("ring", series("ring"))
    logs = cells.log_time + np.log([[0.9], [1.0], [1.1]])
    text = notes(Observations(cells.ranks, cells.size_bytes, logs, cells.paths))
    assert "10.0% from their" in text
    assert "model error" in text
