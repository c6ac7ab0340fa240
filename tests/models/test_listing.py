"""What `fit` prints: a table for people, rows and JSON for programs."""

import csv
import io
import json

import numpy as np
import pytest
from hand_models import hand_model
from made_models import observed, series

from allreduce_bench.models.fitting import IN_SAMPLE, Reach, Residuals, Scores
from allreduce_bench.models.joint import Joint, LocalGamma
from allreduce_bench.models.listing import PARAMETER_COLUMNS, Listing
from allreduce_bench.models.model import Parameter
from allreduce_bench.models.series import FittedSeries, UnfittedSeries

GAMMA = Parameter("gamma_s_per_byte", "", 0.0, 3e-11, None, None, True)


@pytest.fixture
def listing() -> Listing:
    scores = Scores(Reach(0.1, 0.0), {IN_SAMPLE: Residuals(np.log([1.02, 0.98]), np.array([True, True]))})
    model = hand_model("ring", run="monday", notes=("one thing to know",))
    fitted = FittedSeries(model, scores, scores, observed("ring", series("ring")))
    joint = Joint("monday", ("ring", "two_tree"), (GAMMA,), 3.0, 0.02)
    unfit = [UnfittedSeries("monday", "mystery", "one point")]
    return Listing([fitted], unfit, [joint], ["too few"], [LocalGamma("monday", 2, GAMMA)])


def test_the_table_has_parameters_errors_and_sentences(listing):
    blocks = listing.table().split("\n\n")
    assert blocks[0].splitlines()[0].split() == [
        "series",
        "parameter",
        "value",
        "unit",
        "95",
        "%",
        "interval",
        "rate",
        "form",
    ]
    assert "monday: ring" in blocks[0] and "GB/s" in blocks[0]
    assert "3.1%  10%" in blocks[1] and "2,4" in blocks[1]
    sentences = "\n".join(blocks[2:])
    for sentence in (
        "monday: ring and two_tree together: gamma 30.0 ps/byte reduced (unknown); median error 2.0%, condition",
        "no gamma: too few",
        "monday: gamma of a local reduction 30.0 ps/byte (floor, 2 ranks)",
        "ring: one thing to know",
        "not fitted: monday: mystery: one point",
        "in sample, pooled over 1 series, 2 cells: median 2.0%",
    ):
        assert sentence in sentences


def test_a_row_is_a_parameter_in_si_units(listing):
    rows = list(csv.DictReader(io.StringIO(listing.csv())))
    assert tuple(rows[0]) == PARAMETER_COLUMNS
    assert [row["parameter"] for row in rows] == ["alpha_s", "beta_s_per_byte"]
    assert float(rows[0]["low"]) < float(rows[0]["value"]) < float(rows[0]["high"]) and rows[0]["identified"] == "1"


def test_json_holds_everything_by_name(listing):
    content = json.loads(listing.json())
    (model,) = content["models"]
    assert (model["competitor"], model["run"], model["parts"][0]["form"]) == ("ring", "monday", "alpha-beta")
    assert content["pooled"][IN_SAMPLE]["points"] == 2 and content["unfit"][0]["reason"] == "one point"
    assert content["local_gamma"][0]["gamma"]["value"] == 3e-11 and content["no_gamma"] == ["too few"]
