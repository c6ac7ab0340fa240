"""What a file says is read as typed objects, or refused in one line that names the place; nothing it says is worse."""

import json
from dataclasses import asdict, dataclass
from typing import Annotated, Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_sweeps import submitted_job

from allreduce_bench.models.machine import MachineError, bare_machine, read_machine
from allreduce_bench.runs.plan import ImportedPlan, Plan, PlanError
from allreduce_bench.runs.rows import RunError
from allreduce_bench.runs.typed_json import JsonError, Positive, at_least, one_of, read_as
from allreduce_bench.slurm.commands import SlurmJob
from allreduce_bench.slurm.job_files import StartRecord, read_submissions
from allreduce_bench.slurm.job_states import kept_states
from allreduce_bench.units import printable

DEEP = "[" * 100_000 + "]" * 100_000


class Pair(NamedTuple):
    left: int
    right: float = 0.5


@dataclass(frozen=True)
class Inner:
    name: Annotated[str, printable]
    pair: Pair | None = None


@dataclass(frozen=True)
class Outer:
    number: Positive
    inner: tuple[Inner, ...] = ()
    kind: Annotated[str, one_of("a", "b", "c")] = "a"
    flag: bool = False
    share: Annotated[float, at_least(0, 1)] = 0.0
    pairs: dict[str, Pair] | None = None
    anything: Any = None


def test_objects_are_filled_after_their_annotations():
    value = {"number": 3, "inner": [{"name": "x\x1by", "pair": [1]}, {"name": "", "pair": {"left": 2, "right": 1}}]}
    value |= {"pairs": {"p": [4, 5]}, "anything": [{}], "share": 1, "flag": True, "kind": "c"}
    inner = Inner("x?y", Pair(1)), Inner("", Pair(2, 1))
    assert read_as(Outer, value) == Outer(3, inner, "c", True, 1, {"p": Pair(4, 5)}, [{}])
    assert read_as(Outer, {"number": 1, "unknown": 2}) == Outer(1)
    assert read_as(tuple[Pair, ...], [[1, 2]]) == (Pair(1, 2),)


@pytest.mark.parametrize(
    "value, words",
    [
        ({}, "missing: number"),
        ([], "found [], expected an object with number"),
        ({"number": True}, "number: found True, expected a whole number"),
        ({"number": 0}, "number: found 0, expected 1 or more"),
        ({"number": 2**63}, "number: found 9223372036854775808, expected a whole number of a magnitude below 2**63"),
        ({"number": 1, "share": float("nan")}, "share: found nan, expected a number of a magnitude below 2**63"),
        ({"number": 1, "share": 1.5}, "share: found 1.5, expected 0 or more and at most 1"),
        ({"number": 1, "kind": "d"}, "kind: found 'd', expected a, b or c"),
        ({"number": 1, "inner": "x"}, "inner: found 'x', expected a list"),
        (
            {"number": 1, "inner": [{"name": "", "pair": ["1"]}]},
            "inner: pair: left: found '1', expected a whole number",
        ),
        ({"number": 1, "pairs": {"a": [1, 2, 3]}}, "pairs: a: found [1, 2, 3], expected an object with left"),
        ({"number": 1, "pairs": {"a\nb": [None]}}, "pairs: a?b: left: found None, expected a whole number"),
    ],
)
def test_a_refusal_says_where_what_and_what_was_expected(value, words):
    with pytest.raises(JsonError) as error:
        read_as(Outer, value)
    assert str(error.value) == words


def test_exact_objects_may_lack_what_has_a_default_and_have_nothing_else():
    assert read_as(Inner, {"name": "x", "pair": [1]}, exact=True) == Inner("x", Pair(1))
    assert read_as(Inner, {"name": "x"}, exact=True) == Inner("x")
    with pytest.raises(JsonError, match="missing: name"):
        read_as(Inner, {"pair": None}, exact=True)
    with pytest.raises(JsonError, match="version: colour"):
        read_as(Inner, {"name": "x", "pair": None, "colour": 1}, exact=True)


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([10**400, -1, 0, 2**63, 1e308, float("inf"), float("nan"), "", "\x1b[2J\n", "1-99999999", "{"]),
    st.integers(),
    st.floats(),
    st.text(),
)
HOSTILE = st.recursive(ODD, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))
PLAN = Plan(("ring",), (8, 1024), (2, 4), seed=1).to_json()
SUBMITTED = asdict(submitted_job("1n", "1", array="1-3"))
CHOICES = {"system": "x", "job_name": "y", "time_s": 3.0, "steering": []}
SUBMISSION = {
    "number": 1,
    "submitted": "",
    "command": [],
    "choices": CHOICES,
    "jobs": [SUBMITTED],
    "collect": SUBMITTED,
}
RECORD = {"job": "1", "restart": 0, "only": "", "nodes": ["n1"], "started": "", "task": None}
MACHINE = json.loads(json.dumps(bare_machine(1e-6, 1e-10).to_json()))


def damaged(value: Any, draw: Any) -> Any:
    """The JSON value with something hostile at a place that is drawn."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    if not keys or draw(st.integers(0, 3)) == 0:
        return draw(HOSTILE)
    key = draw(st.sampled_from(keys))
    changed = damaged(value[key], draw)
    return {**value, key: changed} if isinstance(value, dict) else [*value[:key], changed, *value[key + 1 :]]


def readers(path):
    """What reads each kind of JSON: a good one, its reader, and the only error that it may raise."""
    folder = path / "jobs" / "1"
    folder.mkdir(parents=True, exist_ok=True)

    def written(name, read):
        def reader(value):
            (folder / name).write_text(json.dumps(value))
            return read()

        return reader

    return {
        "plan": (PLAN, Plan.from_json, PlanError),
        "imported": (PLAN | {"definitions": {}}, ImportedPlan.from_json, PlanError),
        "submission": (SUBMISSION, written("submission.json", lambda: read_submissions(path)), RunError),
        "record": (RECORD, lambda value: read_as(StartRecord, value), JsonError),
        "ended": (
            {"1": SlurmJob("1", "RUNNING")._asdict()},
            written("../ended.json", lambda: kept_states(path)),
            RunError,
        ),
        "machine": (MACHINE, written("m.json", lambda: read_machine(folder / "m.json")), MachineError),
    }


@pytest.mark.parametrize("kind", ["plan", "imported", "submission", "record", "ended", "machine"])
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_a_file_says_it_is_read_or_refused_in_one_line(kind, data, tmp_path):
    good, read, refused = readers(tmp_path)[kind]
    read(good)
    try:
        read(damaged(json.loads(json.dumps(good)), data.draw))
    except refused as error:
        assert str(error).isprintable()


def test_a_file_that_is_too_deep_is_refused_in_one_line(tmp_path):
    (tmp_path / "jobs" / "1").mkdir(parents=True)
    for name in ("ended.json", "1/submission.json", "machine.json"):
        (tmp_path / "jobs" / name).write_text(DEEP)
    for read in (kept_states, read_submissions, lambda path: read_machine(path / "jobs" / "machine.json")):
        with pytest.raises((RunError, MachineError)) as error:
            read(tmp_path)
        assert str(error.value).isprintable()
