"""Wide tables: units in names and in fields, CSV and Markdown; columns that are no competitors."""

import pytest
from made_logs import log
from places import DATA

from allreduce_bench.importers import LogError, LogWarning, read, recognise

FIELD = DATA / "field_inputs"
CSV = (FIELD / "wide.csv").read_text()
M = 1024**2


def times(rows) -> dict:
    return {(row.competitor, row.size_bytes): round(row.time_s * 1e6, 6) for row in rows}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("wide.csv", {("ring", M): 2287.61, ("knomial", 2 * M): 983.58, ("tuned", 64 * M): 314291.89}),
        ("wide.md", {("UCC Ring", M): 2287.61, ("UCC Knomial", 2 * M): 983.58, ("OMPI Tuned", 64 * M): 314291.89}),
        ("gloo158.tsv", {("NCCL", 1024): 160, ("gloo", 1024): 39, ("gloo", 256 << 10): 20161}),
    ],
)
def test_each_column_is_a_competitor(name, expected):
    assert times(read(FIELD / name)).items() >= expected.items()


def test_ranks_types_and_fields_without_a_time_are_taken(tmp_path):
    rows = read(log(tmp_path, "ranks,type,size,ring (ms),tree (ms)\n8,float,64K,1.5,-\n"))
    assert times(rows[:1]) == {("ring", 65536): 1500.0} and rows[1].state == "left out"
    assert {(row.ranks, row.dtype) for row in rows} == {(8, "float32")}


def test_a_markdown_table_of_a_row_a_cell_is_a_csv(tmp_path):
    text = "# Results\n\n| size_bytes | algorithm | time_us |\n|--:|---|--:|\n| 8 | ring | 1.5 |\n\nas expected\n"
    (row,) = read(log(tmp_path, text))
    assert (row.competitor, row.size_bytes, row.time_s, row.line) == ("ring", 8, pytest.approx(1.5e-6), 5)


def test_columns_of_other_collectives_are_left_out_and_statistics_are_no_competitors(tmp_path):
    text = CSV.replace("knomial_us", "allgather_us").replace("tuned_us", "all_to_all_us")
    assert {row.competitor for row in read(log(tmp_path, text))} == {"ring"}
    with pytest.raises(LogError, match="no row of an all-reduce"):
        read(log(tmp_path, text.replace("ring_us", "reduce_scatter_us")))
    assert recognise("size,min_us,ring_us\n8,1,2\n") != "wide CSV"
    assert recognise("size,median_us,ring_us\n8,1,2\n") == "csv"


def test_a_row_that_was_cut_off_is_left_out(tmp_path):
    with pytest.warns(LogWarning, match="may be cut off"):
        assert len(read(log(tmp_path, CSV.rstrip("\n")))) == 6


@pytest.mark.parametrize(("old", "new"), [("579.78", "fast"), ("1048576", "small"), ("579.78", "-5")])
def test_a_field_that_does_not_fit_is_refused(tmp_path, old, new):
    with pytest.raises(LogError, match=rf"a\.log, line 2: the \w+ is '{new}'"):
        read(log(tmp_path, CSV.replace(old, new, 1)))
