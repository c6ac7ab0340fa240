"""Logs of other tools: what stands in every file of data/logs, counted by hand, and what logs do to their readers."""

import json
import random
import warnings
from pathlib import Path

import pandas as pd
import pytest
from places import LOGS

from allreduce_bench.importers import Asked, Imported, LogError, LogWarning, points, read, recognise
from allreduce_bench.models.points import POINTS

US = 1e-6
K, M, G = 1024, 1024**2, 1024**3
CASES = {  # file -> rows, {ranks: nodes}, first and last size, first and last time in us, type, definition
    "imb_2021.11_check_defects_2ranks.txt": (12, {2: None}, 0, 4 * K, 0.18, 139.81, "float32", "imb_t_max"),
    "imb_2021.11_real_4ranks_npmin2.txt": (32, {2: None, 4: None}, 0, 64 * K, 0.27, 143391.81, "float32", "imb_t_max"),
    "nccl_allreduce_old_error_col.log": (34, {8: 1}, 0, 8 * G, 35.20, 63896, "float32", "nccl_tests"),
    "nccl_cscs_alps_8xGH200_no_hook_bad.txt": (25, {8: 2}, 8, 128 * M, 85.47, 43293, "float32", "nccl_tests"),
    "nccl_cscs_alps_8xGH200_ofi_hook_good.txt": (25, {8: 2}, 8, 128 * M, 17.93, 1916.4, "float32", "nccl_tests"),
    "nccl_msccl_leaderboard_headerless.txt": (19, {8: None}, 128, 32 * M, 15.03, 379.5, "float32", "nccl_tests"),
    "osu_v5.6.2_stackhpc_csd3.txt": (19, {None: None}, 4, M, 5.23, 1570.95, None, "osu_avg"),
    "osu_v5.8_cuda_flux_16nodes.txt": (19, {128: 16}, 4, M, 337.07, 3982.10, None, "osu_avg"),
    "osu_v5.8_eks_256nodes_24576ranks.out": (19, {24576: 256}, 4, M, 4162.54, 17038.19, None, "osu_avg"),
    "osu_v7.4_2ranks_case1.txt": (15, {None: None}, 4, 64 * K, 1.05, 601.88, "char", "osu_avg"),
    "osu_v7.4_2ranks_case2.txt": (15, {None: None}, 4, 64 * K, 1.15, 21537.05, "char", "osu_avg"),
    "osu_v7.4_2ranks_case3.txt": (15, {None: None}, 4, 64 * K, 1.06, 356.00, "char", "osu_avg"),
    "osu_v7.4_2ranks_case5.txt": (15, {None: None}, 4, 64 * K, 0.95, 79.84, "char", "osu_avg"),
}


def log(folder: Path, text: str | bytes, name: str = "a.log") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def times(rows: list[Imported]) -> dict[int, float]:
    """Microseconds of each size."""
    return {row.nbytes: round(row.time_s / US, 6) for row in rows if row.time_s}


@pytest.mark.parametrize("name", CASES)
def test_every_log_has_the_rows_ranks_and_units_that_were_counted_by_hand(name):
    count, layout, first, last, first_us, last_us, dtype, definition = CASES[name]
    rows = read(LOGS / name)
    assert len(rows) == count and all(row.time_s for row in rows)
    assert {row.ranks: row.nodes for row in rows} == layout
    assert (rows[0].nbytes, rows[-1].nbytes) == (first, last)
    assert (rows[0].time_s / US, rows[-1].time_s / US) == pytest.approx((first_us, last_us))
    assert {row.dtype for row in rows} == {dtype} and {row.time_definition for row in rows} == {definition}
    assert {(row.algorithm, row.executor, row.op) for row in rows} == {("native", "native", "sum")}


def test_every_log_is_a_case():
    assert {path.name for path in LOGS.iterdir()} == {*CASES, "README.md"}


