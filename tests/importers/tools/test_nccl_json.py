"""The JSON of nccl-tests."""

import pytest
from made_logs import log, nccl_json, result, times
from places import DATA

from allreduce_bench.importers import Asked, LogError, read


def test_the_json_of_nccl_tests(tmp_path):
    good = {"time": 10.5, "alg_bw": 0.8, "bus_bw": 1.4, "nwrong": 0.0}
    rows = read(log(tmp_path, nccl_json(result(8, good), result(16, {**good, "nwrong": 3.0}), result(32, None))))
    assert [(row.ranks, row.nodes, row.dtype, row.iterations) for row in rows] == [(8, 2, "float32", 20)] * 3
    assert [row.state for row in rows] == ["done", "wrong", "skipped"] and times(rows) == {8: 10.5}
    assert rows[0].facts["mpi"]["library"] == "NCCL 2.28.7" and "SECRET" not in repr(rows)
    with pytest.raises(LogError, match="in-place time in its results"):
        read(log(tmp_path, nccl_json(result(8, good))), Asked(in_place=True))
    with pytest.raises(LogError, match="line 1: damaged JSON"):
        read(log(tmp_path, nccl_json(result(8, good))[:-30]))
    with pytest.raises(LogError, match="a result lacks one of size, count, type, redop"):
        read(log(tmp_path, nccl_json({**result(8, good), "redop": None}).replace('"redop"', '"operation"')))
    with pytest.raises(LogError, match="found: all_gather"):
        read(log(tmp_path, nccl_json(result(8, good)).replace("all_reduce", "all_gather")))
    with pytest.raises(LogError, match="not an all-reduce: root 0"):  # no program is named
        read(log(tmp_path, nccl_json(result(8, good) | {"root": 0}).replace("all_reduce_perf", "")))


def test_percentiles_of_each_iteration_are_kept(tmp_path):
    good = {"time": 10.5, "alg_bw": 0.8, "bus_bw": 1.4, "nwrong": 0.0}
    more = {"out_of_place_per_iter": {"p50_us": 10.0, "p95_us": 12.0, "p99_us": 13.0, "stdev_us": 1.0}}
    (row,) = read(log(tmp_path, nccl_json(result(8, good) | more)))
    assert row.quantiles_s == pytest.approx({50: 10e-6, 95: 12e-6, 99: 13e-6})


def test_the_structured_output_of_a_fork_may_stand_behind_warnings(tmp_path):
    text = (DATA / "field_inputs" / "meta.json").read_text()
    (row,) = read(log(tmp_path, text), Asked(in_place=True))
    assert (row.size_bytes, row.ranks, row.wrong, row.library) == (32 << 20, 8, 0, "NCCL 2.26.6")
    assert row.time_s == pytest.approx(489.6e-6)
    with pytest.raises(LogError, match=r"busbw / algbw is not 2\(p-1\)/p"):
        read(log(tmp_path, text.replace("118.8", "33.9")))
    with pytest.raises(LogError, match="not an all-reduce: root 0"):
        read(log(tmp_path, text.replace('"-1"', '"0"')))
