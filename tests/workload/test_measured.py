"""Measured steps as values: what ranks are asked, and what their times say."""

import pytest

from allreduce_bench.workload.architectures import known_model
from allreduce_bench.workload.buckets import Caps
from allreduce_bench.workload.fusion import Fusion
from allreduce_bench.workload.measured import costs_alone, measured_of, rank_request
from allreduce_bench.workload.step import Setup, buckets_of, outcome
from allreduce_bench.workload.tensors import Gradient, Model

MODEL = Model("m", "M", (Gradient("a", (300,)), Gradient("b", (100,))))
SETUP = Setup(MODEL, 6.0, Caps(400, 400))
FOUND = {
    "compute_alone_s": [6.0, 6.1, 5.9],
    "alone_s": [[1.0, 3.0], [1.2, 3.0], [0.8, 3.0]],
    "steps": [
        {
            "step_s": step_s,
            "compute_s": 6.6,
            "phases": [["forward", 0, 2.2], ["backward", 2.2, 3.3], ["backward", 3.3, 6.6]],
            "transfers": [[3.3, 3.3, 4.5], [6.6, 6.6, step_s]],
        }
        for step_s in (9.0, 8.0, 8.6)
    ],
}


def test_ranks_compute_until_each_bucket_is_ready():
    asked = rank_request(SETUP._replace(accumulate=2))
    assert asked["counts"] == [100, 300] and asked["dtype"] == "float32"
    assert asked["gaps_s"] == pytest.approx([1.0, 3.0]) and asked["before_s"] == pytest.approx(8.0)
    whole = rank_request(Setup(known_model("bert-base"), 0.1))
    assert sum(whole["counts"]) == 109_482_240 and sum(whole["gaps_s"]) + whole["before_s"] == pytest.approx(0.1)


def test_medians_say_what_was_hidden_and_what_it_cost():
    found = measured_of(FOUND, SETUP, 2, "native")
    assert (found.step_s, found.compute_alone_s, found.communication_alone_s) == (8.6, 6.0, 4.0)
    assert found.exposed_s == pytest.approx(2.6) and found.overlap_share == pytest.approx(1.4 / 4)
    assert found.slowdown == pytest.approx(0.1)
    assert found.time_line.step_s == 8.6 and found.time_line.overlap_share == pytest.approx(1.2 / 3.2)
    assert [one.nbytes for one in found.time_line.transfers] == [one.nbytes for one in buckets_of(SETUP)]


def test_the_all_reduces_alone_make_a_model_of_the_step():
    found = measured_of(FOUND, SETUP, 2, "native")
    line = outcome(SETUP, costs_alone(found), 2).time_line
    assert line.communication_s == pytest.approx(4.0) and line.step_s == pytest.approx(9.0)


def test_what_is_only_modelled_is_refused():
    with pytest.raises(ValueError, match="Horovod's cycles are modelled only"):
        rank_request(SETUP._replace(packing=Fusion()))
    mixed = MODEL._replace(gradients=(*MODEL.gradients, Gradient("c", (9,), dtype="float64")))
    with pytest.raises(ValueError, match=r"several types \(float32, float64\)"):
        rank_request(SETUP._replace(model=mixed))
