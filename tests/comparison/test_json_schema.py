"""`compare --format json` is described in full; a changed type is refused."""

import json

import pytest
from made_runs import build_run
from strict_schemas import FORMATS, changed, undescribed

from allreduce_bench.comparison.conditions import read_sides
from allreduce_bench.comparison.formats import FORMATS as LAYOUTS
from allreduce_bench.comparison.judgement import compare
from allreduce_bench.runs.json_schema.check import document_violations


@pytest.fixture(scope="module")
def printed(tmp_path_factory) -> str:
    """A comparison with slower, failed and one-sided cells, and cells of a single launch."""
    place = tmp_path_factory.mktemp("runs")

    def wrong(launch, cell):
        return {"state": "wrong", "wrong": 1} if cell.algorithm == "ring" and cell.count == 2 else {}

    one = build_run(place / "one", launches=3)
    other = build_run(
        place / "other",
        launches=3,
        seed=2,
        outcome=wrong,
        sizes=(8, 1024, 65536),
        factor=lambda launch, cell: 2.0 if cell.algorithm == "native" else 1.0,
    )
    return LAYOUTS["json"](compare(*read_sides([one.path], [other.path]), 0.05))


def test_what_compare_prints_is_described(printed):
    cells = json.loads(printed)["cells"]
    assert {"slower", "failed"} <= {cell["verdict"] for cell in cells} and json.loads(printed)["one_sided"]
    assert {cell["low"] is None for cell in cells} == {True, False}
    assert undescribed("compare", printed) == []


@pytest.mark.parametrize(
    ("path", "to", "place"),
    [
        (("cells", 0, "verdict"), "slow", "cells[0].verdict"),
        (("cells", 0, "ratio"), "1.0", "cells[0].ratio"),
        (("cells", 0, "units"), [1, 2, 3], "cells[0].units"),
        (("failed",), None, "failed"),
        (("threshold",), "5%", "threshold"),
    ],
)
def test_a_changed_type_is_refused(printed, path, to, place):
    content = changed(json.loads(printed), *path, to=to).encode()
    assert [violation.place for violation in document_violations(FORMATS["compare"], content, "file")] == [place]
