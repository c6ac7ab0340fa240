"""`stragglers --format json`."""

import json

import numpy as np
import pytest
from made_arrivals import arrivals, judgement

from allreduce_bench.stragglers.document import OF_RANKS, SCHEMA, SECONDS, SHARES, json_text
from allreduce_bench.stragglers.sentences import judge_arrivals
from allreduce_bench.stragglers.verdict import SingleStall, Suspect


def text(one) -> str:
    return json_text([one._replace(path="steps.jsonl", kind="step-monitor")])


def test_the_object_has_every_rank_and_the_verdict():
    content = json.loads(text(judgement()))
    (source,) = content["sources"]
    assert content["schema"] == SCHEMA and source["silence"] is None and source["ranks"] == 8
    assert source["suspects"][0]["name"] == "rank 5 on node n1" and source["suspects"][0]["is_cause"] in (True, False)
    assert [rank["rank"] for rank in source["per_rank"]] == list(range(8))
    assert source["verdict"][0].startswith("rank 5 on node n1")


@pytest.mark.parametrize("choices", [{}, {"slow": None}, {"steps": 3}, {"ranks": 1, "slow": None}])
def test_every_source_has_the_same_keys(choices):
    (source,) = json.loads(text(judgement(**choices)))["sources"]
    head = ["path", "kind", "what", "verdict", "silence", "steps", "ranks", "nodes", "clock_error_s"]
    assert list(source) == [*head, *SECONDS, *SHARES, "stall", "suspects", "per_rank"]
    assert set(source["stall"] or SingleStall._fields) == set(SingleStall._fields)
    assert all(set(suspect) == {"name", *Suspect._fields} for suspect in source["suspects"])
    assert {*source["per_rank"][0]} == {"rank", "node", "last_count", "late_s", *OF_RANKS}


def test_what_is_not_known_is_null():
    made = arrivals(steps=40)
    made.ready_s[:, 2] = np.nan
    content = json.loads(text(judge_arrivals("", made)))
    assert content["sources"][0]["per_rank"][2]["slower_by"] is None
