"""What ranks are asked to measure: computation, what is handed over, and when."""

import pytest
from has_message import message_pattern

from allreduce_bench.training.architectures import known_model
from allreduce_bench.training.buckets import Caps, Fusion
from allreduce_bench.training.input_files import Call, CallError
from allreduce_bench.training.measured import alone_nbytes, calls_request, step_request
from allreduce_bench.training.step import Setup, buckets_of, divide
from allreduce_bench.training.tensors import Gradient, Model

MODEL = Model("m", "M", (Gradient("a", (300,)), Gradient("b", (100,))))
SETUP = Setup(MODEL, 6.0, Caps(400, 400))


def test_ranks_compute_until_each_bucket_is_ready():
    asked = step_request(SETUP._replace(accumulate=2))
    assert asked["counts"] == [100, 300] and asked["dtype"] == "float32"
    one_pass = [("forward", 2.0), ("backward", 4.0)]
    last = [("forward", 2.0), ("backward", 1.0), ("bucket", 0.0), ("backward", 3.0), ("bucket", 0.0)]
    assert [kind for kind, _ in asked["actions"]] == [kind for kind, _ in one_pass + last]
    assert [time_s for _, time_s in asked["actions"]] == pytest.approx([time_s for _, time_s in one_pass + last])
    whole = step_request(Setup(known_model("bert-base"), 0.1))
    assert sum(whole["counts"]) == 109_482_240 and sum(time_s for _, time_s in whole["actions"]) == pytest.approx(0.1)


def test_ranks_of_a_group_add_activations_between_computations():
    part, tensor = divide(known_model("gpt2"), "div:4", 4, 2, "flops", 1 / 64)
    setup = Setup(part, 0.1, Caps(400_000, 16_000), accumulate=2, tensor=tensor)
    asked = step_request(setup)
    kinds = [kind for kind, _ in asked["actions"]]
    assert kinds.count("tensor") == 2 * 48 and kinds.count("bucket") == len(asked["counts"]) == len(buckets_of(setup))
    assert asked["groups"] == "div:4" and asked["tensor_count"] == 2 * 1024 * 768 // 64
    assert sum(time_s for _, time_s in asked["actions"]) == pytest.approx(0.2)
    assert kinds[-2:] == ["tensor", "bucket"]  # the embedding comes behind the last layer
    first = kinds.index("bucket")
    assert "tensor" in kinds[first:] and kinds[:first].count("tensor") >= 48 + 24


def test_with_horovod_each_gradient_is_handed_over_by_itself():
    setup = Setup(known_model("resnet50"), 0.1, Fusion(64 << 20, 0.002))
    asked = step_request(setup)
    assert len(asked["counts"]) == 161 and sum(asked["counts"]) == 25_557_032
    assert (asked["cycle_s"], asked["buffer_nbytes"]) == (0.002, 64 << 20)
    kinds = [kind for kind, _ in asked["actions"]]
    assert kinds.count("bucket") == 161 and kinds[:3] == ["forward", "bucket", "backward"] and kinds[-1] == "bucket"
    assert asked["alone"] == [64 << rung for rung in range(18)] + [(64 << 20) // 4]
    assert asked["alone"] == [nbytes // 4 for nbytes in alone_nbytes(setup)]
    behind = step_request(setup._replace(overlapped=False))["actions"]
    assert [kind for kind, _ in behind] == ["forward", "backward", *["bucket"] * 161]


def test_horovod_hands_gradients_over_behind_the_last_activations():
    part, tensor = divide(known_model("gpt2"), "2", 2, 1, "flops")
    setup = Setup(part, 0.1, Fusion(), overlapped=False, tensor=tensor)
    kinds = [kind for kind, _ in step_request(setup)["actions"]]
    assert kinds.count("tensor") == 48 and {*kinds[-len(part.gradients) :]} == {"bucket"}


def test_the_longest_all_reduce_alone_is_that_of_the_fullest_buffer():
    setup = SETUP._replace(packing=Fusion(1301))
    assert alone_nbytes(setup) == [400, 800, 1300]
    assert alone_nbytes(setup._replace(packing=Fusion(1 << 20))) == [400, 800, 1600]
    assert alone_nbytes(setup._replace(packing=Fusion(1))) == [400, 800, 1200]
    assert alone_nbytes(setup._replace(model=MODEL._replace(gradients=MODEL.gradients[:1]))) == [1200]


def test_recorded_calls_compute_their_gaps():
    asked = calls_request([Call(400, 0.5), Call(80, 0.0, "float64"), Call(16, 0.25)], "float64")
    assert asked["counts"] == [50, 10, 2] and (asked["dtype"], asked["op"]) == ("float64", "sum")
    assert asked["actions"] == [("compute", 0.5), *[("bucket", 0)] * 2, ("compute", 0.25), ("bucket", 0)]


def test_what_is_only_modelled_is_refused():
    mixed = MODEL._replace(gradients=(*MODEL.gradients, Gradient("c", (9,), dtype="float64")))
    for packing in (Caps(), Fusion()):
        with pytest.raises(
            ValueError,
            match=message_pattern("training.several_types_modelled_leave", what="gradients", found="float32, float64"),
        ):
            step_request(SETUP._replace(model=mixed, packing=packing))
        with pytest.raises(ValueError, match=message_pattern("training.gradients_no_average_measure", dtype="int32")):
            step_request(SETUP._replace(dtype="int32", packing=packing))
    with pytest.raises(
        ValueError, match=message_pattern("training.several_types_modelled_leave", what="calls", found="float32, int32")
    ):
        calls_request([Call(8, 0.0), Call(8, 0.0, "int32")], "float32")
    for nbytes in (6, 0):
        with pytest.raises(
            CallError,
            match=message_pattern("training.call_expected_positive_whole", number=2, dtype="float32", nbytes=nbytes),
        ):
            calls_request([Call(8, 0.0), Call(nbytes, 0.0)], "float32")
