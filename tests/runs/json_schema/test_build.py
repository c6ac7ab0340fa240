"""The parts of schemas: valid by the metaschema, open, and made of the types that files are read with."""

import json
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import pytest
from jsonschema import Draft202012Validator
from strict_schemas import FORMATS, closed

from allreduce_bench.runs.json_schema import build
from allreduce_bench.runs.typed_json import JsonError, Natural, Positive, at_least, not_empty, one_of, read_as

MEANING = "number of the rank"


class Pair(NamedTuple):
    left: int
    right: float | None


class Described(NamedTuple):
    rank: Annotated[Natural, MEANING]


@dataclass
class Outer:
    number: Positive
    share: Annotated[float, at_least(0, 1)]
    names: Annotated[tuple[str, ...], not_empty]
    kind: Annotated[str, one_of("a", "b")] | None
    pairs: dict[str, Pair]


MEANINGS = {f"Outer.{name}": name for name in Outer.__annotations__} | {"Pair.left": "l", "Pair.right": "r"}
GOOD = {"number": 1, "share": 0.5, "names": ["x"], "kind": None, "pairs": {"p": {"left": 1, "right": None}}}


def holds(schema: dict, value: object) -> bool:
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize("name", FORMATS)
def test_every_schema_is_valid_and_says_its_version_and_promise(name):
    document = json.loads(json.dumps(FORMATS[name].document()))
    Draft202012Validator.check_schema(document)
    assert document["$id"] == f"urn:allreduce-bench:{name}:{FORMATS[name].version}"
    assert document["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    assert document["$comment"] == build.PROMISE and "\n" not in document["title"]


@pytest.mark.parametrize("name", FORMATS)
def test_every_field_is_described_and_further_ones_are_welcome(name):
    def objects(schema: object):
        if isinstance(schema, list):
            for part in schema:
                yield from objects(part)
        elif isinstance(schema, dict):
            if "properties" in schema and "type" in schema:
                yield schema
            for part in schema.values():
                yield from objects(part)

    for schema in objects(FORMATS[name].schema):
        assert schema.get("additionalProperties", True) is not False
        assert set(schema["required"]) <= set(schema["properties"])
        for field, content in schema["properties"].items():
            described = "description" in content or "description" in content.get("items", {}) or "enum" in content
            assert described or schema.get("description"), f"{name}: {field}"


def test_ids_are_unique_and_name_no_host():
    assert len({format_.id for format_ in FORMATS.values()}) == len(FORMATS)
    assert all(format_.id.startswith("urn:allreduce-bench:") for format_ in FORMATS.values())


def test_types_become_schemas_with_their_rules():
    schema = build.of_type(Outer, MEANINGS)
    assert holds(schema, GOOD) and holds(schema, {**GOOD, "more": 1, "kind": "a"})
    wrong = {"number": 0, "share": 1.5, "names": [], "kind": "c", "pairs": {"p": {"left": 1}}}
    for name, value in wrong.items():
        assert not holds(schema, {**GOOD, name: value}), name
        assert not holds(schema, {key: kept for key, kept in GOOD.items() if key != name}), name
    assert schema["properties"]["share"]["description"] == "share"


def test_named_tuples_are_lists_where_json_writes_them_so():
    schema = build.of_type(Outer, MEANINGS, as_lists=True)
    assert holds(schema, {**GOOD, "pairs": {"p": [1, None]}}) and holds(schema, {**GOOD, "pairs": {"p": [1, 2.5, "x"]}})
    assert not holds(schema, {**GOOD, "pairs": {"p": [1]}}) and not holds(schema, {**GOOD, "pairs": {"p": ["x", 1]}})
    assert not holds(closed(schema), {**GOOD, "pairs": {"p": [1, 2.5, "x"]}})


def test_meanings_may_stand_at_the_fields():
    schema = build.of_type(Described)
    assert schema["properties"]["rank"] == {"description": MEANING, "type": "integer", "minimum": 0}
    assert read_as(Described, {"rank": 3}) == Described(3)
    with pytest.raises(JsonError, match="found -1, expected 0 or more"):
        read_as(Described, {"rank": -1})


def test_a_field_without_a_meaning_is_a_mistake():
    with pytest.raises(KeyError, match="Outer.kind"):
        build.of_type(Outer, {name: meaning for name, meaning in MEANINGS.items() if name != "Outer.kind"})


def test_null_may_stand_where_it_is_said():
    assert holds(build.or_null(build.text("", "a")), None) and not holds(build.text("", "a"), None)
    assert not holds(build.or_null(build.text("", "a")), "b")
