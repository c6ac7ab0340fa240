"""`nccl`: programs written for nccl-tests read it right."""

from dataclasses import replace

import pytest
from made_results import of, tables_of
from made_runs import build_run
from page_readers import awk_last_field, superbench, superbench_best

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.report.formats import FORMATS, Result


def test_superbench_reads_the_nccl_layout(rows_and_result):
    rows, result = rows_and_result
    for (algorithm, ranks), table in tables_of(FORMATS["nccl"](result)).items():
        cells = [row for row in of(rows, algorithm, int(ranks)) if row["time_s"] is not None]
        found = superbench(table)
        assert list(found) == [row["size_bytes"] for row in cells]
        for row in cells:
            read = found[row["size_bytes"]]
            assert read["time"] == pytest.approx(row["time_s"] * 1e6, abs=0.6, rel=1e-3)
            assert read["algbw"] == pytest.approx(row["algbw_bytes_per_s"] / 1e9, abs=0.006)
            assert read["busbw"] == pytest.approx(row["busbw_bytes_per_s"] / 1e9, abs=0.006)
        best = max(row["busbw_bytes_per_s"] for row in cells) / 1e9
        assert superbench_best(table) == pytest.approx(best, abs=0.006)
        (mean,) = awk_last_field(table, "# Avg bus bandwidth")
        assert float(mean) == pytest.approx(sum(row["busbw_bytes_per_s"] / 1e9 for row in cells) / len(cells), rel=1e-5)
        with pytest.raises(ValueError):  # nothing was measured in place: no number to be found
            superbench(table, in_place=True)


def test_a_run_in_place_fills_the_other_half(rows_and_result):
    rows, result = rows_and_result
    in_place = result._replace(plan=replace(result.plan, in_place=True))
    (row, *_) = (row for row in of(rows, "ring", 2) if row["time_s"] is not None)
    text = tables_of(FORMATS["nccl"](in_place))["ring", "2"]
    found = superbench(text, in_place=True)[row["size_bytes"]]["time"]
    assert found == pytest.approx(row["time_s"] * 1e6, abs=0.6, rel=1e-3)
    with pytest.raises(ValueError):
        superbench(text)


def test_of_several_tables_superbench_reads_the_last(rows_and_result):
    text = FORMATS["nccl"](rows_and_result[1])
    assert superbench(text) == superbench(tables_of(text)["two_tree", "2"])


def test_the_line_of_out_of_bounds_values_counts_wrong_elements(rows_and_result):
    tables = tables_of(FORMATS["nccl"](rows_and_result[1]))
    assert "values : 0 OK" in tables["ring", "2"]
    assert "values : 9 FAILED" in tables["two_tree", "2"]  # 3 in each of 3 launches


@pytest.mark.parametrize(
    ("state", "wrong", "bounds"),
    [("wrong", 2, "2 FAILED"), ("refused", None, "0 FAILED"), ("hung", None, "0 FAILED"), ("skipped", None, "N/A")],
)
def test_a_table_without_a_time_has_no_mean(tmp_path, state, wrong, bounds):
    facts = {"state": state, "reason": "why", "wrong": wrong}
    shape = {"algorithms": ("ring",), "sizes": (8,), "ranks": (2,), "launches": 1}
    folder = build_run(tmp_path / "run", **shape, outcome=lambda *_: facts)
    text = FORMATS["nccl"](Result.of(folder, summarise(folder)))
    assert f"values : {bounds}" in text
    assert awk_last_field(text, "Avg bus bandwidth") == ["N/A"]
