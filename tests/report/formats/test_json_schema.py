"""`run --format json` and `predict --format json` are described in full; a changed type is refused."""

import json

import pytest
from click.testing import CliRunner
from strict_schemas import FORMATS, changed, undescribed

from allreduce_bench.cli import main
from allreduce_bench.report.formats import FORMATS as LAYOUTS
from allreduce_bench.runs.json_schema.check import document_violations

PRICES = ("--alpha", "5us", "--bandwidth", "100Gbit")


def predicted(*words: str) -> str:
    result = CliRunner().invoke(main, ["predict", *words, "--format", "json"])
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def result_text(rows_and_result) -> str:
    return LAYOUTS["json"](rows_and_result[1])


def test_results_are_described(result_text):
    brief = {"code": "oversubscribed", "text": ""}  # as the made launches have it
    content = json.loads(result_text)
    for finding in content["findings"]:
        finding |= {**brief, "level": "caution", "effect": "", "advice": ""}
    assert undescribed("result", json.dumps(content)) == [] and len(content["results"]) > 6


@pytest.mark.parametrize(
    ("path", "to", "place"),
    [
        (("results", 0, "time_s"), "1e-6", "results[0].time_s"),
        (("results", 0, "state"), "lost", "results[0].state"),
        (("grades", 0, "grade"), "fine", "grades[0].grade"),
        (("hosts",), "node1", "hosts"),
        (("plan", "ranks"), 4, "plan.ranks"),
    ],
)
def test_a_changed_type_of_a_result_is_refused(result_text, path, to, place):
    content = json.loads(result_text)
    content["findings"] = []
    found = document_violations(FORMATS["result"], changed(content, *path, to=to).encode(), "file")
    assert [violation.place for violation in found] == [place]


def test_predictions_are_described():
    text = predicted(*PRICES, "-n", "2-33", "--sizes", "8,64K,64M")
    crossings = json.loads(text)["crossings"]
    assert {"over", "first"} <= {name for crossing in crossings for name in crossing}  # of both kinds
    assert undescribed("predict", text) == []


def test_a_changed_type_of_a_prediction_is_refused():
    content = json.loads(predicted(*PRICES, "-n", "2,64", "--sizes", "8,64M"))
    for path, to in ((("rows", 0, "fastest"), 1), (("crossings", 0, "sentence"), None), (("measured",), "no")):
        text = changed(content, *path, to=to).encode()
        assert len(list(document_violations(FORMATS["predict"], text, "file"))) == 1, path
