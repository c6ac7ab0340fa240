"""Logs of nccl-tests: both halves, columns that are blank or to come, ranks that the rates say."""

import pytest
from has_message import message_pattern
from made_logs import NCCL, log, times
from places import LOGS

from allreduce_bench.importers import Asked, LogError, LogWarning, read

BARE = (LOGS / "nccl_msccl_leaderboard_headerless.txt").read_text()
M = 1024**2


def test_the_other_half_of_nccl_tests_is_asked_for():
    path = LOGS / "nccl_cscs_alps_8xGH200_ofi_hook_good.txt"
    assert times(read(path))[128 * M] == 1916.4 and {row.iterations for row in read(path)} == {20}
    assert times(read(path, Asked(in_place=True)))[128 * M] == 1907.8
    assert {row.in_place for row in read(path, Asked(in_place=True))} == {True}


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
    with pytest.raises(LogError, match=message_pattern("importers.ranks_named_above_busbw", ranks=4)):
        read(log(tmp_path, "".join(line for line in NCCL.splitlines(keepends=True) if "nid005487" not in line)))


def test_other_collectives_of_nccl_tests_are_no_all_reduce(tmp_path):
    other = NCCL.replace("all_reduce_perf", "reduce_scatter_perf").replace("17.93", "99.99")
    assert times(read(log(tmp_path, other + NCCL + other)))[8] == 17.93
    with pytest.raises(LogError, match="found: reduce_scatter"):
        read(log(tmp_path, other))
    with pytest.raises(LogError, match=message_pattern("importers.whose_bus_bandwidth_not")):  # no program is named
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
    with pytest.warns(LogWarning, match=message_pattern("importers.results_out_bounds_log")):
        rows = read(log(tmp_path, text.replace(": 0 OK", ": 1 FAILED")))
    assert {row.wrong for row in rows} == {None}


def test_lines_of_nccl_itself_and_cut_rows_are_left_out(tmp_path):
    text = NCCL.replace("\n    67108864", "\nn1:77:79 [0] NCCL INFO Connected all rings\n    67108864")
    assert len(read(log(tmp_path, text))) == 25
    with pytest.warns(LogWarning, match="line 41: .*left out"):
        assert len(read(log(tmp_path, NCCL[: NCCL.index("1907.8")]))) == 24
