"""Measured steps as values: what the times of ranks say, and the model that they make."""

import pytest

from allreduce_bench.training.buckets import Caps
from allreduce_bench.training.measured import model_from_parts, summarise_steps
from allreduce_bench.training.step import Setup, buckets_of
from allreduce_bench.training.tensors import Gradient, Model

MODEL = Model("m", "M", (Gradient("a", (300,)), Gradient("b", (100,))))
SETUP = Setup(MODEL, 6.0, Caps(400, 400))
NATIVE = {"competitor": "native", "work": "spin"}
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


def test_medians_say_what_was_hidden_and_what_it_cost():
    found = summarise_steps(FOUND, [(400, 1), (1200, 1)], NATIVE, 2)
    assert (found.step_s, found.compute_alone_s, found.communication_alone_s) == (8.6, 6.0, 4.0)
    assert found.exposed_s == pytest.approx(2.6) and found.overlap_share == pytest.approx(1.2 / 3.2)
    assert found.slowdown == pytest.approx(0.1)
    assert found.time_line.step_s == 8.6
    assert [one.size_bytes for one in found.time_line.transfers] == [one.size_bytes for one in buckets_of(SETUP)]


def test_the_all_reduces_alone_make_a_model_of_the_step():
    found = summarise_steps(FOUND, [(400, 1), (1200, 1)], NATIVE, 2)
    line = model_from_parts(found, SETUP).outcomes[0].time_line
    assert line.communication_s == pytest.approx(4.0) and line.step_s == pytest.approx(9.0)
