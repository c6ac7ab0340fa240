"""What a reader is told of a fit."""

import numpy as np
import pandas as pd
from has_message import has_message
from made_models import ALPHA_S, observed, series

from allreduce_bench.message import say
from allreduce_bench.models.fitting import diagnose, estimates, plain
from allreduce_bench.models.forms import Observations


def notes(cells: Observations) -> str:
    fit = plain(cells, "ring", cells.at(cells.counts))
    return "\n".join(diagnose(cells, fit, estimates(cells, fit)))


def test_a_good_fit_says_only_how_its_intervals_came_about():
    cells = observed("ring", series("ring", noise=0.01))
    assert notes(cells) == say("models.intervals_by_leaving_out", counts=4, sizes=8)


def test_what_is_not_identified_is_named():
    cells = observed("ring", series("ring", theta=(ALPHA_S, 0.0), noise=0.02))
    assert has_message(notes(cells), "models.not_identified_bounded", names="beta")
    cells = observed("ring", series("ring", sizes=(8,)))
    assert has_message(notes(cells), "models.size_bytes_estimated_no", nbytes="8", only="alpha")


def test_ranks_where_nearly_all_sizes_are_off_to_one_side_are_named():
    far = series("ring", (16,)).assign(time_s=lambda points: 3 * points["time_s"])
    text = notes(observed("ring", pd.concat([series("ring", (2, 4, 8)), far], ignore_index=True)))
    assert has_message(text, "models.predicted_too_nearly_sizes", word="low", ranks="16") and has_message(
        text, "models.cells_off_more", off=8, residual_count=32
    )


def test_launches_that_differ_are_told():
    cells = observed("ring", series("ring"))
    logs = cells.log_time + np.log([[0.9], [1.0], [1.1]])
    text = notes(Observations(cells.ranks, cells.nbytes, logs, cells.paths))
    assert has_message(text, "models.launches_cell_differ_median", floor=0.10000000000000088)
    assert has_message(text, "models.model_error_smaller_spread")
