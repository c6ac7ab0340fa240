"""The JSON of nccl-tests."""

import pytest
from made_logs import log, nccl_json, result, times

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
    with pytest.raises(LogError, match="found: all_gather"):
        read(log(tmp_path, nccl_json(result(8, good)).replace("all_reduce", "all_gather")))
    with pytest.raises(LogError, match="not an all-reduce: root 0"):  # no program is named
        read(log(tmp_path, nccl_json(result(8, good) | {"root": 0}).replace("all_reduce_perf", "")))