def test_versions_are_those_of_the_banners():
    versions = {name: read(LOGS / name)[0].version for name in CASES}
    assert versions["osu_v5.6.2_stackhpc_csd3.txt"] == "5.6.3"  # whatever the file is called
    assert versions["osu_v5.8_cuda_flux_16nodes.txt"] == "5.8"
    assert versions["imb_2021.11_check_defects_2ranks.txt"] == "2021.11"


def test_osu_keeps_iterations_validation_and_the_least_and_greatest_of_the_ranks():
    full, checked = (read(LOGS / f"osu_v7.4_2ranks_case{number}.txt") for number in (2, 3))
    assert [row.iterations for row in full] == [1000] * 12 + [100] * 3
    assert full[0].shortest_s == pytest.approx(1.01 * US) and full[0].imb_t_max_s == pytest.approx(1.29 * US)
    assert {row.wrong for row in full} == {None} and {row.wrong for row in checked} == {0}
    assert [row.nbytes for row in read(LOGS / "osu_v7.4_2ranks_case5.txt")] == [4 << power for power in range(15)]


def test_imb_keeps_its_other_times_and_what_its_head_says():
    row = read(LOGS / "imb_2021.11_check_defects_2ranks.txt")[1]
    assert (row.shortest_s, row.time_s, row.osu_avg_s) == pytest.approx((0.76 * US, 1.07 * US, 0.91 * US))
    assert (row.count, row.iterations, row.wrong) == (1, 100, 0)
    assert row.facts["mpi"] == {"mpi_standard": "5.0"} and row.facts["machines"][0]["kernel"].startswith("Linux 6")


def test_the_other_half_of_nccl_tests_is_asked_for():
    path = LOGS / "nccl_cscs_alps_8xGH200_ofi_hook_good.txt"
    assert times(read(path))[128 * M] == 1916.4 and {row.iterations for row in read(path)} == {20}
    assert times(read(path, Asked(in_place=True)))[128 * M] == 1907.8
    assert {row.in_place for row in read(path, Asked(in_place=True))} == {True}


OSU = """
# OSU MPI Allreduce Latency Test v5.8
# Size       Avg Latency(us)
4                       1.50
8                       2.50
16                      3.50
"""
OTHER = OSU.replace("Allreduce", "Alltoall").replace("1.50", "9.50")
EXPECTED = {4: 1.5, 8: 2.5, 16: 3.5}


