"""CSV files with one row a cell."""

import pytest
from made_logs import CSV, log, times

from allreduce_bench.importers import Asked, LogError, LogWarning, points, read


def test_columns_of_a_csv_are_told_by_their_names(tmp_path):
    rows = read(log(tmp_path, CSV))
    assert [(row.ranks, row.nodes, row.launch, row.competitor, row.count) for row in rows[1:]] == [
        (8, 4, "1", "tree", 16),
        (4, 4, "2", "ring", 16),
    ]
    assert [row.time_s for row in rows] == pytest.approx([2e-6, 1e-6, 4e-6])
    assert {row.time_definition for row in rows} == {"csv_median_ns"}
    means = read(log(tmp_path, CSV), Asked(columns={"time_s": "mean_ns"}))
    assert [row.time_s for row in means] == pytest.approx([9e-6] * 3)
    found = points(log(tmp_path, CSV, "a.csv"))
    assert list(found["run"]) == ["here, 2 ranks per node"] * 2 + ["there, 1 rank per node"]


@pytest.mark.parametrize("name, rate", [("busbw_GBps", 1.5e9), ("busbw (GB/s)", 1.5e9), ("busbw_Gbit/s", 1.5e9 / 8)])
def test_a_bus_bandwidth_is_a_time_of_its_ranks(tmp_path, name, rate):
    (row,) = read(log(tmp_path, f"ranks,size_bytes,time_s,{name}\n4,1000,,1.5\n"))
    assert row.time_s == pytest.approx(1000 * 2 * 3 / 4 / rate)
    with pytest.raises(LogError, match="bandwidth needs"):
        read(log(tmp_path, f"size_bytes,{name}\n1000,1.5\n"))
    (row,) = read(log(tmp_path, f"size_bytes,{name}\n1000,1.5\n"), Asked(ranks=4))
    assert row.time_s == pytest.approx(1000 * 2 * 3 / 4 / rate)


@pytest.mark.parametrize(
    "text, columns, words",
    [
        ("ranks,size_bytes,time\n4,8,2\n", {}, "line 1: no column.*--column time_us=COLUMN.* ranks, size_bytes, time"),
        ("ranks,time_s\n4,2\n", {}, "line 1: no column.*--column size_bytes=COLUMN"),
        ("ranks,size_bytes,time_s\n4,8,fast\n", {}, "line 2: time_s is 'fast'"),
        ("ranks,size_bytes,time_s\n4.5,8,1\n", {}, "line 2: the number of ranks is '4.5'"),
        ("ranks,size_bytes,time_s\n4,8,1\n4,8\n4,8,1\n", {}, "line 3: 2 fields, expected 3"),
        ("ranks,size_bytes,time_s\n", {}, "line 1: no row"),
        ("# by hand\nranks,size_bytes,time_s\n4,x,1\n", {}, "line 3: size_bytes is 'x'"),
        ("ranks,size_bytes,time_s\n4,8,1\n", {"time_us": "speed"}, "no column 'speed'"),
        ("ranks,size_bytes,speed\n4,8,1\n", {"time": "speed"}, "unit is missing"),
        ("ranks,size_bytes,speed\n4,8,1\n", {"mood": "speed"}, "unknown 'mood'"),
        ("ranks,count,time_s\n4,8,1\n", {}, "line 2: the type"),
    ],
)
def test_a_csv_that_lacks_something_says_what(tmp_path, text, columns, words):
    with pytest.raises(LogError, match=words):
        read(log(tmp_path, text), Asked(columns=columns))


def test_a_csv_row_that_may_be_cut_off_is_dropped_with_a_warning(tmp_path):
    with pytest.warns(LogWarning, match="line 3.*line end"):
        assert len(read(log(tmp_path, "ranks,size_bytes,time_s\n4,8,1\n4,16,2.5"))) == 1


def test_a_column_name_may_name_collectives(tmp_path):
    text = "name,ranks,size_bytes,time_us\nAllReduce,2,8,1.0\nBroadcast,2,8,2.0\nof mine,2,16,3.0\n"
    assert [row.time_s for row in read(log(tmp_path, text))] == pytest.approx([1e-6, 3e-6])


def test_other_collectives_and_quoted_fields_of_a_csv(tmp_path):
    text = 'collective,ranks,size_bytes,time_us,note\nMPI_Allreduce,4,8,1,"a,b"\nbcast,4,8,2,c\nALLREDUCE,4,16,3,\n'
    with pytest.warns(LogWarning, match="column 'note'"):
        assert times(read(log(tmp_path, text))) == {8: 1, 16: 3}


def test_wrong_elements_make_a_cell_wrong(tmp_path):
    rows = read(log(tmp_path, "ranks,size_bytes,time_us,#wrong\n4,8,1,0\n4,16,1,3\n"))
    assert [(row.state, row.wrong) for row in rows] == [("done", 0), ("wrong", 3)]
