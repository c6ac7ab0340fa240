"""Logs of DeepSpeed's ds_bench: sizes that are rounded, raw numbers, other collectives, values that contradict."""

import pytest
from made_logs import US, log, times

from allreduce_bench.importers import LogError, LogWarning, read

HEAD = "---- Performance of all_reduce on 8 devices -----\nSize (Bytes)   Description   Duration   BusBW ({})\n-----\n"
TABLE = HEAD.format("Gbps") + "31.67 GB   8501054668x4   3176.620 ms   171.272   149.863\n"
OTHER = TABLE.replace("all_reduce", "all_gather")
M = 1024**2


def test_a_size_is_exact_where_elements_times_bytes_is_the_rounded_one(tmp_path):
    (row,) = read(log(tmp_path, TABLE))
    assert (row.size_bytes, row.ranks, row.time_s) == (8501054668 * 4, 8, pytest.approx(3.17662))
    (row,) = read(log(tmp_path, HEAD.format("Gbps") + "1.0 MB   524288x1   61.53 us   136.3   238.6\n"))
    assert (row.size_bytes, row.time_s) == (M, pytest.approx(61.53 * US))


def test_raw_numbers_have_no_units_and_a_launcher_may_stand_before_them(tmp_path):
    text = HEAD.format("GBps") + f"{M}   {M // 4}x4   172.352   6.084   10.647\n"
    assert times(read(log(tmp_path, text))) == {M: 172.352}
    assert times(read(log(tmp_path, "".join(f"n1: {line}\n" for line in text.splitlines())))) == {M: 172.352}


def test_each_table_is_a_launch_and_other_collectives_are_none(tmp_path):
    rows = read(log(tmp_path, OTHER + TABLE + OTHER + TABLE))
    assert len(rows) == 2 and len({row.launch for row in rows}) == 2


@pytest.mark.parametrize("what", ["31.67 GB   8501054668x4   3176.620 ms", "31.67 GB   85010"])
def test_half_rows_are_left_out_and_named(tmp_path, what):
    with pytest.warns(LogWarning, match="line 5: .* no whole row"):
        assert len(read(log(tmp_path, f"{TABLE}{what}\n"))) == 1


def test_values_that_contradict_each_other_are_refused(tmp_path):
    with pytest.raises(LogError, match="line 4: size, duration and bus bandwidth contradict"):
        read(log(tmp_path, TABLE.replace("8 devices", "2 devices")))
