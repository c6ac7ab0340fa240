"""Logs of the Intel MPI Benchmarks: their failures in words, their defects, their other benchmarks."""

import pytest
from made_logs import IMB, US, log
from places import LOGS

from allreduce_bench.importers import LogError, LogWarning, read


def test_imb_keeps_its_other_times_and_what_its_head_says():
    row = read(LOGS / "imb_2021.11_check_defects_2ranks.txt")[1]
    assert (row.time_s, row.osu_avg_s) == pytest.approx((1.07 * US, 0.91 * US))
    assert (row.count, row.iterations, row.wrong) == (1, 100, 0)
    assert row.facts["mpi"] == {"mpi_standard": "5.0"} and row.facts["machines"][0]["kernel"].startswith("Linux 6")


def test_imb_failures_in_words_are_cells_without_a_time(tmp_path):
    text = IMB.replace(
        "32768          100       544.51       545.20       544.85", '32768 out-of-mem.; use flag "-mem X"'
    )
    text = text.replace("65536          100       355.20       369.61       362.41", "65536 10 time-out.; over")
    text = text.replace("16384          100        13.67        14.21        13.94", "16384 int-overflow.; rank*size")
    states = {row.size_bytes: (row.state, row.reason) for row in read(log(tmp_path, text)) if row.ranks == 2}
    assert states[32768] == ("skipped", 'the log says: out-of-mem.; use flag "-mem X"')
    assert states[65536] == ("left out", "the log says: time-out.; over")
    assert states[16384] == ("skipped", "the log says: int-overflow.; rank*size") and states[4][0] == "done"


def test_imb_defects_make_a_cell_wrong(tmp_path):
    text = (
        (LOGS / "imb_2021.11_check_defects_2ranks.txt")
        .read_text()
        .replace("1.05         0.89         0.00", "1.05  0.89  2.00")
    )
    assert [row.size_bytes for row in read(log(tmp_path, text)) if row.state == "wrong"] == [32]


def test_of_several_imb_benchmarks_only_allreduce_is_read(tmp_path):
    other = IMB[IMB.index("#---", 200) :].replace("Benchmarking Allreduce", "Benchmarking Reduce")
    multi = IMB[IMB.index("# Benchmarking") :].replace("Benchmarking Allreduce", "Benchmarking Multi-Allreduce")
    with pytest.warns(LogWarning, match="Multi-Allreduce; left out"):
        assert len(read(log(tmp_path, IMB + other + multi))) == 32
    with pytest.raises(LogError, match="found: Reduce, Multi-Allreduce"):
        read(log(tmp_path, IMB[: IMB.index("# Benchmarking")] + other + multi))


def test_an_imb_row_that_was_cut_off_is_dropped_with_a_warning(tmp_path):
    with pytest.warns(LogWarning, match=r"line 50: .*left out"):
        rows = read(log(tmp_path, IMB[: IMB.index("545.20")]))
    assert len(rows) == 14


def test_an_imb_header_with_a_damaged_column_begins_no_table(tmp_path):
    """The damage that tests/studies/damaged_inputs.py found: `#repetitions-x` was taken for the column."""
    with pytest.raises(LogError, match="all-reduce up"):
        read(log(tmp_path, IMB.replace("#repetitions ", "#repetitions-x ")))
