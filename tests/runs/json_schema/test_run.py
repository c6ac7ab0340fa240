"""run.json: every choice of a plan is described, for measured, imported and merged runs."""

import json
from dataclasses import fields

import pytest
from jsonschema import Draft202012Validator
from made_runs import build_run
from strict_schemas import EXAMPLE, FORMATS, changed, undescribed, undescribed_of_folder

from allreduce_bench.importers.keep import merge
from allreduce_bench.runs.json_schema import build
from allreduce_bench.runs.json_schema.check import document_violations
from allreduce_bench.runs.json_schema.folder import PLAN
from allreduce_bench.runs.plan import LATER_FIELDS, Plan
from allreduce_bench.runs.schema import SCHEMA_VERSION

KEPT = json.loads((EXAMPLE / "run.json").read_text())


def test_the_plan_is_described_field_by_field():
    assert list(PLAN["properties"]) == [field.name for field in fields(Plan)]
    assert PLAN["required"] == [name for name in PLAN["properties"] if name not in LATER_FIELDS]
    assert undescribed("run", json.dumps(KEPT)) == []


@pytest.mark.parametrize(
    ("path", "to", "place"),
    [
        (("plan", "sizes", 0), 8.5, "plan.sizes[0]"),
        (("plan", "sizes"), [], "plan.sizes"),
        (("plan", "launches"), 0, "plan.launches"),
        (("plan", "cache"), "hot", "plan.cache"),
        (("plan", "iters"), "15", "plan.iters"),
        (("plan", "start", "hosts"), "n1", "plan.start.hosts"),
        (("program",), None, "program"),
        (("imported",), {}, "imported"),
    ],
)
def test_a_changed_type_is_refused(path, to, place):
    (violation,) = document_violations(FORMATS["run"], changed(KEPT, *path, to=to).encode(), "file")
    assert violation.place == place


def test_another_layout_is_refused():
    found = document_violations(FORMATS["run"], changed(KEPT, "schema_version", to=99).encode(), "file")
    assert "schema_version" in {violation.place for violation in found}


def test_a_further_field_is_none_of_the_reader_s_business():
    assert not list(document_violations(FORMATS["run"], json.dumps({**KEPT, "weather": "fair"}).encode(), "file"))
    assert undescribed("run", json.dumps({**KEPT, "weather": "fair"}))


def test_merged_runs_are_described(tmp_path):
    one, other = (build_run(tmp_path / name, ranks=(2,), launches=1, sizes=(8,)) for name in "ab")
    merged = merge([one, other], tmp_path / "both", ["allreduce-bench", "collect"])
    found = undescribed("run", merged.run_json.read_text())
    assert found == [] and "merged" in merged.open()
    of_launches = [line for line in undescribed_of_folder(merged.path) if "merged_from" in line]
    assert of_launches == []


def test_layout_3_has_no_checksum_and_layout_4_ends_with_one():
    newer = build.kept_file({}, {})
    newer["properties"]["schema_version"]["enum"] = [3, 4]
    validator = Draft202012Validator(newer)
    for content, holds in [
        ({"schema_version": 3}, True),
        ({"schema_version": 4}, False),
        ({"schema_version": 4, "crc32": "0123abcd"}, True),
        ({"schema_version": 4, "crc32": "0123abc"}, False),
    ]:
        assert validator.is_valid(content) == holds, content
    assert {3, 4, SCHEMA_VERSION} == set(FORMATS["run"].schema["properties"]["schema_version"]["enum"])
