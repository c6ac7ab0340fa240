"""What a file says: saved choices, a machine file, a run; and what is none of them."""

import json

import pytest
from places import ROOT

from allreduce_bench.models.machine import bare_machine, write_machine
from allreduce_bench.programs.agreement import Shape
from allreduce_bench.programs.choices import Choice, ChoiceError, lookup_of, write_choices
from allreduce_bench.schedule.topology import Topology

FOUR = Topology.one_node(4)


def shape(nbytes: int, dtype: str = "float32") -> Shape:
    return Shape(nbytes // 4, dtype, "sum")


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "choices.json"
    choices = [
        Choice(4, "1x4", 2, "float32", "sum", "recursive_doubling", "sendrecv"),
        Choice(4, "1x4", 2**20, "float32", "sum", "ring", "pipelined", 4096, 4),
        Choice(2, "1x2", 2**20, "float32", "sum", "native", "native"),
    ]
    write_choices(path, choices)
    return path


def test_saved_choices_come_back_and_the_nearest_size_counts(saved):
    lookup = lookup_of(saved)
    assert lookup(shape(8), FOUR).name == "recursive_doubling"
    assert lookup(shape(1024), FOUR).name == "recursive_doubling"
    ring = lookup(shape(2**24), FOUR)
    assert (ring.name, ring.segment, ring.window) == ("ring pipelined", 4096, 4)
    assert lookup(shape(2**24), Topology.one_node(2)).name == "native"
    assert lookup(shape(8), Topology.one_node(3)) is None
    assert lookup(shape(8), Topology.filled(4, 2)) is None


def test_choices_carry_where_vectors_lay_and_those_of_before_do_not_know(tmp_path):
    path = tmp_path / "choices.json"
    write_choices(path, [Choice(4, "1x4", 2, "float32", "sum", "ring", "sendrecv", placement="page")])
    content = json.loads(path.read_text())
    assert (content["schema_version"], content["choices"][0]["placement"]) == (2, "page")
    assert lookup_of(path)(shape(8), FOUR).name == "ring"
    del content["choices"][0]["placement"]
    path.write_text(json.dumps(content))
    with pytest.raises(ChoiceError, match="damaged: .*placement"):
        lookup_of(path)
    former = lookup_of(ROOT / "tests" / "data" / "former" / "choices_1.json")
    assert former(shape(8), FOUR).name == "recursive_doubling"
    assert former(shape(2**24), FOUR).segment == 4096


def test_a_machine_file_predicts(tmp_path):
    path = tmp_path / "machine.json"
    write_machine(bare_machine(1e-6, 1e-10), path)
    lookup = lookup_of(path)
    assert lookup(shape(8), FOUR).algorithm in ("recursive_doubling", "rabenseifner")
    assert lookup(shape(2**26), Topology.one_node(5)).algorithm in ("ring", "two_tree", "hierarchical_ring")


def test_the_example_run_says_who_was_the_fastest():
    lookup = lookup_of(ROOT / "docs" / "example")
    found = lookup(shape(8 * 2**20), Topology.filled(4, 1))
    assert found is not None and found.algorithm
    assert lookup(shape(8 * 2**20), Topology.one_node(7)) is None


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file"),
        ("{", "not JSON"),
        ("[]", "holds no choices"),
        (json.dumps({"kind": "allreduce-bench choices", "schema_version": 9, "choices": []}), "of schema 9"),
        (json.dumps({"kind": "allreduce-bench choices", "schema_version": 1, "choices": [{"ranks": 0}]}), "damaged"),
        (json.dumps({"kind": "allreduce-bench choices", "schema_version": 1}), "damaged"),
    ],
)
def test_what_says_nothing_is_refused(tmp_path, content, words):
    path = tmp_path / "x.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ChoiceError, match=words):
        lookup_of(path)


def test_an_unknown_executor_is_damage(saved):
    saved.write_text(saved.read_text().replace("pipelined", "hurried"))
    with pytest.raises(ChoiceError, match="unknown executor 'hurried'"):
        lookup_of(saved)
