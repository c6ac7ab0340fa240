"""The words about a measured step."""

from allreduce_bench.training.buckets import Caps
from allreduce_bench.training.measured import Measured, model_from_parts
from allreduce_bench.training.step import Setup
from allreduce_bench.training.tables import measured_text, slowdown_sentence
from allreduce_bench.training.tensors import Gradient, Model
from allreduce_bench.training.time_line import Phase, TimeLine, Transfer

SETUP = Setup(Model("m", "M", (Gradient("a", (300,)), Gradient("b", (100,)))), 0.006, Caps(400, 400))
LINE = TimeLine(
    (Phase("forward", 0, 0.002), Phase("backward", 0.002, 0.0066)),
    (Transfer(400, 0.003, 0.003, 0.0045), Transfer(1200, 0.0066, 0.0066, 0.0086)),
)
MEASURED = Measured(2, "ring", 0.0086, 0.006, 0.0066, 0.004, (400, 1200), (0.001, 0.003), 5, LINE, "sleep")


def text_of(measured: Measured) -> str:
    return measured_text(model_from_parts(measured, SETUP), measured)


def test_the_measured_step_stands_beside_its_model():
    text = text_of(MEASURED)
    lines = text.splitlines()
    assert lines[0].split(": ") == ["M on 2 ranks, measured", "medians of 5 steps"]
    assert "computation by sleeping, which takes no core; all-reduces by ring, in a thread" in lines[3]
    assert "measured  8.60 ms  6.00 ms      4.00 ms  2.60 ms      43%" in lines
    assert "modelled  9.00 ms  6.00 ms      4.00 ms  3.00 ms      25%" in lines
    assert "6.00 ms alone" in text and "6.60 ms beside the all-reduces: +10%" in text
    assert lines[-1].endswith("is +5% off.")


def test_a_step_may_be_faster_than_its_computation_alone_by_noise():
    odd = MEASURED._replace(step_s=0.0059, compute_beside_s=0.0059)
    assert "-100 us" in text_of(odd)
    assert slowdown_sentence(odd).endswith(": -2%.")
