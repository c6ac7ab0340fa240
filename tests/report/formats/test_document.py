"""`json`: numbers for numbers, and nothing of the environment."""

import json

from allreduce_bench.report.formats import FORMATS
from allreduce_bench.runs.schema import SUMMARY, names

TEXT = {column.name for column in SUMMARY if column.kind == "text"}


def test_json_has_numbers_for_numbers_and_null_for_what_is_missing(rows_and_result):
    rows, result = rows_and_result
    found = json.loads(FORMATS["json"](result))
    keys = ["schema", "layout", "program", "command", "grades", "plan", "mpi", "hosts", "findings", "results"]
    keys += ["single_algorithm"]
    assert list(found) == keys
    assert len(found["results"]) == len(rows)
    for cell, row in zip(found["results"], rows):
        assert list(cell) == names(SUMMARY)
        assert cell["time_s"] == row["time_s"] and cell["busbw_bytes_per_s"] == row.get("busbw_bytes_per_s")
        assert all(value is None or isinstance(value, str) == (name in TEXT) for name, value in cell.items())
    assert [cell["time_s"] for cell in found["results"]].count(None) == 6
    assert {repr(cell["oversubscribed"]) for cell in found["results"]} == {"0", "1"}
    assert found["mpi"]["thread_level_of_ranks"] == {"2": "single", "4": "single"}
    assert [finding["ranks"] for finding in found["findings"]] == [4]  # once, not once a launch
    assert found["hosts"] == ["node1"] and found["plan"]["ranks"] == [4, 2]


def test_json_says_the_grades_with_their_reasons_before_the_results(rows_and_result):
    grades = json.loads(FORMATS["json"](rows_and_result[1]))["grades"]
    assert [grade["ranks"] for grade in grades] == [4, 2]
    assert {grade["grade"] for grade in grades} == {row["grade"] for row in rows_and_result[0]}
    for grade in grades:
        assert grade["unknown"] == ["load"] and grade["reasons"]
        assert all(list(reason) == ["code", "grade", "value", "limit", "text", "advice"] for reason in grade["reasons"])


def test_json_tells_nothing_of_the_environment(rows_and_result):
    assert "OMPI_MCA_btl" not in FORMATS["json"](rows_and_result[1])
