"""Measured steps as values: what ranks are asked, and what their times say."""

import pytest

from allreduce_bench.workload.architectures import known_model
from allreduce_bench.workload.buckets import Caps
from allreduce_bench.workload.fusion import Fusion
from allreduce_bench.workload.measured import measured_of, modelled_of, overlap_share, rank_request
from allreduce_bench.workload.step import Setup, buckets_of
from allreduce_bench.workload.tensor_parallel import divide
from allreduce_bench.workload.tensors import Gradient, Model

MODEL = Model("m", "M", (Gradient("a", (300,)), Gradient("b", (100,))))
SETUP = Setup(MODEL, 6.0, Caps(400, 400))
FOUND = {
    "compute_alone_s": [6.0, 6.1, 5.9],
    "alone_s": [[1.0, 3.0], [1.2, 3.0], [0.8, 3.0]],
    "tensor_alone_s": [[], [], []],
    "steps": [
        {
            "step_s": step_s,
            "compute_s": 6.6,
            "phases": [["forward", 0, 2.2], ["backward", 2.2, 3.3], ["backward", 3.3, 6.6]],
            "transfers": [[3.3, 3.3, 4.5], [6.6, 6.6, step_s]],
            "stalls": [],
        }
        for step_s in (9.0, 8.0, 8.6)
    ],
}


def test_ranks_compute_until_each_bucket_is_ready():
    asked = rank_request(SETUP._replace(accumulate=2))
    assert asked["counts"] == [100, 300] and asked["dtype"] == "float32"
    one_pass = [("forward", 2.0), ("backward", 4.0)]
    last = [("forward", 2.0), ("backward", 1.0), ("bucket", 0.0), ("backward", 3.0), ("bucket", 0.0)]
    assert [kind for kind, _ in asked["actions"]] == [kind for kind, _ in one_pass + last]
    assert [time_s for _, time_s in asked["actions"]] == pytest.approx([time_s for _, time_s in one_pass + last])
    whole = rank_request(Setup(known_model("bert-base"), 0.1))
    assert sum(whole["counts"]) == 109_482_240 and sum(time_s for _, time_s in whole["actions"]) == pytest.approx(0.1)


def test_ranks_of_a_group_add_activations_between_computations():
    part, tensor = divide(known_model("gpt2"), "div:4", 4, 2, "flops", 1 / 64)
    setup = Setup(part, 0.1, Caps(400_000, 16_000), accumulate=2, tensor=tensor)
    asked = rank_request(setup)
    kinds = [kind for kind, _ in asked["actions"]]
    assert kinds.count("tensor") == 2 * 48 and kinds.count("bucket") == len(asked["counts"]) == len(buckets_of(setup))
    assert asked["groups"] == "div:4" and asked["tensor_count"] == 2 * 1024 * 768 // 64
    assert sum(time_s for _, time_s in asked["actions"]) == pytest.approx(0.2)
    assert kinds[-2:] == ["tensor", "bucket"]  # the embedding comes behind the last layer
    first = kinds.index("bucket")
    assert "tensor" in kinds[first:] and kinds[:first].count("tensor") >= 48 + 24


def test_both_kinds_of_all_reduces_are_told_apart():
    part, tensor = divide(known_model("gpt2"), "2", 2, 1, "flops")
    setup = Setup(part, 6.0, Caps(1 << 40, 1 << 40), tensor=tensor)
    stalls = [[0.1 * number, 0.1 * number + 0.02] for number in range(48)]
    step = {"step_s": 9.0, "compute_s": 6.2, "phases": [["forward", 0, 6.2]], "transfers": [[6, 6, 9]]}
    found = {"compute_alone_s": [6.0], "alone_s": [[2.0]], "tensor_alone_s": [[0.01] * 20]}
    one = measured_of({**found, "steps": [{**step, "stalls": stalls}]}, setup, 4, "ring")
    assert one.tensor_alone_s == pytest.approx(0.48) and one.tensor_beside_s == pytest.approx(0.96)
    assert one.data_exposed_s == pytest.approx(3.0 - 0.96) and one.overlap_share == 0.0
    line = modelled_of(one, setup).time_line
    assert line.tensor_s == pytest.approx(0.48) and line.communication_s == pytest.approx(2.0)
    assert line.step_s == pytest.approx(8.48) and line.data_exposed_s == pytest.approx(2.0)


def test_the_overlap_is_a_share_of_the_shorter_one():
    assert overlap_share(4.0, 2.0, 5.0) == 0.5 and overlap_share(4.0, 2.0, 7.0) == 0
    assert overlap_share(0, 2.0, 2.0) is None


def test_medians_say_what_was_hidden_and_what_it_cost():
    found = measured_of(FOUND, SETUP, 2, "native")
    assert (found.step_s, found.compute_alone_s, found.communication_alone_s) == (8.6, 6.0, 4.0)
    assert found.exposed_s == pytest.approx(2.6) and found.overlap_share == pytest.approx(1.4 / 4)
    assert found.slowdown == pytest.approx(0.1)
    assert found.time_line.step_s == 8.6 and found.time_line.overlap_share == pytest.approx(1.2 / 3.2)
    assert [one.nbytes for one in found.time_line.transfers] == [one.nbytes for one in buckets_of(SETUP)]


def test_the_all_reduces_alone_make_a_model_of_the_step():
    found = measured_of(FOUND, SETUP, 2, "native")
    line = modelled_of(found, SETUP).time_line
    assert line.communication_s == pytest.approx(4.0) and line.step_s == pytest.approx(9.0)


def test_what_is_only_modelled_is_refused():
    with pytest.raises(ValueError, match="Horovod's cycles are modelled only"):
        rank_request(SETUP._replace(packing=Fusion()))
    mixed = MODEL._replace(gradients=(*MODEL.gradients, Gradient("c", (9,), dtype="float64")))
    with pytest.raises(ValueError, match=r"several types \(float32, float64\)"):
        rank_request(SETUP._replace(model=mixed))
