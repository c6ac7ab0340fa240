"""Logs of ucc_perftest: with and without bandwidths, whose ranks stand nowhere else."""

import pytest
from made_logs import US, log, times
from places import DATA

from allreduce_bench.importers import read

FULL = (DATA / "field_inputs" / "ucc_perftest.txt").read_text()
SHORT = "".join(f"{line[:60].rstrip()}\n" if line[:12].strip().isdigit() else f"{line}\n" for line in FULL.splitlines())
EXPECTED = {8: 4.46, 262144: 76.46, 1048576: 211.42}


def test_the_mean_is_the_time_and_the_longest_is_kept(tmp_path):
    rows = read(log(tmp_path, FULL))
    assert times(rows) == EXPECTED and {row.ranks for row in rows} == {4}
    assert (rows[0].dtype, rows[0].op, rows[0].in_place, rows[0].count) == ("float32", "sum", False, 2)
    assert rows[0].imb_t_max_s == pytest.approx(4.9 * US)


def test_without_bandwidths_the_launcher_states_the_ranks(tmp_path):
    assert {row.ranks for row in read(log(tmp_path, SHORT))} == {None}
    assert {row.ranks for row in read(log(tmp_path, f"mpirun -np 4 ucc_perftest -c allreduce\n{SHORT}"))} == {4}
    assert times(read(log(tmp_path, SHORT))) == EXPECTED
