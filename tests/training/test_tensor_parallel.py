"""Tensor parallelism: what a rank holds, when the ranks of a group add activations, and what that costs the step."""

import pytest
from has_message import message_pattern

from allreduce_bench.models.machine import bare_machine
from allreduce_bench.training.architectures import known_model
from allreduce_bench.training.buckets import Fusion
from allreduce_bench.training.cost import LoggedCosts, Timed, modelled_costs
from allreduce_bench.training.step import Setup, TensorParallel, divide, outcome, stalled, variants
from allreduce_bench.training.tensors import ModelError
from allreduce_bench.training.time_line import Phase, Transfer

COSTS = modelled_costs(bare_machine(20e-6, 8e-10), ["ring"])
LAYERS = {"bert-base": 12, "bert-large": 24, "gpt2": 12, "gpt2-xl": 48, "llama2-7b": 32, "llama3-8b": 32}


def by_hand(count: int, ranks: int) -> float:
    """A ring of `ranks` for `count` elements of 4 bytes, at the prices of COSTS."""
    return 2 * (ranks - 1) * (20e-6 + 4 * count / ranks * 8e-10)


@pytest.mark.parametrize("name, layers", LAYERS.items())
def test_each_layer_has_two_all_reduces_forward_and_two_backward(name, layers):
    part, tensor = divide(known_model(name), "div:4", 4, 2, "flops")
    assert len(tensor.forward) == len(tensor.backward) == 2 * layers and tensor.calls == 4 * layers
    for shares in (tensor.forward, tensor.backward):
        assert sorted({*shares}) == [*shares] and shares[0] > 0 and shares[-1] <= 1
    whole = known_model(name)
    assert part.flops == pytest.approx(whole.flops / 4)
    vectors = sum(gradient.elements for gradient in whole.gradients if len(gradient.shape) == 1)
    assert part.parameters == pytest.approx((whole.parameters - vectors) / 4 + vectors, abs=len(whole.gradients))


def test_an_all_reduce_carries_batch_sequence_and_hidden():
    _, tensor = divide(known_model("gpt2", 256), "mod:2", 2, 8, "flops")
    assert tensor.elements == 8 * 256 * 768 and tensor.nbytes("float16") == 2 * tensor.elements
    assert tensor.parts == "8 x 256 x 768 elements"
    part, small = divide(known_model("gpt2", 256), "mod:2", 2, 8, "flops", 1 / 64)
    assert small.elements == tensor.elements / 64 and part.scale == 1 / 64


def test_the_computation_stops_and_gradients_wait_for_it():
    tensor = TensorParallel("2", 2, "", 10, (0.5, 1.0), (0.25, 0.75), (1, 3))
    phases = (Phase("forward", 0, 2.0), Phase("backward", 2.0, 6.0))
    found = stalled(phases, tensor, Transfer(40, 0, 0, 0.5), [0.75, 0.75, 0.5, 0.25, 0.1])
    assert [one.start_s for one in found.transfers] == [1.0, 2.5, 4.0, 6.5]
    assert all(one.end_s - one.start_s == 0.5 for one in found.transfers)
    assert sum(phase.end_s - phase.start_s for phase in found.phases) == 6.0 and found.phases[-1].end_s == 8.0
    assert found.ready_s == pytest.approx((7.0, 6.5, 5.5, 4.0, 3.4))  # 3 and 1 come before the all-reduces


def test_each_kind_costs_as_on_its_own_number_of_ranks():
    part, tensor = divide(known_model("gpt2"), "div:4", 4, 1, "flops")
    setup = Setup(part, 0.1, accumulate=3, tensor=tensor)
    found = outcome(setup, COSTS, 8)
    line = found.time_line
    assert len(line.tensor_transfers) == 3 * 48
    assert line.tensor_s == pytest.approx(3 * 48 * by_hand(1024 * 768, 4), rel=1e-3)
    assert line.communication_s == pytest.approx(sum(by_hand(one.nbytes // 4, 2) for one in line.transfers), rel=1e-3)
    assert line.step_s == pytest.approx(0.3 + line.tensor_s + line.data_exposed_s)
    assert line.exposed_s >= line.tensor_s and found.algorithms == ("ring",)
    assert {one.algorithm for one in line.tensor_transfers} == {"ring"}


def test_a_group_may_have_other_costs_than_all_ranks():
    part, tensor = divide(known_model("gpt2"), "div:4", 4, 1, "flops")
    within = LoggedCosts([Timed("ring", 4, 1024, 1e-3)], "x")
    setup = Setup(part, 0.1, tensor=tensor)
    per_call = 1e-3 * tensor.nbytes() / 1024
    assert outcome(setup, COSTS, 8, within=within).time_line.tensor_s == pytest.approx(48 * per_call)
    (one,) = variants(setup, COSTS, 8, [25 << 20], within)
    assert one.step_s == pytest.approx(outcome(setup, COSTS, 8, within=within).time_line.step_s)
    other = LoggedCosts([Timed("tree", 4, 1024, 1e-3)], "x")
    (none,) = variants(setup, COSTS, 8, [25 << 20], other)
    assert none.step_s is None


def test_behind_the_computation_and_in_horovods_cycles_too():
    part, tensor = divide(known_model("bert-base"), "div:2", 2, 1, "bytes")
    setup = Setup(part, 0.1, proxy="bytes", tensor=tensor)
    for other in (setup._replace(overlapped=False), setup._replace(packing=Fusion())):
        line = outcome(other, COSTS, 4).time_line
        assert len(line.tensor_transfers) == 48 and line.compute_s == pytest.approx(0.1)
        assert line.step_s == pytest.approx(line.transfers[-1].end_s)
    blocking = outcome(setup._replace(overlapped=False), COSTS, 4).time_line
    assert blocking.data_exposed_s == pytest.approx(blocking.communication_s)


def test_only_transformers_are_divided():
    with pytest.raises(ModelError, match=message_pattern("training.groups_no_transformer_layers", model="ResNet-50")):
        divide(known_model("resnet50"), "2", 2, 1, "flops")
