"""Logs of nccl-tests: both halves, columns that are blank or to come, ranks that the rates say."""

import pytest
from made_logs import NCCL, log, times
from places import DATA, LOGS

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
    with pytest.raises(LogError, match=r"4 ranks.*2\(p-1\)/p of 4"):
        read(log(tmp_path, "".join(line for line in NCCL.splitlines(keepends=True) if "nid005487" not in line)))


def test_other_collectives_of_nccl_tests_are_no_all_reduce(tmp_path):
    other = NCCL.replace("all_reduce_perf", "reduce_scatter_perf").replace("17.93", "99.99")
    assert times(read(log(tmp_path, other + NCCL + other)))[8] == 17.93
    with pytest.raises(LogError, match="found: reduce_scatter"):
        read(log(tmp_path, other))
    with pytest.raises(LogError, match=r"not 2\(p-1\)/p"):  # no program is named
        read(
            log(
                tmp_path,
                "".join(
                    f"{8 << i} {2 << i} float sum 10.0 {i}.00 {i / 2:.2f} 0 10.0 {i}.00 {i / 2:.2f} 0\n"
                    for i in range(2, 9)
                ),
            )
        )


FIELD = DATA / "field_inputs"
SMALL = (FIELD / "nccl_reduce_scatter_small.txt").read_text()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ((FIELD / "nccl_broadcast_2ranks.txt").read_text().replace("   0   ", "  -1   "), "a column root"),
        (SMALL.replace("   32 ", "  128 ").replace("   64 ", "  256 ").replace(" sum", "none"), "redop none"),
    ],
)
def test_other_collectives_without_a_program_are_told_by_their_rows(text, why, tmp_path):
    with pytest.raises(LogError, match=f"line 1[0-2]: not an all-reduce: {why}"):
        read(log(tmp_path, text))


def test_a_head_that_comes_again_is_that_of_the_launch_that_worked(tmp_path):
    head = "# nThread 1 nGpus 1\n#   Rank  0 Pid 1 on a device  0\n"
    row = "4 1 float sum 2.0 0.00 0.00 0e+00 2.0 0.00 0.00 0e+00\n"
    assert len(read(log(tmp_path, f"{head}{head}{row}"))) == 1  # the first one failed


def test_tables_without_a_program_are_judged_together(tmp_path):
    table = "".join(f"{4 << i} {1 << i} float sum -1 10.0 0.00 0.00 0 10.0 0.00 0.00 0\n" for i in range(4))
    unclear = f"# nThread 1 nGpus 1\n{table}"
    assert len(read(log(tmp_path, unclear))) == 4
    with pytest.raises(LogError, match="line 2: not an all-reduce: count times element size"):
        read(log(tmp_path, unclear + SMALL))
    with pytest.warns(LogWarning, match="not an all-reduce: .*left out"):
        assert len(read(log(tmp_path, f"{unclear}# nThread 1 nGpus 1\n{BARE}\n{SMALL}"))) == 19


def test_a_table_without_a_time_is_of_another_tool(tmp_path):
    nvshmem = (FIELD / "nvshmem.txt").read_text()
    for other in (nvshmem, NCCL.replace("   time ", "cputime ")):
        with pytest.warns(LogWarning, match="table without"):
            assert len(read(log(tmp_path, NCCL + other))) == 25


@pytest.mark.parametrize(
    ("above", "ranks"),
    [
        ("mpirun -np 2 ./build/all_reduce_perf -g 4 -n 20\n# nThread 1 nGpus 4\n", 8),
        ("srun -n 8 all_reduce_perf\n", None),
    ],
)
def test_the_launcher_states_processes_and_the_table_the_ranks_of_each(above, ranks, tmp_path):
    small = "".join(BARE.splitlines(keepends=True)[:3])  # rates of two digits fit many
    assert {row.ranks for row in read(log(tmp_path, above + small))} == {ranks}


def test_an_old_log_with_errors_out_of_bounds_warns(tmp_path):
    text = (LOGS / "nccl_allreduce_old_error_col.log").read_text().replace("N/A", "1e-07")
    assert {row.wrong for row in read(log(tmp_path, text))} == {0}
    with pytest.warns(LogWarning, match="results out"):
        rows = read(log(tmp_path, text.replace(": 0 OK", ": 1 FAILED")))
    assert {row.wrong for row in rows} == {None}


def test_lines_of_nccl_itself_and_cut_rows_are_left_out(tmp_path):
    text = NCCL.replace("\n    67108864", "\nn1:77:79 [0] NCCL INFO Connected all rings\n    67108864")
    assert len(read(log(tmp_path, text))) == 25
    with pytest.warns(LogWarning, match="line 41: .*left out"):
        assert len(read(log(tmp_path, NCCL[: NCCL.index("1907.8")]))) == 24


ROWS = [line.split() for line in NCCL.splitlines() if line[:1] == " "]
HALF = ["time", "algbw", "busbw", "#wrong"]
NAMES = ["size", "count", "type", "redop", "root", *HALF, *HALF]
UNITS = ["size(B)", "count(elements)", "type", "redop", "root", "time({})", "algbw(GB/s)", "busbw(GB/s)"]


