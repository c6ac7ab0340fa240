"""`health --format json`."""

import json

import numpy as np

from allreduce_bench.health.judgement import PairTable, SettingColumn, judge_tables
from allreduce_bench.health.output import SCHEMA, json_text


def text() -> str:
    logs = np.zeros((9, 9))
    logs[4] = logs[:, 4] = np.log(2)
    logs[0, 1] = np.log(9)
    np.fill_diagonal(logs, np.nan)
    logs[8] = logs[:, 8] = np.nan
    names = tuple(f"n{number}" for number in range(9))
    failed = {frozenset(("n8", name)): "gone" for name in names[:8]}
    tried = frozenset(frozenset((one, other)) for one in names for other in names if one != other)
    found = judge_tables([PairTable("latency", names, logs, "us", False, 1e6)], tried, failed, 0.2)
    return json_text(found._replace(settings=(SettingColumn("mtu", "1500", "9000", 1.4, ("n1",)),)))


def test_the_object_has_suspects_and_values():
    content = json.loads(text())
    head = ["schema", "nodes", "threshold", "is_sound", "bad_nodes", "verdict", "tests", "failing_nodes"]
    assert list(content) == [*head, "failed_pairs", "cleared", "left", "settings"]
    assert content["schema"] == SCHEMA and content["bad_nodes"] == ["n4", "n8"] and not content["is_sound"]
    (test,) = content["tests"]
    head = ["name", "unit", "is_rate", "is_judged", "slow_nodes", "slow_group", "slow_links"]
    assert list(test) == [*head, "node_groups", "per_node", "pairs"]
    assert test["slow_nodes"] == ["n4"] and [link["nodes"] for link in test["slow_links"]] == [["n0", "n1"]]
    assert test["per_node"][8] == {"node": "n8", "ratio": None, "z": None} and len(test["pairs"]) == 56
    assert content["failing_nodes"][0]["node"] == "n8" and len(content["failed_pairs"]) == 8
    assert test["node_groups"] == {"groups": [], "alone": [], "far_ratio": 1.0}
    assert content["settings"][0]["column"] == "mtu" and content["settings"][0]["nodes"] == ["n1"]
