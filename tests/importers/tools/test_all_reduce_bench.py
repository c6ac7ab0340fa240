"""Logs of PyTorch's all_reduce_bench.py: the table of a scan, and the two lines of older ones."""

import pytest
from made_logs import log
from places import DATA

from allreduce_bench.importers import LogError, read

SCAN = (DATA / "field_inputs" / "stas.txt").read_text()
OLD = """\
The average bandwidth of all_reduce with a 4.0GB payload (50 trials, 16 ranks):
 algbw: 239.742 GBps (1917.9 Gbps)
 busbw: 449.515 GBps (3596.1 Gbps)
"""


def test_a_time_is_the_size_over_algbw(tmp_path):
    rows = read(log(tmp_path, SCAN))
    assert [row.size_bytes for row in rows] == [32 << 10, 1 << 20, 1 << 30]
    assert [row.time_s for row in rows] == pytest.approx([32768 / 0.6e9, 2**20 / 18.91e9, 2**30 / 257.2e9])
    assert {(row.ranks, row.dtype, row.library) for row in rows} == {(8, "float32", "NCCL 2.27.7")}


def test_older_ones_time_one_payload_and_a_role_may_stand_before_it(tmp_path):
    for text in (OLD, "".join(f"[gke-a3-1:0]:{line}\n" for line in OLD.splitlines())):
        (row,) = read(log(tmp_path, text))
        assert (row.size_bytes, row.ranks, row.time_s) == (4 * 10**9, 16, pytest.approx(4 / 239.742))


def test_ranks_that_the_bandwidths_contradict_are_refused(tmp_path):
    with pytest.raises(LogError, match=r"line 9: 4 ranks, but busbw / algbw is not 2\(p-1\)/p of 4"):
        read(log(tmp_path, SCAN.replace("over 8 ranks", "over 4 ranks")))
