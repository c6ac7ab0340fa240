"""The JSON of a comparison: seconds, shares, and null for what is not known."""

import json

import pytest
from compared_runs import FASTER, SLOWER, compared_run, row

from allreduce_bench.comparison.formats import json_text
from allreduce_bench.comparison.judgement import compare

ABSENT = "not planned"  # by a side


def test_every_cell_says_what_it_is_and_how_it_was_judged():
    base = compared_run("base", row(FASTER), row(FASTER[:1], competitor="native"), row(FASTER, size_bytes=64))
    new = compared_run("new", row(SLOWER), row(SLOWER, competitor="native"))
    comparison = compare([base], [new], 0.05)
    content = json.loads(json_text(comparison))
    keys = ["schema", "baseline", "new", "threshold", "confidence", "false_alarms", "correction", "method", "counts"]
    keys += ["undecided", "failed", "failure", "warning", "sentence", "observed", "differences", "by_rounds"]
    keys += ["notes", "cells", "one_sided"]
    assert list(content) == keys
    assert (content["baseline"], content["new"], content["threshold"], content["confidence"]) == (
        ["base"],
        ["new"],
        0.05,
        0.9,
    )
    assert (content["false_alarms"], content["correction"]) == (0.05, "Holm") and "5 %" in content["method"]
    assert (content["undecided"], content["warning"]) == ("warn", comparison.warning) and content["warning"]
    assert content["failure"] == "slower: ring 8 B, 2 ranks"
    assert content["counts"] == {"slower": 1, "faster": 0, "same": 0, "undecided": 1, "failed": 0}
    assert content["failed"] is True and content["one_sided"] == [
        f"only in the baseline: ring 64 B, 2 ranks (new: {ABSENT})"
    ]
    slower, undecided = content["cells"]
    assert (slower["observed"], undecided["observed"]) == (None, "slower") and content["observed"]["launches"] == [1, 3]
    key = ["ranks", "competitor", "segment", "dtype", "op", "size_bytes"]
    assert list(slower)[:6] == key
    assert (slower["verdict"], slower["unit"], slower["units"], slower["reason"]) == ("slower", "launch", [3, 3], None)
    assert slower["p_holm"] <= 0.05 and slower["degrees_of_freedom"] == pytest.approx(4, abs=0.5)
    assert (
        undecided["low"] is None
        and undecided["p_holm"] is None
        and undecided["baseline_launches"] == 1
        and undecided["more_units"] == 2
    )
