"""Progress as JSON obeys its schema."""

import json

import pytest
from made_traces import RAS, write_records

from allreduce_bench.stragglers.document import PROGRESS, STRAGGLERS, json_text, progress_object
from allreduce_bench.stragglers.flight_recorder import progress_of_records
from allreduce_bench.stragglers.nccl_ras import progress_of_ras


def all_of(tmp_path):
    (tmp_path / "ras.json").write_text(json.dumps(RAS))
    return [*progress_of_records(write_records(tmp_path)), *progress_of_ras(tmp_path / "ras.json")]


def test_it_obeys_its_schema(tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    document = json.loads(json_text([], all_of(tmp_path)))
    jsonschema.validate(document, STRAGGLERS)
    assert [one["kind"] for one in document["progress"]] == ["flight-recorder", "nccl-ras"]
    assert all(set(one) == set(PROGRESS["properties"]) for one in document["progress"])


def test_its_values(tmp_path):
    of_records, of_ras = map(progress_object, all_of(tmp_path))
    assert of_records["held"] == [
        {
            **{"number": 33, "collective": "all_reduce", "nbytes": 1000},
            **{"waiting": (0, 1, 3), "absent": (2,), "started": ()},
        }
    ]
    assert of_records["behind"] == {"2": 1} and of_ras["missing"] == [{"rank": 1, "why": "unresponsive"}]
    assert of_ras["verdict"][0].startswith("AllReduce calls: rank 2 is 2 behind")
