"""Machine files: what is written is read again; what is none is refused in a sentence."""

import json
import re
from dataclasses import replace

import pytest
from hand_models import hand_model

from allreduce_bench.models.intervals import NEAR, Range
from allreduce_bench.models.machine import Machine, MachineError, bare_machine, read_machine, write_machine


def test_what_is_written_is_read_again(tmp_path):
    model = hand_model("ring", ranges=(Range(NEAR, 0.8, 1.2, 12),), notes=("short",), run="day", ranks_per_node=1.0)
    unknown = replace(model, parameters=tuple(one._replace(low=None, high=None) for one in model.parameters))
    machine = Machine((model, unknown), "program 1", "today", ({"run": "day"},))
    write_machine(machine, tmp_path / "machine.json")
    assert read_machine(tmp_path / "machine.json") == machine
    assert f"[{', '.join(map(str, model.cells[0][:3]))}, " in (tmp_path / "machine.json").read_text()


def test_a_bare_machine_costs_what_the_formula_says():
    ring = next(model for model in bare_machine(5e-6, 8e-11).models if model.algorithm == "ring")
    time_s = ring.price_s(16, None, 1 << 20, None)
    assert time_s == pytest.approx(30 * 5e-6 + 30 / 16 * (1 << 20) * 8e-11)


KIND = '"kind": "allreduce-bench machine"'


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "not JSON"),
        ("[]", "not a machine"),
        ('{"kind": "run"}', "not a machine file"),
        (f'{{{KIND}, "schema_version": 3}}', "of schema 3; this program reads 5"),
        (f'{{{KIND}, "schema_version": 5, "models": [{{}}]}}', "damaged"),
        (f'{{{KIND}, "schema_version": 5}}', "damaged"),
    ],
)
def test_another_file_is_refused_in_a_sentence(content, words, tmp_path):
    path = tmp_path / "machine.json"
    path.write_text(content)
    with pytest.raises(MachineError, match=words) as refused:
        read_machine(path)
    assert "\n" not in str(refused.value)


ALPHA = ["alpha_s", "", 1e-6, None, None]
ODD = [
    ("competitor", 1),
    ("ranks_per_node", -1),
    ("priced_as", "sorting"),
    ("parameters", []),
    ("parameters", [ALPHA, ["gamma", "", 1.0, None, None]]),
    ("parameters", [ALPHA, ["beta_s_per_byte", "", float("nan"), None, None]]),
    ("parameters", [ALPHA, ["beta_s_per_byte", "", -1.0, None, None]]),
    ("cells", [[0, 1, 8, 1e-6]]),
    ("cells", [[2, 1, 8, float("inf")]]),
    ("held_out", [0.1, "wide", 3]),
    ("grade", "fine"),
    ("placement", "there"),
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


def test_no_folder_is_made_for_a_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="make it first"):
        write_machine(bare_machine(1e-6, 1e-10), tmp_path / "no" / "such" / "machine.json")
    assert not [*tmp_path.iterdir()]


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
            del model["parameters"]
        path.write_text(json.dumps({**content, "models": [model]}))
        with pytest.raises(MachineError, match="damaged: .*(bogus|parameters)"):
            read_machine(path)
