"""What ranks are asked to measure: computation, what is handed over, and when."""

import pytest

from allreduce_bench.training.architectures import known_model
from allreduce_bench.training.buckets import Caps
from allreduce_bench.training.measured import step_request
from allreduce_bench.training.step import Setup
from allreduce_bench.training.tensors import Gradient, Model

MODEL = Model("m", "M", (Gradient("a", (300,)), Gradient("b", (100,))))
SETUP = Setup(MODEL, 6.0, Caps(400, 400))


def test_ranks_compute_until_each_bucket_is_ready():
    asked = step_request(SETUP)
    assert asked["counts"] == [100, 300] and asked["dtype"] == "float32"
    expected = [("forward", 2.0), ("backward", 1.0), ("bucket", 0.0), ("backward", 3.0), ("bucket", 0.0)]
    assert [kind for kind, _ in asked["actions"]] == [kind for kind, _ in expected]
    assert [time_s for _, time_s in asked["actions"]] == pytest.approx([time_s for _, time_s in expected])
    whole = step_request(Setup(known_model("bert-base"), 0.1))
    assert sum(whole["counts"]) == 109_482_240 and sum(time_s for _, time_s in whole["actions"]) == pytest.approx(0.1)


def test_what_is_only_modelled_is_refused():
    mixed = MODEL._replace(gradients=(*MODEL.gradients, Gradient("c", (9,), dtype="float64")))
    with pytest.raises(
        ValueError,
        match=r"gradients of several.*float32, float64\) are modelled",
    ):
        step_request(SETUP._replace(model=mixed))
    with pytest.raises(ValueError, match="int32 have no average"):
        step_request(SETUP._replace(dtype="int32"))
