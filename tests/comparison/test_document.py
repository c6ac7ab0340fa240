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
    keys = ["schema", "baseline", "new", "threshold", "method", "counts"]
    keys += ["undecided", "failed", "failure", "warning", "sentence", "observed", "differences"]
    keys += ["notes", "cells", "one_sided"]
    assert list(content) == keys
    assert (content["baseline"], content["new"], content["threshold"]) == (["base"], ["new"], 0.05)
    assert "5 %" in content["method"]
    assert (content["undecided"], content["warning"]) == ("warn", comparison.warning) and content["warning"]
    assert content["failure"] == "slower: ring 8 B, 2 ranks"
    assert content["counts"] == {"slower": 1, "faster": 0, "same": 0, "undecided": 1, "failed": 0}
    assert content["failed"] is True and content["one_sided"] == [
        f"only in the baseline (new: {ABSENT}): ring 64 B, 2 ranks"
    ]
    slower, undecided = content["cells"]
    assert (slower["observed"], undecided["observed"]) == (None, "slower")
    key = ["ranks", "competitor", "segment", "dtype", "op", "size_bytes"]
    assert list(slower)[:6] == key
    assert (slower["verdict"], slower["reason"]) == ("slower", "slower in 16 of 16 pairs")
    assert (slower["unit"], slower["units"], undecided["units"]) == ("launch", [4, 4], [1, 4])
    names = ("pairs", "slower_pairs", "faster_pairs")
    assert [[cell[name] for name in names] for cell in (slower, undecided)] == [[16, 16, 0], [None] * 3]
    assert (undecided["baseline_launches"], undecided["ratio"]) == (1, pytest.approx(2))
