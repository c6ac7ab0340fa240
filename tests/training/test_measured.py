"""Measured steps as values: what the times of ranks say, and the model that they make."""

from pathlib import Path

import pytest

from allreduce_bench.training.buckets import Caps
from allreduce_bench.training.input_files import Call, Recording
from allreduce_bench.training.measured import measured_of, modelled_calls, modelled_of, overlap_share
from allreduce_bench.training.step import Setup, buckets_of
from allreduce_bench.training.tensors import Gradient, Model

MODEL = Model("m", "M", (Gradient("a", (300,)), Gradient("b", (100,))))
SETUP = Setup(MODEL, 6.0, Caps(400, 400))
NATIVE = {"competitor": "native", "work": "spin", "overlap": "thread"}
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


def test_the_overlap_is_a_share_of_the_shorter_one():
    assert overlap_share(4.0, 2.0, 5.0) == 0.5 and overlap_share(4.0, 2.0, 7.0) == 0
    assert overlap_share(0, 2.0, 2.0) is None


def test_medians_say_what_was_hidden_and_what_it_cost():
    found = measured_of(FOUND, [(400, 1), (1200, 1)], NATIVE, 2)
    assert (found.step_s, found.compute_alone_s, found.communication_alone_s) == (8.6, 6.0, 4.0)
    assert found.exposed_s == pytest.approx(2.6) and found.overlap_share == pytest.approx(1.4 / 4)
    assert found.slowdown == pytest.approx(0.1)
    assert found.time_line.step_s == 8.6 and found.time_line.overlap_share == pytest.approx(1.2 / 3.2)
    assert [one.size_bytes for one in found.time_line.transfers] == [one.size_bytes for one in buckets_of(SETUP)]


def test_the_all_reduces_alone_make_a_model_of_the_step():
    found = measured_of(FOUND, [(400, 1), (1200, 1)], NATIVE, 2)
    line = modelled_of(found, SETUP).outcomes[0].time_line
    assert line.communication_s == pytest.approx(4.0) and line.step_s == pytest.approx(9.0)


def test_recorded_calls_stand_beside_their_model():
    calls = [Call(400, 1.0), Call(80, 3.0), Call(400, 0.0)]
    steps = [{"step_s": 9.0, "compute_s": 4.4, "phases": [["compute", 0, 1.1], ["compute", 2.6, 5.9]]}]
    steps[0]["transfers"] = [[1.1, 1.1, 2.6], [5.9, 5.9, 6.9], [6.9, 6.9, 9.0]]
    found = {"compute_alone_s": [4.2], "alone_s": [[1.5, 1.0, 2.5]], "steps": steps}
    asked = {**NATIVE, "competitor": "ring@pipelined", "overlap": "between"}
    one = measured_of(found, [(call.size_bytes, 1) for call in calls], asked, 3)
    assert (one.step_s, one.compute_alone_s, one.communication_alone_s) == (9.0, 4.2, 5.0)
    assert one.alone_nbytes == (400, 80, 400) and one.exposed_s == pytest.approx(4.8)
    assert [(sent.size_bytes, sent.algorithm) for sent in one.time_line.transfers][:2] == [
        (400, "ring@pipelined"),
        (80, "ring@pipelined"),
    ]
    line = modelled_calls(one, Recording(Path("x"), calls)).outcomes[0].time_line
    assert line.compute_s == pytest.approx(4.2) and line.step_s == pytest.approx(9.2)
    assert [sent.end_s - sent.start_s for sent in line.transfers] == pytest.approx([2.0, 1.0, 2.0])
    none = measured_of({**found, "steps": [{**steps[0], "phases": []}]}, [(400, 1)] * 3, asked, 3)
    assert none.slowdown is None
    assert modelled_calls(none, Recording(Path("x"), [Call(400, 0.0)])).outcomes[0].time_line.step_s == 1.5