@pytest.mark.parametrize("separator", [",", ";"])
@pytest.mark.parametrize("width", [9, 13])
def test_a_csv_whose_header_is_repeated_is_a_table_each(separator, width, tmp_path):
    text = "".join(f"{separator.join(words[:width])}\n" for words in (NAMES, *ROWS))
    rows = read(log(tmp_path, text * 2))
    assert len(rows) == 50 and len({row.launch for row in rows}) == 2 and {row.ranks for row in rows} == {8}
    assert times(rows) == times(read(log(tmp_path, NCCL, "b"))) and {row.wrong for row in rows} == {0}
    if width == 13:
        assert times(read(log(tmp_path, text), Asked(in_place=True)))[128 * M] == 1907.8


@pytest.mark.parametrize(
    "head, unit, factor", [("# ", "us", 1), ("", "ms", 1000), ("#", "\u00b5s", 1), ("# ", "ticks", 0)]
)
def test_a_bare_table_says_its_units_in_its_header(head, unit, factor, tmp_path):
    header = head + " ".join(UNITS).format(unit)
    path = log(tmp_path, "".join(f"{line}\n" for line in (header, *(" ".join(words[:8]) for words in ROWS))))
    if factor:
        assert times(read(path))[128 * M] == pytest.approx(1916.4 * factor)
        return
    with pytest.raises(LogError, match="times is 'ticks'"):
        read(path)


def test_the_line_below_a_header_says_the_unit_too(tmp_path):
    assert times(read(log(tmp_path, NCCL.replace("(us)", "(ms)"))))[128 * M] == 1916400
    with pytest.raises(LogError, match="times is 'cycles'"):
        read(log(tmp_path, NCCL.replace("(us)", "(cycles)")))


SPLIT = (FIELD / "nccl_split.txt").read_text()
CHOSE = "node0:1:1 [0] NCCL INFO AllReduce: {} Bytes -> Algo {} proto SIMPLE channel{{Lo..Hi}}={{0..7}}\n"


@pytest.mark.parametrize("digits", ["1node", "node0", "ip-10-0-0-1"])
def test_rows_that_lines_of_nccl_broke_are_joined_where_their_halves_fit(digits, tmp_path):
    text = SPLIT.replace("node0", digits)
    assert times(read(log(tmp_path, text))) == {8 * M: 83.33, 16 * M: 160.1, 32 * M: 310.0}
    assert times(read(log(tmp_path, text), Asked(in_place=True))) == {8 * M: 80.98, 16 * M: 158.2, 32 * M: 308.1}


def test_halves_that_do_not_fit_are_named(tmp_path):
    with pytest.warns(LogWarning, match="line 14: .*does not fit the row above"):
        assert times(read(log(tmp_path, SPLIT.replace("308.1 ", "999.1 "))))[32 * M] == 310.0
    with pytest.warns(LogWarning, match=r"line (8|11): .*(does not fit|no whole row)"):
        assert 8 * M not in times(read(log(tmp_path, SPLIT.replace("   83.33  100.66", "   83.33  555.55"))))


def test_both_halves_may_stand_in_one_line(tmp_path):
    lines = SPLIT.splitlines(keepends=True)
    text = "".join([*lines[:9], lines[9][:32] + lines[10], *lines[11:]])
    assert times(read(log(tmp_path, text)))[8 * M] == 83.33


def test_a_half_alone_is_named_since_it_may_be_either(tmp_path):
    lines = SPLIT.splitlines(keepends=True)
    with pytest.warns(LogWarning, match="line 8: .* has one half, and it is open which"):
        assert 8 * M not in times(read(log(tmp_path, "".join(lines[:9] + lines[10:]))))


def test_what_nccl_chose_stands_beside_the_time(tmp_path):
    rows = read(log(tmp_path, SPLIT + CHOSE.format(8 * M, "RING") + CHOSE.format(16 * M, "NVLS")))
    assert [row.ran for row in rows] == [("ring Simple",), ("nvls Simple",), ()]
    assert {row.ran for row in read(log(tmp_path, SPLIT))} == {()}


@pytest.mark.parametrize("above", ["mpirun -np 4 all_reduce_perf -g 2\n", "srun -n 4 all_reduce_perf\n"])
def test_ranks_that_the_launcher_and_the_list_of_ranks_state_differently_are_refused(above, tmp_path):
    with pytest.raises(LogError, match="2 ranks listed above, but the launcher's line starts 8"):
        read(log(tmp_path, above + SPLIT))
    assert len(read(log(tmp_path, above + above.replace("4", "1") + SPLIT))) == 3  # a script that names all its starts


def test_a_process_that_ran_alone_is_said(tmp_path):
    alone = (FIELD / "nompi.txt").read_text().splitlines(keepends=True)
    text = "".join([*alone[:3], alone[6], *alone[8:12], alone[16]])
    with pytest.warns(LogWarning, match="built without MPI=1"):
        assert {row.ranks for row in read(log(tmp_path, text))} == {1}
    with pytest.raises(LogError, match="1 rank listed above, .* starts 2: each process ran alone, built without MPI=1"):
        read(log(tmp_path, f"mpirun -np 2 ./all_reduce_perf -g 1\n{text}"))


def test_the_99th_percentile_of_each_iteration_is_kept(tmp_path):
    line = "1048576 262144 float sum -1 19.1 54.9 54.9 0 17.0 30.0 29.5 5.1 19.0 55.2 55.2 0 17.0 31.0 30.5 5.0\n"
    for in_place, p99 in ((False, 29.5), (True, 30.5)):
        (row,) = read(log(tmp_path, line), Asked(in_place=in_place))
        assert row.quantiles_s == pytest.approx({99: p99 * 1e-6})
