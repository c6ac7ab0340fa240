"""`health --format json`."""

import json

import numpy as np
from made_pairs import judge, pair_table

from allreduce_bench.health.output import SCHEMA, json_text


def test_the_object_has_suspects_and_values():
    table = pair_table(9, {4: 2}, link=9)
    table.log_time[8] = table.log_time[:, 8] = np.nan
    failed = {("n8", f"n{number}"): "gone" for number in range(8)}
    content = json.loads(json_text(judge(table, failed=failed)))
    head = ["schema", "nodes", "threshold", "is_sound", "bad_nodes", "verdict", "tests", "failing_nodes"]
    assert list(content) == [*head, "failed_pairs", "cleared", "left"]
    assert content["schema"] == SCHEMA and content["bad_nodes"] == ["n4", "n8"] and not content["is_sound"]
    (test,) = content["tests"]
    head = ["name", "unit", "is_rate", "is_judged", "slow_nodes", "slow_group", "slow_links"]
    assert list(test) == [*head, "node_groups", "per_node", "pairs"]
    assert test["slow_nodes"] == ["n4"] and [link["nodes"] for link in test["slow_links"]] == [["n0", "n1"]]
    assert test["per_node"][8] == {"node": "n8", "ratio": None, "z": None} and len(test["pairs"]) == 56
    assert content["failing_nodes"][0]["node"] == "n8" and len(content["failed_pairs"]) == 8
    assert test["node_groups"] == {"groups": [], "alone": [], "far_ratio": 1.0}
