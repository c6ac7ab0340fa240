"""Measured steps as values: what the times of ranks say, and the model that they make."""

import pytest

from allreduce_bench.training.architectures import known_model
from allreduce_bench.training.buckets import Caps, Fusion
from allreduce_bench.training.input_files import Call
from allreduce_bench.training.measured import measured_calls, measured_of, modelled_calls, modelled_of, overlap_share
from allreduce_bench.training.step import Setup, buckets_of, divide
from allreduce_bench.training.tensors import Gradient, Model

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
            "transfers": [[3.3, 3.3, 4.5, 1], [6.6, 6.6, step_s, 1]],
            "stalls": [],
        }
        for step_s in (9.0, 8.0, 8.6)
    ],
}


def test_both_kinds_of_all_reduces_are_told_apart():
    part, tensor = divide(known_model("gpt2"), "2", 2, 1, "flops")
    setup = Setup(part, 6.0, Caps(1 << 40, 1 << 40), tensor=tensor)
    stalls = [[0.1 * number, 0.1 * number + 0.02] for number in range(48)]
    step = {"step_s": 9.0, "compute_s": 6.2, "phases": [["forward", 0, 6.2]], "transfers": [[6, 6, 9, 1]]}
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


def test_a_step_of_horovod_alone_takes_what_its_own_all_reduces_take():
    setup = SETUP._replace(packing=Fusion(1000, 0.5))
    found = {
        "compute_alone_s": [6.0],
        "alone_s": [[1.0, 3.0, 3.0]],  # of 400, 800 and 1200 bytes
        "tensor_alone_s": [[]],
        "steps": [
            {**step, "transfers": [[3.3, 3.5, 4.5, 1], [6.6, 7.0, 8.0, 1]], "cycles": [17, 0.25, 0.125]}
            for step in FOUND["steps"]
        ],
    }
    one = measured_of(found, setup, 2, "ring")
    assert one.alone_nbytes == (400, 800, 1200) and one.communication_alone_s == 4.0
    assert one.cycles == (2, 17, 0.25, 0.125)
    assert [(sent.nbytes, sent.tensors) for sent in one.time_line.transfers] == [(400, 1), (1200, 1)]
    together = [{**step, "transfers": [[6.6, 7.0, 8.0, 2]]} for step in found["steps"]]
    one = measured_of({**found, "steps": together}, setup._replace(packing=Fusion(1600, 0.5)), 2, "ring")
    assert [(sent.nbytes, sent.tensors) for sent in one.time_line.transfers] == [(1600, 2)]
    line = modelled_of(one._replace(alone_nbytes=(400, 1600), alone_s=(1.0, 4.0)), setup).time_line
    assert [sent.nbytes for sent in line.transfers] == [400, 1200]
    assert line.communication_s == pytest.approx(4.0) and line.transfers[0].start_s == 3.0


def test_recorded_calls_stand_beside_their_model():
    calls = [Call(400, 1.0), Call(80, 3.0), Call(400, 0.0)]
    steps = [{"step_s": 9.0, "compute_s": 4.4, "phases": [["compute", 0, 1.1], ["compute", 2.6, 5.9]], "stalls": []}]
    steps[0]["transfers"] = [[1.1, 1.1, 2.6, 1], [5.9, 5.9, 6.9, 1], [6.9, 6.9, 9.0, 1]]
    found = {"compute_alone_s": [4.2], "alone_s": [[1.5, 1.0, 2.5]], "steps": steps}
    one = measured_calls(found, calls, 3, "ring")
    assert (one.step_s, one.compute_alone_s, one.communication_alone_s) == (9.0, 4.2, 5.0)
    assert one.alone_nbytes == (400, 80, 400) and one.exposed_s == pytest.approx(4.8)
    assert [sent.nbytes for sent in one.time_line.transfers] == [400, 80, 400]
    line = modelled_calls(one, calls).time_line
    assert line.compute_s == pytest.approx(4.2) and line.step_s == pytest.approx(9.2)
    assert [sent.end_s - sent.start_s for sent in line.transfers] == pytest.approx([2.0, 1.0, 2.0])
    none = measured_calls(found, [call._replace(gap_s=0.0) for call in calls], 3, "ring")
    assert none.slowdown is None and modelled_calls(none, [Call(400, 0.0)]).time_line.step_s == 2.0
