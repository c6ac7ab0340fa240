"""run.json: every choice of a plan is described, for measured, imported and merged runs."""

import json
from dataclasses import fields

import pytest
from made_runs import build_run
from places import ROOT
from strict_schemas import FORMATS, changed, undescribed, undescribed_of_folder

from allreduce_bench.importers.merge import merge
from allreduce_bench.runs.json_schema.check import document_violations
from allreduce_bench.runs.json_schema.run import PLAN
from allreduce_bench.runs.plan import Plan

KEPT = json.loads((ROOT / "results" / "example" / "run.json").read_text())


def test_the_plan_is_described_field_by_field():
    assert list(PLAN["properties"]) == PLAN["required"] == [field.name for field in fields(Plan)]
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
        (("schema_version",), 99, "schema_version"),
        (("imported",), {}, "imported"),
    ],
)
def test_a_changed_type_is_refused(path, to, place):
    (violation,) = document_violations(FORMATS["run"], changed(KEPT, *path, to=to).encode(), "file")
    assert violation.place == place


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
