"""`stragglers --format json`: the object, and that its schema describes it in full."""

import json

import numpy as np
import pytest
from made_arrivals import arrivals, judgement
from strict_schemas import FORMATS, changed, undescribed

from allreduce_bench.runs.json_schema.check import document_violations
from allreduce_bench.stragglers.document import SCHEMA, Named, json_text
from allreduce_bench.stragglers.sentences import judged


def text(one) -> str:
    return json_text([Named("steps.jsonl", "step-monitor", one)])


def test_the_object_has_every_rank_and_the_verdict():
    content = json.loads(text(judgement()))
    (source,) = content["sources"]
    assert content["schema"] == SCHEMA and source["silence"] is None and source["ranks"] == 8
    assert source["suspects"][0]["name"] == "rank 5 on node n1" and source["suspects"][0]["is_cause"] in (True, False)
    assert [rank["rank"] for rank in source["per_rank"]] == list(range(8))
    assert source["verdict"][0].startswith("rank 5 on node n1")


@pytest.mark.parametrize("choices", [{}, {"slow": None}, {"steps": 3}, {"ranks": 1, "slow": None}])
def test_it_is_described_in_full(choices):
    assert undescribed("stragglers", text(judgement(**choices))) == []


def test_what_is_not_known_is_null():
    made = arrivals(steps=40)
    made.ready_s[:, 2] = np.nan
    content = json.loads(text(judged("", made)))
    assert content["sources"][0]["per_rank"][2]["slower_by"] is None
    assert undescribed("stragglers", json.dumps(content)) == []


def test_a_changed_type_is_refused():
    content = changed(json.loads(text(judgement())), "sources", 0, "steps", to="many")
    said = list(map(str, document_violations(FORMATS["stragglers"], content.encode(), "x")))
    assert len(said) == 1 and "sources[0].steps" in said[0]
