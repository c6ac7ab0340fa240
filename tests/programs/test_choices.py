"""What a file says: saved choices, a run; and what is none of them."""

import json
import os
from pathlib import Path

import pytest
from places import ROOT

from allreduce_bench.programs.agreement import Shape
from allreduce_bench.programs.choices import KIND, VERSION, Choice, ChoiceError, find_lookup, write_choices
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
    lookup = find_lookup(saved)
    assert lookup(shape(8), FOUR).name == "recursive_doubling"
    assert lookup(shape(1024), FOUR).name == "recursive_doubling"
    ring = lookup(shape(2**24), FOUR)
    assert (ring.name, ring.segment, ring.window) == ("ring@pipelined", 4096, 4)
    assert lookup(shape(2**24), Topology.one_node(2)).name == "native"
    assert lookup(shape(8), Topology.one_node(3)) is None
    assert lookup(shape(8), Topology.filled(4, 2)) is None


def test_the_example_run_says_who_was_the_fastest():
    lookup = find_lookup(ROOT / "docs" / "example")
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
        (
            json.dumps({"kind": "allreduce-bench choices", "schema_version": VERSION, "choices": [{"ranks": 0}]}),
            "damaged",
        ),
        (json.dumps({"kind": "allreduce-bench choices", "schema_version": VERSION}), "damaged"),
    ],
)
def test_what_says_nothing_is_refused(tmp_path, content, words):
    path = tmp_path / "x.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ChoiceError, match=words):
        find_lookup(path)


def saved_own(tmp_path, **fields: object):
    """A choice of `mine`, written by an author of files."""
    path = tmp_path / "own.json"
    one = {**vars(Choice(4, "1x4", 2, "float32", "sum", "mine", "sendrecv")), **fields}
    path.write_text(json.dumps({"kind": KIND, "schema_version": VERSION, "choices": [one]}))
    return path


def test_own_algorithms_run_only_where_the_program_names_their_file(tmp_path):
    path = saved_own(tmp_path)
    assert find_lookup(path, ["mine"])(shape(8), FOUR).name == "mine"
    for name in ("mine", str(tmp_path / "mine.py")):
        with pytest.raises(ChoiceError, match="name its file in the program"):
            find_lookup(saved_own(tmp_path, algorithm=name))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"algorithm": 3}, "algorithm: found 3, expected text"),
        ({"algorithm": "rign"}, "'rign' is none of this version"),
        ({"algorithm": "native"}, "algorithm 'native' with the executor sendrecv"),
        ({"algorithm": "ring", "executor": "native"}, "algorithm 'ring' with the executor native"),
        ({"algorithm": "ring", "window": 4}, "a window with the executor sendrecv"),
        ({"algorithm": "ring", "executor": "pipelined"}, "no window with the executor pipelined"),
        ({"algorithm": "ring", "executor": "hurried"}, "executor: found 'hurried', expected native, sendrecv"),
        ({"algorithm": "ring", "segment": 2**62}, "segment: .*expected 1 or more and at most"),
        ({"algorithm": "ring", "count": 10**30}, "count: .*magnitude below"),
        ({"algorithm": "ring", "ranks": True}, "ranks: found True"),
        ({"algorithm": "ring", "dtype": "float99"}, "dtype: found 'float99', expected float16"),
        ({"algorithm": "ring", "op": None}, "op: found None, expected text"),
        ({"algorithm": "ring", "extra": 1}, "unknown to this version: extra"),
    ],
)
def test_every_field_is_looked_at(tmp_path, fields, words):
    with pytest.raises(ChoiceError, match=words):
        find_lookup(saved_own(tmp_path, **fields))


def test_what_is_no_regular_file_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, words in ((tmp_path / "pipe", "a FIFO; expected saved choices"), ("/dev/zero", "a character device")):
        with pytest.raises(ChoiceError, match=words):
            find_lookup(Path(path))
