"""`csv` and `long`: one row a cell."""

import pytest
from made_results import outcome
from made_runs import build_run

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.report.formats import FORMATS, Result
from allreduce_bench.runs.recorder import write_summary


def test_csv_is_the_summary_of_the_folder(tmp_path):
    folder = build_run(tmp_path / "run", outcome=outcome)
    rows = summarise(folder)
    write_summary(folder, rows)
    assert FORMATS["csv"](Result.of(folder, rows)) == folder.summary_csv.read_text()


def test_long_is_one_aligned_row_a_cell(rows_and_result):
    rows, result = rows_and_result
    header, *lines = FORMATS["long"](result).splitlines()
    assert len(lines) == len(rows) and len({line.index(" done") for line in lines if " done" in line}) == 1
    place = {name: i for i, name in enumerate(header.split())}
    for line, row in zip(lines, rows):
        fields = line.split(None, len(place) - 1)
        assert (fields[place["competitor"]], fields[place["ranks"]]) == (row["competitor"], str(row["ranks"]))
        assert fields[place["state"]] == row["state"]
        if row["time_s"] is None:
            assert fields[place["time_us"]] == "-" and fields[place["reason"]] == row["reason"]
        else:
            microseconds = {"time_us": "time_s", "low_us": "time_low_s", "high_us": "time_high_s"}
            for name, column in {**microseconds, "min_us": "min_s", "max_us": "max_s"}.items():
                assert float(fields[place[name]]) == pytest.approx(row[column] * 1e6, rel=6e-3)
            for name in ("algbw", "busbw"):
                expected = row[f"{name}_bytes_per_s"] / 1e9
                assert float(fields[place[f"{name}_GB/s"]]) == pytest.approx(expected, rel=6e-3)