@pytest.mark.parametrize(
    "text",
    [
        OSU,
        OSU.replace("\n", "\r\n"),
        "\ufeff" + OSU,
        OSU.encode("utf-16"),
        "".join(f"[1,0]<stdout>:{line}\n" for line in OSU.splitlines()),
        "".join(f"[prterun-n1-77@1,0]<stdout>: {line}\n" for line in OSU.splitlines()),
        "".join(f"    {line}\n" for line in OSU.splitlines()),
        "".join(f"0: {line}\n" for line in OSU.splitlines()),
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
    ids=["plain", "crlf", "bom", "utf-16", "tagged", "tagged-5", "indented", "srun-l", "talk", "nccl-info", "others",
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
    assert {(row.dtype, row.nbytes, row.count) for row in rows} >= {("char", 8, 8), ("float64", 8, 1)}


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


@pytest.mark.parametrize(
    "text, words",
    [
        (b"", "line 1: empty"),
        (b" \n\n", "line 1: empty"),
        (bytes(range(256)) * 20, "line 1: binary"),
        (b"\x1f\x8b\x08" + bytes(100), "line 1: compressed by gzip"),
        ("\nDear diary,\ntoday nothing was reduced\n", "line 2: no log that is known"),
        (OTHER, r"line \d: no row of an all-reduce up to here; found: MPI Alltoall"),
        (OSU[: OSU.index("4 ")], "no row of an all-reduce"),
        ("a,b\n1,2\n", "line 1: no log that is known"),
        (OSU.replace("Allreduce", "Iallreduce"), "found: MPI Iallreduce"),
        ("{}", "line 1: no log"),
    ],
)
def test_what_is_no_log_is_refused_in_one_line(tmp_path, text, words):
    with pytest.raises(LogError, match=words) as refusal:
        read(log(tmp_path, text))
    assert str(tmp_path) in str(refusal.value) and "\n" not in str(refusal.value)


def test_a_log_that_is_absent_is_named(tmp_path):
    with pytest.raises(LogError, match="no such file"):
        read(tmp_path / "none.log")


def test_options_fill_in_what_a_log_does_not_say_and_contradict_nothing(tmp_path):
    path = log(tmp_path, OSU)
    row = read(path, Asked(ranks=64, nodes=2, dtype="double", algorithm="native:ring", where={"nbytes": "8"}))[0]
    assert (row.ranks, row.nodes, row.dtype, row.count, row.algorithm) == (64, 2, "float64", 1, "native:ring")
    with pytest.raises(LogError, match="line 4: 4 bytes are no whole number of elements of float64"):
        read(path, Asked(dtype="float64"))
    with pytest.raises(LogError, match="--ranks 2, but the log says 24576"):
        read(LOGS / "osu_v5.8_eks_256nodes_24576ranks.out", Asked(ranks=2))
    with pytest.raises(LogError, match="2 ranks on 4 nodes"):
        read(path, Asked(ranks=2, nodes=4))
    with pytest.raises(LogError, match="no column 'mood'"):
        read(path, Asked(where={"mood": "good"}))
    with pytest.raises(LogError, match="none of its 3 rows has nbytes=5"):
        read(path, Asked(where={"nbytes": "5"}))
    with pytest.raises(LogError, match="--in-place"):
        read(path, Asked(in_place=True))


IMB = (LOGS / "imb_2021.11_real_4ranks_npmin2.txt").read_text()


def test_imb_failures_in_words_are_cells_without_a_time(tmp_path):
    text = IMB.replace(
        "32768          100       544.51       545.20       544.85", '32768 out-of-mem.; use flag "-mem X"'
    )
    text = text.replace("65536          100       355.20       369.61       362.41", "65536 10 time-out.; over")
    text = text.replace("16384          100        13.67        14.21        13.94", "16384 int-overflow.; rank*size")
    states = {row.nbytes: (row.state, row.reason) for row in read(log(tmp_path, text)) if row.ranks == 2}
    assert states[32768] == ("skipped", 'the log says: out-of-mem.; use flag "-mem X"')
    assert states[65536] == ("left out", "the log says: time-out.; over")
    assert states[16384] == ("skipped", "the log says: int-overflow.; rank*size") and states[4][0] == "done"


def test_imb_defects_make_a_cell_wrong(tmp_path):
    text = (
        (LOGS / "imb_2021.11_check_defects_2ranks.txt")
        .read_text()
        .replace("1.05         0.89         0.00", "1.05  0.89  2.00")
    )
    assert [row.nbytes for row in read(log(tmp_path, text)) if row.state == "wrong"] == [32]


def test_of_several_imb_benchmarks_only_allreduce_is_read(tmp_path):
    other = IMB[IMB.index("#---", 200) :].replace("Benchmarking Allreduce", "Benchmarking Reduce")
    multi = IMB[IMB.index("# Benchmarking") :].replace("Benchmarking Allreduce", "Benchmarking Multi-Allreduce")
    assert len(read(log(tmp_path, IMB + other + multi))) == 32
    with pytest.raises(LogError, match="found: Reduce, Multi-Allreduce"):
        read(log(tmp_path, IMB[: IMB.index("# Benchmarking")] + other + multi))


def test_an_imb_row_that_was_cut_off_is_dropped_with_a_warning(tmp_path):
    with pytest.warns(LogWarning, match=r"line 50: .*left out"):
        rows = read(log(tmp_path, IMB[: IMB.index("545.20")]))
    assert len(rows) == 14


NCCL = (LOGS / "nccl_cscs_alps_8xGH200_ofi_hook_good.txt").read_text()
BARE = (LOGS / "nccl_msccl_leaderboard_headerless.txt").read_text()


def test_a_blank_redop_and_an_absent_root_move_no_column(tmp_path):
    blank = read(log(tmp_path, NCCL.replace("   sum ", "       ")))
    assert times(blank) == times(read(log(tmp_path, NCCL))) and {row.op for row in blank} == {None}
    assert times(read(log(tmp_path, BARE.replace("   sum ", "       "))))[128] == 15.03


def test_columns_of_each_iteration_stamps_and_columns_to_come_are_survived(tmp_path):
    names = "i_min   i_max   i_p99   i_cv%"

    def wide(line: str) -> str:
        words = line.split()
        more = ["1.0", "99.0", "98.0", "5.0"]
        return " ".join([*words[:9], *more, *words[9:], *more, "2026-07-09 10:11:12"])

    lines = [wide(line) if line[:1] == " " else line.replace("#wrong", f"#wrong {names}") for line in NCCL.splitlines()]
    for in_place in (False, True):
        asked = Asked(in_place=in_place)
        assert times(read(log(tmp_path, "\n".join(lines) + "\n"), asked)) == times(
            read(log(tmp_path, NCCL, "b"), asked)
        )
    later = NCCL.replace("      0\n", "      0   ring  LL128\n")
    assert times(read(log(tmp_path, later), Asked(in_place=True)))[128 * M] == 1907.8


def test_wrong_elements_make_a_cell_wrong_and_unchecked_ones_do_not(tmp_path):
    text = NCCL.replace("1916.4   70.04  122.57      0", "1916.4   70.04  122.57      7")
    text = text.replace("1090.5   61.54  107.69      0", "1090.5   61.54  107.69    N/A")
    last, before = read(log(tmp_path, text))[:-3:-1]
    assert (last.state, last.wrong, last.reason) == ("wrong", 7, "the log says: 7 wrong elements")
    assert (before.state, before.wrong) == ("done", None)


def test_ranks_follow_from_the_rates_or_are_contradicted_by_them(tmp_path):
    assert {row.ranks for row in read(log(tmp_path, BARE))} == {8}  # 2(p-1)/p = 1.75
    small = "\n".join(BARE.splitlines()[:3]) + "\n"  # rates of two digits fit many
    assert {row.ranks for row in read(log(tmp_path, small))} == {None}
    with pytest.raises(LogError, match=r"4 ranks are named above, but busbw / algbw is not"):
        read(log(tmp_path, "".join(line for line in NCCL.splitlines(keepends=True) if "nid005487" not in line)))


def test_other_collectives_of_nccl_tests_are_no_all_reduce(tmp_path):
    other = NCCL.replace("all_reduce_perf", "reduce_scatter_perf").replace("17.93", "99.99")
    assert times(read(log(tmp_path, other + NCCL + other)))[8] == 17.93
    with pytest.raises(LogError, match="found: reduce_scatter"):
        read(log(tmp_path, other))
    with pytest.raises(LogError, match="bus bandwidth is not that of an all-reduce"):  # no program is named
        read(
            log(
                tmp_path,
                "".join(
                    f"{8 << i} {2 << i} float sum 10.0 {i}.00 {i / 2:.2f} 0 10.0 {i}.00 {i / 2:.2f} 0\n"
                    for i in range(2, 9)
                ),
            )
        )


def test_an_old_log_with_errors_out_of_bounds_warns(tmp_path):
    text = (LOGS / "nccl_allreduce_old_error_col.log").read_text().replace("N/A", "1e-07")
    assert {row.wrong for row in read(log(tmp_path, text))} == {0}
    with pytest.warns(LogWarning, match="results out of bounds, and the log does not say at which size"):
        rows = read(log(tmp_path, text.replace(": 0 OK", ": 1 FAILED")))
    assert {row.wrong for row in rows} == {None}


def test_lines_of_nccl_itself_and_cut_rows_are_left_out(tmp_path):
    text = NCCL.replace("\n    67108864", "\nn1:77:79 [0] NCCL INFO Connected all rings\n    67108864")
    assert len(read(log(tmp_path, text))) == 25
    with pytest.warns(LogWarning, match="line 41: .*left out"):
        assert len(read(log(tmp_path, NCCL[: NCCL.index("1907.8")]))) == 24


def result(nbytes: int, half: dict | None) -> dict:
    row = {"size": nbytes, "count": nbytes // 4, "type": "float", "redop": "sum", "root": "    -1"}
    return row | {"out_of_place": half, "in_place": None, "actual_iterations": 20, "experiment_name": "all_reduce_perf"}


def nccl_json(*results: dict) -> str:
    device = {"group": 0, "device": 0}
    devices = [{"rank": rank, "hostname": f"n{rank}", **device} for rank in (0, 4)]
    head = {"version": 2, "args": ["./all_reduce_perf"], "env": ["SECRET=1"], "nccl_version": 22807}
    return json.dumps({**head, "config": {"nthreads": 1, "ngpus": 4, "devices": devices}, "results": results})


def test_the_json_of_nccl_tests(tmp_path):
    good = {"time": 10.5, "alg_bw": 0.8, "bus_bw": 1.4, "nwrong": 0.0}
    rows = read(log(tmp_path, nccl_json(result(8, good), result(16, {**good, "nwrong": 3.0}), result(32, None))))
    assert [(row.ranks, row.nodes, row.dtype, row.iterations) for row in rows] == [(8, 2, "float32", 20)] * 3
    assert [row.state for row in rows] == ["done", "wrong", "skipped"] and times(rows) == {8: 10.5}
    assert rows[0].facts["mpi"]["library"] == "NCCL 2.28.7" and "SECRET" not in repr(rows)
    with pytest.raises(LogError, match="no in-place time"):
        read(log(tmp_path, nccl_json(result(8, good))), Asked(in_place=True))
    with pytest.raises(LogError, match="line 1: damaged JSON"):
        read(log(tmp_path, nccl_json(result(8, good))[:-30]))
    with pytest.raises(LogError, match="found: all_gather"):
        read(log(tmp_path, nccl_json(result(8, good)).replace("all_reduce", "all_gather")))


def pico(folder: Path, collective: str = "ALLREDUCE") -> Path:
    """A result folder with ten calls of two algorithms; the first two are slow."""
    test = folder / "results" / "fugaku" / "2025_03_26" / "0"
    test.mkdir(parents=True)
    head = "timestamp,test_id,nnodes,tasks_per_node,collective_type,mpi_lib,mpi_lib_version,MPI_Op\r\n"
    line = f"2025_03_26,0,2x2x2,4,{collective},FJMPI,4.0.1,MPI_SUM\r\n"
    (folder / "results" / "fugaku_metadata.csv").write_text(head + line)
    (test / "alloc.csv").write_text("MPI_Rank,allocation\n0,n1\n")
    for name, ns in (("64_ring_over_int32.csv", 2000), ("512_rabenseifner_over_16384_int64.csv", 3000)):
        calls = [90000, 80000, *(ns + number for number in range(8))]
        (test / name).write_text("highest,rank0\n" + "".join(f"{call},1\n" for call in calls))
    return test


def test_a_pico_folder_keeps_its_calls_without_the_first_fifth(tmp_path):
    test = pico(tmp_path)
    for path in (test, test.parent, tmp_path / "results"):
        rows = {row.algorithm: row for row in read(path)}
        ring, other = rows["ring_over"], rows["rabenseifner_over_16384"]
        assert (ring.ranks, ring.nodes, ring.count, ring.nbytes, ring.dtype) == (32, 8, 64, 256, "int32")
        assert (other.count, other.nbytes, other.dtype, other.op) == (512, 4096, "int64", "sum")
        assert (ring.executor, ring.system, ring.calls, ring.warmups) == ("imported", "fugaku", 8, 2)
        assert (ring.time_s, other.time_s) == pytest.approx((2003.5e-9, 3003.5e-9))
    assert read(test / "64_ring_over_int32.csv")[0].ranks == 32


def test_a_pico_folder_of_another_collective_or_a_damaged_one_is_refused(tmp_path):
    test = pico(tmp_path, "ALLGATHER")
    with pytest.raises(LogError, match="the metadata name no all-reduce"):
        read(test)
    (tmp_path / "empty").mkdir()
    with pytest.raises(LogError, match="no file <count>_<algorithm>_<type>.csv"):
        read(tmp_path / "empty")
    (tmp_path / "results" / "fugaku_metadata.csv").unlink()
    (test / "64_ring_over_int32.csv").write_text("highest\n10\nten\n")
    with pytest.raises(LogError, match="int32.csv, line 3: the time is 'ten'"):
        read(test)


CSV = """\
system,job,nodes,ppn,algo,type,bytes,median_ns,mean_ns
here,1,4,2,ring,int32,64,2000,9000
here,1,4,2,tree,int32,64,1000,9000
there,2,4,1,ring,int32,64,4000,9000
"""


def test_columns_of_a_csv_are_told_by_their_names(tmp_path):
    rows = read(log(tmp_path, CSV))
    assert [(row.ranks, row.nodes, row.launch, row.algorithm, row.count) for row in rows[1:]] == [
        (8, 4, "1", "tree", 16),
        (4, 4, "2", "ring", 16),
    ]
    assert [row.time_s for row in rows] == pytest.approx([2e-6, 1e-6, 4e-6])
    assert {row.time_definition for row in rows} == {"csv_median_ns"}
    means = read(log(tmp_path, CSV), Asked(columns={"time_s": "mean_ns"}))
    assert [row.time_s for row in means] == pytest.approx([9e-6] * 3)
    found = points(log(tmp_path, CSV, "a.csv"))
    assert list(found["run"]) == ["here, 2 ranks per node"] * 2 + ["there, 1 rank per node"]


@pytest.mark.parametrize(
    "name, seconds",
    [("time_s", 2.0), ("latency_us", 2e-6), ("avg (ms)", 2e-3), ("t_max[usec]", 2e-6), ("p50_ns", 2e-9)],
)
def test_the_name_of_a_column_says_its_unit(tmp_path, name, seconds):
    assert read(log(tmp_path, f"ranks;size;{name}\n4;8;2\n"))[0].time_s == pytest.approx(seconds)


@pytest.mark.parametrize("name, rate", [("busbw_GBps", 1.5e9), ("busbw (GB/s)", 1.5e9), ("busbw_Gbit/s", 1.5e9 / 8)])
def test_a_bus_bandwidth_is_a_time_of_its_ranks(tmp_path, name, rate):
    (row,) = read(log(tmp_path, f"ranks,nbytes,time_s,{name}\n4,1000,,1.5\n"))
    assert row.time_s == pytest.approx(1000 * 2 * 3 / 4 / rate)
    with pytest.raises(LogError, match="line 2: a bus bandwidth without a number of ranks"):
        read(log(tmp_path, f"nbytes,{name}\n1000,1.5\n"))
    (row,) = read(log(tmp_path, f"nbytes,{name}\n1000,1.5\n"), Asked(ranks=4))
    assert row.time_s == pytest.approx(1000 * 2 * 3 / 4 / rate)


@pytest.mark.parametrize(
    "text, columns, words",
    [
        ("ranks,nbytes,time\n4,8,2\n", {}, "line 1: no time in a unit that its name says"),
        ("ranks,time_s\n4,2\n", {}, "line 1: no column of a size"),
        ("ranks,nbytes,time_s\n4,8,fast\n", {}, "line 2: time_s is 'fast'"),
        ("ranks,nbytes,time_s\n4.5,8,1\n", {}, "line 2: the number of ranks is '4.5'"),
        ("ranks,nbytes,time_s\n4,8,1\n4,8\n4,8,1\n", {}, "line 3: 2 fields, expected 3"),
        ("ranks,nbytes,time_s\n", {}, "line 1: no row"),
        ("# by hand\nranks,nbytes,time_s\n4,x,1\n", {}, "line 3: nbytes is 'x'"),
        ("ranks,nbytes,time_s\n4,8,1\n", {"time_us": "speed"}, "no column 'speed'"),
        ("ranks,nbytes,speed\n4,8,1\n", {"time": "speed"}, "of which unit"),
        ("ranks,nbytes,speed\n4,8,1\n", {"mood": "speed"}, "unknown 'mood'"),
        ("ranks,count,time_s\n4,8,1\n", {}, "line 2: a count of elements of which type"),
    ],
)
def test_a_csv_that_lacks_something_says_what(tmp_path, text, columns, words):
    with pytest.raises(LogError, match=words):
        read(log(tmp_path, text), Asked(columns=columns))


def test_a_csv_with_names_of_its_own_is_read_as_column_says(tmp_path):
    columns = {"time_us": "speed", "nbytes": "big", "ranks": "many"}
    (row,) = read(log(tmp_path, "many\tbig\tspeed\n4\t8\t2\n"), Asked(columns=columns))
    assert (row.ranks, row.nbytes, row.time_s) == (4, 8, pytest.approx(2e-6))


def test_a_csv_row_that_may_be_cut_off_is_dropped_with_a_warning(tmp_path):
    with pytest.warns(LogWarning, match="line 3: the last row has no line end"):
        assert len(read(log(tmp_path, "ranks,nbytes,time_s\n4,8,1\n4,16,2.5"))) == 1


def test_other_collectives_and_quoted_fields_of_a_csv(tmp_path):
    text = 'collective,ranks,nbytes,time_us,note\nMPI_Allreduce,4,8,1,"a,b"\nbcast,4,8,2,c\nALLREDUCE,4,16,3,\n'
    with pytest.warns(LogWarning, match="column 'note'"):
        assert times(read(log(tmp_path, text))) == {8: 1, 16: 3}


def test_columns_that_are_not_read_but_differ_are_named(tmp_path):
    with pytest.warns(
        LogWarning, match="column 'gpu' is not read and differs between rows: 'A', 'B'; --where gpu=VALUE"
    ):
        read(log(tmp_path, "ranks,nbytes,time_us,gpu\n4,8,1,A\n4,8,2,B\n"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = read(log(tmp_path, "ranks,nbytes,time_us,gpu\n4,8,1,A\n4,8,2,B\n"), Asked(where={"gpu": "B*"}))
    assert times(rows) == {8: 2}


def test_points_have_the_columns_of_a_fit_and_miss_what_a_log_does_not_say():
    found = points(LOGS / "osu_v5.6.2_stackhpc_csd3.txt")
    assert tuple(found) == POINTS
    assert found[["ranks", "nodes", "dtype", "segment", "calls"]].isna().all(axis=None)
    assert found["time_s"].iloc[0] == pytest.approx(5.23 * US) and found["nbytes"].dtype == "Int64"
    full = points(LOGS / "osu_v7.4_2ranks_case2.txt", Asked(ranks=2))
    assert set(full["run"]) == {"osu_v7.4_2ranks_case2.txt"} and list(full["calls"])[-1] == 100
    assert isinstance(full, pd.DataFrame) and set(full["ranks"]) == {2}


def test_points_leave_out_what_has_no_time_and_say_so(tmp_path):
    path = tmp_path / "times.csv"
    path.write_text("ranks,nbytes,time_us\n2,8,1.5\n2,16,0\n2,32,nan\n")
    with pytest.warns(LogWarning, match=r"2 of 3 rows have no time \(first: line 3\); left out"):
        found = points(path)
    assert found["nbytes"].tolist() == [8]


def test_content_and_not_its_name_tells_a_log(tmp_path):
    told = {recognise((LOGS / name).read_text()) for name in CASES}
    assert told == {"osu", "imb", "nccl-tests"} and recognise(CSV) == "csv" and recognise("highest\n1\n") == "pico"
    assert recognise("hello\n") is None and recognise(NCCL + OSU) == "osu"
    assert recognise(OTHER + IMB) == "imb" and recognise(OTHER) == "osu"


@pytest.mark.parametrize("above, below", [("OSU", "IMB"), ("IMB", "OSU"), ("OSU", "NCCL"), ("NCCL", "IMB")])
def test_all_reduces_of_two_tools_in_one_file_are_not_mixed(above, below, tmp_path):
    texts = {"OSU": OSU, "IMB": IMB, "NCCL": (LOGS / "nccl_cscs_alps_8xGH200_ofi_hook_good.txt").read_text()}
    path = tmp_path / "log.txt"
    path.write_text(texts[above] + texts[below])
    with pytest.raises(LogError, match=r"line \d+: an all-reduce of [\w-]+ below one of [\w-]+; cut the file in two"):
        read(path, Asked(ranks=2))


MUTATED = 2000
NUMBERS = (b"nan", b"inf", b"-1", b"1e999", b"9" * 5000, b"0", b"", b"0x10", b"1.5", "\u0664".encode())


def mutilated(content: bytes, draw: random.Random) -> bytes:
    """The content with lines cut, doubled or shuffled, bytes flipped, or numbers replaced by odd ones."""
    lines = content.splitlines(keepends=True)
    for _ in range(draw.randint(1, 4)):
        place, kind = draw.randrange(len(lines)), draw.randrange(7)
        if kind == 0:
            lines = lines[: place + 1]
            lines[-1] = lines[-1][: draw.randrange(len(lines[-1]) + 1)]
        elif kind == 1:
            lines[place:place] = lines[place : place + draw.randint(1, 30)]
        elif kind == 2:
            draw.shuffle(lines)
        elif kind == 3:
            line = bytearray(lines[place])
            for _ in range(draw.randint(1, 8) if line else 0):
                line[draw.randrange(len(line))] ^= 1 << draw.randrange(8)
            lines[place] = bytes(line)
        elif kind == 4:
            words = lines[place].split(b" ")
            words[draw.randrange(len(words))] = draw.choice(NUMBERS)
            lines[place] = b" ".join(words)
        elif kind == 5:
            del lines[place : place + draw.randint(1, 10)]
        else:
            fields = lines[place].split(b",")
            fields[draw.randrange(len(fields))] = draw.choice(NUMBERS)
            lines[place] = b",".join(fields)
        lines = lines or [b""]
    return b"".join(lines)


@pytest.mark.filterwarnings("ignore::allreduce_bench.importers.LogWarning")
def test_mutilated_logs_end_in_rows_or_in_one_line(tmp_path):
    good = {"time": 10.5, "alg_bw": 0.8, "bus_bw": 1.4, "nwrong": 0.0}
    more = [CSV, nccl_json(*(result(8 << i, good) for i in range(9))).replace("{", "\n{"), "highest\n" + "2000\n" * 50]
    originals = [*((LOGS / name).read_bytes() for name in CASES), *(text.encode() for text in more)]
    draw, read_well = random.Random(5), 0
    for number in range(MUTATED):
        path = log(tmp_path, mutilated(originals[number % len(originals)], draw), "64_ring_int32.csv")
        try:
            rows = read(path, Asked(in_place=False, dtype=draw.choice([None, None, "float32"])))
        except LogError as error:
            assert str(error).startswith(str(path)) and "\n" not in str(error) and len(str(error)) < 700, str(error)
            continue
        read_well += 1
        assert rows and all(row.time_s is None or 0 < row.time_s < 1e7 for row in rows)
        assert all(0 <= row.nbytes <= 1e17 and (row.ranks is None or 0 < row.ranks <= 1e6) for row in rows)
    assert MUTATED / 4 < read_well < MUTATED
