"""Machine files: what is written is read again; what is none is refused in a sentence."""

import json
import re

import pytest

from allreduce_bench.algorithms import builtin
from allreduce_bench.models.forms import Form
from allreduce_bench.models.machine import MachineError, bare_machine, read_machine, write_machine
from allreduce_bench.models.model import Errors, Model, ModelPart, Parameter
from allreduce_bench.models.terms import terms


def test_what_is_written_is_read_again(tmp_path):
    found = (
        Parameter("alpha_s", "", 0.0, 1e-6, 9e-7, 2e-6, True),
        Parameter("beta_s_per_byte", "", 0.0, 0, None, 1, False),
        Parameter("alpha_s", "", 4096.0, 2e-6, None, 3e-6, False),
        Parameter("beta_s_per_byte", "", 4096.0, 1e-10, 9e-11, 2e-10, True),
    )
    part = ModelPart("ring", Form(knots=(4096.0,)), found, 0.1)
    errors = {"in_sample": Errors(0.1, 0.2, 12), "leave_largest_p_out": Errors(0.1, 0.2, 4, 0.75)}
    model = Model(
        "ring", (part,), "day", ranks=(2, 4), size_bytes=(8, 64), reach_log=0.1, errors=errors, notes=("short",)
    )
    machine = bare_machine(1e-6, 1e-10).__class__((model,), "program 1", "today", ({"run": "day"},))
    write_machine(machine, tmp_path / "new" / "machine.json")
    assert read_machine(tmp_path / "new" / "machine.json") == machine


def test_a_bare_machine_costs_what_the_formula_says():
    ring = next(model for model in bare_machine(5e-6, 8e-11).models if model.algorithm == "ring")
    predicted = ring.predict(16, 1 << 20, [terms(builtin()["ring"], 16, None, 1 << 20, 4)])
    assert predicted.time_s == pytest.approx(30 * 5e-6 + 30 / 16 * (1 << 20) * 8e-11)
    assert (predicted.low_s, predicted.high_s, predicted.speculative) == (None, None, False)


KIND = '"kind": "allreduce-bench machine"'


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "not JSON"),
        ("[]", "not a machine"),
        ('{"kind": "run"}', "not a machine file"),
        (f'{{{KIND}, "schema_version": 99}}', "of schema 99"),
        (f'{{{KIND}, "schema_version": 2}}', "of schema 2; this program reads 3"),
        (f'{{{KIND}, "schema_version": 3, "models": [{{}}]}}', "damaged"),
        (f'{{{KIND}, "schema_version": 3, "models": [7]}}', "damaged"),
        (f'{{{KIND}, "schema_version": 3, "models": 7}}', "damaged"),
        (f'{{{KIND}, "schema_version": 3}}', "damaged"),
    ],
)
def test_another_file_is_refused_in_a_sentence(content, words, tmp_path):
    path = tmp_path / "machine.json"
    path.write_text(content)
    with pytest.raises(MachineError, match=words) as refused:
        read_machine(path)
    assert "\n" not in str(refused.value)


ODD = [("competitor", 1), ("ranks", ["2"]), ("ranks", [0]), ("itemsize", 0.5), ("segment", [0]), ("reach_log", "wide")]
ODD += [("parts", []), ("ranks_per_node", -1)]
FORM = [False, True, 1, [], False]
PRICES = [["alpha_s", "", 0, 1e-6, None, None, True], ["beta_s_per_byte", "", 0, 1e-10, None, None, True]]
PRICES += [["gamma_s_per_byte", "", 0, 0, None, None, True]]
ODD += [
    ("parts", [["ring", FORM, PRICES[:2], 0.0]]),
    ("parts", [["ring", FORM, PRICES, "1"]]),
    ("parts", [["ring", FORM, [[*PRICES[0][:3], float("nan"), None, None, True], *PRICES[1:]], 0.0]]),
    ("parts", [["ring", [False, True, 1, ["8 KiB"], False], PRICES, 0.0]]),
    ("parts", [["sorting", FORM, PRICES, 0.0]]),
]


@pytest.mark.parametrize("name, value", ODD)
def test_a_field_of_another_kind_is_refused_in_a_sentence(name, value, tmp_path):
    path = tmp_path / "machine.json"
    write_machine(bare_machine(1e-6, 1e-10), path)
    content = json.loads(path.read_text())
    content["models"][0][name] = value
    path.write_text(json.dumps(content))
    with pytest.raises(MachineError, match="machine.json: damaged: "):
        read_machine(path)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(MachineError, match="No such file"):
        read_machine(tmp_path / "machine.json")
    with pytest.raises(
        MachineError,
        match=re.escape(f"{tmp_path}: Is a directory; expected") + ".*'allreduce-bench fit'",
    ):
        read_machine(tmp_path)


def test_a_file_that_lost_or_gained_a_field_is_refused(tmp_path):
    path = tmp_path / "machine.json"
    write_machine(bare_machine(1e-6, 1e-9), path)
    content = json.loads(path.read_text())
    for change in ({"bogus": 1}, None):
        model = {**content["models"][0], **(change or {})}
        if change is None:
            del model["size_bytes"]
        path.write_text(json.dumps({**content, "models": [model]}))
        with pytest.raises(MachineError, match="damaged: .*(bogus|size_bytes)"):
            read_machine(path)
