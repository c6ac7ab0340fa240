"""Logs of the OSU Micro-Benchmarks, with anything around them, cut off, or with odd values."""

import pytest
from made_logs import OSU, OTHER, US, log, times
from places import LOGS

from allreduce_bench.importers import LogError, LogWarning, read

EXPECTED = {4: 1.5, 8: 2.5, 16: 3.5}


def test_osu_keeps_iterations_validation_and_the_greatest_of_the_ranks():
    full, checked = (read(LOGS / f"osu_v7.4_2ranks_case{number}.txt") for number in (2, 3))
    assert [row.iterations for row in full] == [1000] * 12 + [100] * 3
    assert full[0].imb_t_max_s == pytest.approx(1.29 * US)
    assert {row.wrong for row in full} == {None} and {row.wrong for row in checked} == {0}
    assert [row.size_bytes for row in read(LOGS / "osu_v7.4_2ranks_case5.txt")] == [4 << power for power in range(15)]


@pytest.mark.parametrize(
    "text",
    [
        OSU,
        OSU.replace("\n", "\r\n"),
        "\ufeff" + OSU,
        OSU.encode("utf-16"),
        "".join(f"    {line}\n" for line in OSU.splitlines()),
        "WARNING: no fabric; 4 warnings\n" + OSU + "real 0m2.1s\nuser 0m1.0s\n",
        OSU.replace("8    ", "n1:77:77 [0] NCCL INFO 8 channels\n8    "),
        OTHER + OSU + OTHER,
        OSU.replace("1.50", "1.50  1.40  1.60  1000"),  # 7.3 prints -f below a header of two columns
        OSU.replace("Latency(us)\n", "Latency(us)\n# Datatype: MPI_CHAR.\n"),
        OSU.replace("MPI Allreduce", "MPI-CUDA Allreduce"),
        OSU.replace("# OSU MPI Allreduce Latency Test v5.8", "# OMB Python MPI Allreduce Test").replace(
            "Size       Avg Latency(us)", "Size (B)       Latency (us)"
        ),
    ],
    ids=["plain", "crlf", "bom", "utf-16", "indented", "talk", "nccl-info", "others",
         "wide", "datatype-late", "cuda", "python"],
)  # fmt: skip
def test_an_osu_log_is_read_whatever_is_around_it(tmp_path, text):
    assert times(read(log(tmp_path, text))) == EXPECTED


def test_the_times_of_omb_py_are_not_those_of_osu(tmp_path):
    row = read(log(tmp_path, "# OMB Python MPI Allreduce Test\n# Size (B)       Latency (us)\n4       1.50\n"))[0]
    assert (row.tool, row.version, row.time_definition) == ("OMB-Py", None, "omb_py_avg")


def test_each_table_of_an_osu_log_is_a_launch(tmp_path):
    rows = read(log(tmp_path, OSU + "Allreduce iteration 2\n" + OSU))
    assert len(rows) == 6 and len({row.launch for row in rows}) == 2
    again = OSU + "Allreduce iteration 2\n" + "\n".join(OSU.splitlines()[3:]) + "\n"  # without a banner of its own
    rows = read(log(tmp_path, again))
    assert len(rows) == 6 and len({row.launch for row in rows}) == 2


@pytest.mark.parametrize("cut", ["16       ", "16                      3.5", "16", "1"])
def test_a_row_that_was_cut_off_is_dropped_with_a_warning_that_names_it(tmp_path, cut):
    with pytest.warns(LogWarning, match=r"a\.log, line 6: .* left out"):
        rows = read(log(tmp_path, OSU[: OSU.index("16 ")] + cut))
    assert times(rows) == {4: 1.5, 8: 2.5}


def test_a_last_row_that_only_lacks_its_line_end_is_whole(tmp_path):
    assert times(read(log(tmp_path, OSU.rstrip("\n")))) == EXPECTED


def test_osu_datatypes_of_one_log_are_told_apart(tmp_path):
    head, table = OSU.split("\n# Size")
    text = f"{head}\n# Datatype: MPI_CHAR.\n# Size{table}# Datatype: MPI_DOUBLE.\n# Size{table.replace('4  ', '24 ')}"
    rows = read(log(tmp_path, text))
    assert {(row.dtype, row.size_bytes, row.count) for row in rows} >= {("char", 8, 8), ("float64", 8, 1)}


@pytest.mark.parametrize("word", ["Fail", "Pass"])
def test_a_failed_validation_makes_a_cell_wrong(tmp_path, word):
    text = OSU.replace("Latency(us)", "Latency(us)  Validation").replace("2.50", f"2.50  {word}")
    row = read(log(tmp_path, text))[1]
    assert (row.state, row.time_s) == (("wrong", None) if word == "Fail" else ("done", 2.5 * US))


@pytest.mark.parametrize("value", ["nan", "inf", "-1.00", "1e300", "1e-300"])
def test_a_time_that_is_none_is_refused_with_file_and_line(tmp_path, value):
    with pytest.raises(LogError, match=rf"a\.log, line 5: the time is '{value}"):
        read(log(tmp_path, OSU.replace("2.50", value)))


def test_a_time_of_0_is_a_cell_without_a_time(tmp_path):
    row = read(log(tmp_path, OSU.replace("2.50", "0.00")))[1]
    assert (row.time_s, row.state) == (None, "left out") and "0.00 us" in row.reason


def test_the_line_of_the_launcher_states_the_ranks(tmp_path):
    path = log(tmp_path, f"jsrun -n 64 -a 2 ./osu_allreduce{OSU}mpirun --hostfile h ./osu_allreduce{OSU}")
    assert [row.ranks for row in read(path)] == [128] * 3 + [None] * 3
