"""What a file says: saved choices, a machine file, a run; and what is none of them."""

import json
import os
import re
from pathlib import Path

import pytest
from places import ROOT

from allreduce_bench.models.machine import bare_machine, write_machine
from allreduce_bench.programs.agreement import Shape
from allreduce_bench.programs.candidates import algorithms_of
from allreduce_bench.programs.choices import KIND, Choice, ChoiceError, lookup_of, own_files, write_choices
from allreduce_bench.schedule.algorithm import Topology

FOUR = Topology.one_node(4)


def shape(size_bytes: int, dtype: str = "float32") -> Shape:
    return Shape(size_bytes // 4, dtype, "sum")


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
    assert lookup(shape(8), FOUR).candidate.name == "recursive_doubling"
    assert lookup(shape(1024), FOUR).candidate.name == "recursive_doubling"
    ring = lookup(shape(2**24), FOUR).candidate
    assert (ring.name, ring.segment, ring.window) == ("ring@pipelined", 4096, 4)
    assert lookup(shape(2**24), Topology.one_node(2)).candidate.name == "native"
    assert lookup(shape(8), Topology.one_node(3)) is None
    assert lookup(shape(8), Topology.filled(4, 2)) is None


def test_choices_carry_where_vectors_lay(tmp_path):
    path = tmp_path / "choices.json"
    write_choices(path, [Choice(4, "1x4", 2, "float32", "sum", "ring", "sendrecv", placement="page")])
    content = json.loads(path.read_text())
    assert (content["schema_version"], content["choices"][0]["placement"]) == (3, "page")
    assert lookup_of(path)(shape(8), FOUR).placement == "page"
    assert lookup_of(path)(shape(8), FOUR).candidate.name == "ring"
    del content["choices"][0]["placement"]
    path.write_text(json.dumps(content))
    assert lookup_of(path)(shape(8), FOUR).placement == "unknown"


def test_a_machine_file_predicts(tmp_path):
    path = tmp_path / "machine.json"
    write_machine(bare_machine(1e-6, 1e-10), path)
    lookup = lookup_of(path)
    assert lookup(shape(8), FOUR).candidate.algorithm in ("recursive_doubling", "rabenseifner")
    assert lookup(shape(2**26), Topology.one_node(5)).candidate.algorithm in ("ring", "circulant", "pat")


def test_the_example_run_says_who_was_the_fastest():
    lookup = lookup_of(ROOT / "docs" / "example")
    found = lookup(shape(8 * 2**20), Topology.filled(4, 1))
    assert found is not None and found.candidate.algorithm
    assert lookup(shape(8 * 2**20), Topology.one_node(7)) is None


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file"),
        ("{", "not JSON"),
        ("[]", "holds no choices"),
        (json.dumps({"kind": "allreduce-bench choices", "schema_version": 9, "choices": []}), "of schema 9"),
        (json.dumps({"kind": "allreduce-bench choices", "schema_version": 3, "choices": [{"ranks": 0}]}), "damaged"),
        (json.dumps({"kind": "allreduce-bench choices", "schema_version": 3}), "damaged"),
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
    known = "native, sendrecv, pipelined, compiled or compiled-pipelined"
    error = f"found 'hurried', expected {known}"
    with pytest.raises(ChoiceError, match=re.escape(f"executor: {error}")):
        lookup_of(saved)


MINE = """
from allreduce_bench.algorithms import Cost, algorithm
from pathlib import Path

Path(__file__).with_name("was_run").touch()


@algorithm(cost=lambda size, topology, count, segment: Cost(0, 0, 0), exact=False, formula="0")
def mine(rank, size, topology, count, segment):
    yield from ()
"""


def saved_own(tmp_path, **fields: object):
    """A choice of `mine`, written by an author of files."""
    path = tmp_path / "own.json"
    one = {**vars(Choice(4, "1x4", 2, "float32", "sum", "mine", "sendrecv")), **fields}
    path.write_text(json.dumps({"kind": KIND, "schema_version": 3, "choices": [one]}))
    return path


@pytest.mark.parametrize("how", ["algorithm", "file"])
def test_files_of_code_are_never_run(tmp_path, how):
    code = tmp_path / "mine.py"
    code.write_text(MINE)
    with pytest.raises(ChoiceError, match="choices never"):
        lookup_of(saved_own(tmp_path, **{how: str(code)}))
    assert not (tmp_path / "was_run").exists()


def test_own_algorithms_run_where_the_program_names_their_file_as_it_was(tmp_path):
    code = tmp_path / "mine.py"
    code.write_text(MINE)
    own = own_files(algorithms_of([str(code)]).values())
    assert own["mine"].file == str(code) and len(own["mine"].sha256) == 64
    kept = {"file": own["mine"].file, "sha256": own["mine"].sha256}
    for path in (saved_own(tmp_path, **kept), saved_own(tmp_path)):
        assert lookup_of(path, own)(shape(8), FOUR).candidate.name == "mine"
        with pytest.raises(ChoiceError, match="is none"):
            lookup_of(path)
    code.write_text(MINE + "# changed")
    with pytest.raises(ChoiceError, match="'mine' was chosen"):
        lookup_of(saved_own(tmp_path, **kept), own_files(algorithms_of([str(code)]).values()))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"algorithm": 3}, "algorithm: found 3, expected text"),
        ({"algorithm": "rign"}, "'rign' is none of this version"),
        ({"algorithm": "native"}, "algorithm 'native' with the executor sendrecv"),
        ({"algorithm": "ring", "executor": "native"}, "algorithm 'ring' with the executor native"),
        ({"algorithm": "ring", "window": 4}, "a window with the executor sendrecv"),
        ({"algorithm": "ring", "executor": "pipelined"}, "no window with the executor pipelined"),
        ({"algorithm": "ring", "segment": 2**62}, "segment: .*expected 1 or more and at most"),
        ({"algorithm": "ring", "count": 10**30}, "count: .*magnitude below"),
        ({"algorithm": "ring", "ranks": True}, "ranks: found True"),
        ({"algorithm": "ring", "dtype": "float99"}, "dtype: found 'float99', expected float16"),
        ({"algorithm": "ring", "op": None}, "op: found None, expected text"),
        ({"algorithm": "ring", "placement": "attic"}, "placement: found 'attic', expected where vectors lie"),
        ({"algorithm": "ring", "extra": 1}, "unknown to this version: extra"),
    ],
)
def test_every_field_is_looked_at(tmp_path, fields, words):
    with pytest.raises(ChoiceError, match=words):
        lookup_of(saved_own(tmp_path, **fields))


def test_what_is_no_regular_file_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, words in ((tmp_path / "pipe", "a FIFO; expected saved choices"), ("/dev/zero", "a character device")):
        with pytest.raises(ChoiceError, match=words):
            lookup_of(Path(path))


def test_a_machine_file_with_an_unknown_grade_or_placement_is_refused(tmp_path):
    path = tmp_path / "machine.json"
    write_machine(bare_machine(1e-6, 1e-10), path)
    for name in ("grade", "placement"):
        content = json.loads(path.read_text())
        content["models"][0][name] = "excellent"
        other = tmp_path / "other.json"
        other.write_text(json.dumps(content))
        with pytest.raises(ValueError, match=f"damaged: models: {name}: found 'excellent'"):
            lookup_of(other)
