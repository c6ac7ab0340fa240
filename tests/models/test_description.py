"""Models in words: units, intervals, what is not identified, and no more digits than are known."""

import pytest
from hand_models import hand_model

from allreduce_bench.models.forms import Form
from allreduce_bench.models.model import Errors, ModelPart, Parameter
from allreduce_bench.models.words import model_lines, parameter_frame, parameter_phrase, series_label


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (Parameter("alpha_s", "", 0.0, 2e-6, 1.9e-6, 2.1e-6, True), "α = 2.00 us/message [1.90, 2.10]"),
        (Parameter("alpha_s", "between", 0.0, 2e-6, None, None, True), "α between nodes = 2.00 us/message"),
        (
            Parameter("beta_s_per_byte", "", 8192.0, 1e-10, 5e-11, 2e-10, True),
            "β from 8 KiB = 100 ps/byte [50.0, 200], 1/β = 10.0 GB/s",
        ),
        (Parameter("alpha_s", "", 512.0, 2e-6, 1e-6, 3e-6, True), "jump at 512 B = 2.00 us/message [1.00, 3.00]"),
        (Parameter("beta_s_per_byte", "", 0.0, 0.0, None, 3e-12, False), "β ≤ 3.00 ps/byte (not identified)"),
        (Parameter("gamma_s_per_byte", "", 0.0, 0.0, None, None, False), "γ (not identified)"),
        (Parameter("call_s", "", 0.0, 5e-7, 4e-7, 6e-7, True), "call = 0.500 us [0.400, 0.600]"),
    ],
)
def test_a_parameter_has_its_unit_and_interval(one, words):
    assert parameter_phrase(one) == words


def test_parts_of_an_envelope_say_what_they_are_priced_as():
    alpha = Parameter("alpha_s", "", 0.0, 2e-6, None, None, True)
    parts = (ModelPart("ring", Form(), (alpha,)), ModelPart("tree", Form(contention=True), (alpha,), 0.123))
    (line,) = model_lines(
        [hand_model("native", parts=parts, errors={"leave_largest_p_out": Errors(0.1, 0.3, 9, None)})]
    )
    assert [part["form"] for part in line["parts"]] == ["as ring: alpha-beta", "as tree: alpha-beta, p^contention"]
    alone = [hand_model(name, parts=parts[:1]) for name in ("native", "ring")]
    assert [line["parts"][0]["form"] for line in model_lines(alone)] == ["as ring: alpha-beta", "alpha-beta"]
    assert line["parts"][1]["parameters"][-1] == "contention: times p^0.123"
    assert line["errors"] == ["-", "-", "10.0 % (P90 30.0 %)"] and line["ranks"] == "2, 4 ranks"
    table = parameter_frame([hand_model("native", parts=parts)])
    assert table["name"].tolist() == ["alpha_s", "alpha_s", "contention"] and table["value"].iloc[-1] == 0.123


def test_a_series_is_named_by_what_tells_it_from_others():
    assert series_label(hand_model("ring")) == "ring"
    assert series_label(hand_model("ring@pipelined", cache="cold")).split(", ") == [
        "ring@pipelined",
        "cold cache",
    ]
