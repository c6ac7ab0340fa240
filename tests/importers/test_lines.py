"""The lines of a log."""

import warnings

import pytest
from made_logs import CSV, IMB, NCCL, OSU, log

from allreduce_bench.importers import Asked, LogError, LogNote, read
from allreduce_bench.importers.lines import Launched, launched_by

SHORT = "too short"


@pytest.mark.parametrize("text, row", [(NCCL, " 16777216 "), (IMB, " 65536 ")])
def test_a_log_that_is_cut_off_between_two_rows_lacks_the_end_of_its_tool(tmp_path, text, row):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(read(log(tmp_path, text))) > 20
    cut = text[: text.rindex("\n", 0, text.rindex(row)) + 1]
    with pytest.warns(LogNote, match=rf"line {cut.count(chr(10))}: .*is it cut off\?"):
        assert read(log(tmp_path, cut))


TEXTS = {"osu": OSU, "imb": IMB, "nccl": NCCL}
AROUND = ("12: {}", " 0: {}", "\x1b[32m{}\x1b[0m", "[1,0]<stdout>:{}", "[prterun-n1-77@1,0]<stdout>: {}")
AROUND += ("\x1b]0;title\x07{}", "[STAT]: {}", "> {}", "2026-01-02T03:04:05.678Z {}")
BARE = "".join(f"{line}\n" for line in NCCL.splitlines() if line[:1] == " ")


@pytest.mark.parametrize("text", [OSU, CSV, BARE], ids=["osu", "csv", "bare"])
@pytest.mark.parametrize("around", AROUND)
def test_prefixes_of_launchers_and_colours_change_nothing(text, around, tmp_path):
    asked = Asked(ranks=2 if text == OSU else None)
    marked = "".join(f"{around.format(line)}\n" for line in text.splitlines())
    expected = [(row.size_bytes, row.times_s, row.ranks) for row in read(log(tmp_path, text, "b"), asked)]
    assert [(row.size_bytes, row.times_s, row.ranks) for row in read(log(tmp_path, marked), asked)] == expected


@pytest.mark.parametrize("name", ["osu", "imb", "nccl"])
def test_what_scripts_say_between_rows_is_no_row_and_no_warning(name, tmp_path):
    lines = TEXTS[name].splitlines(keepends=True)
    noise = "0 upgraded, 0 newly installed, 0 to remove and 4 not upgraded.\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = read(log(tmp_path, "".join([noise, *lines[:-1], noise, lines[-1], noise])), Asked(ranks=None))
    assert [row.size_bytes for row in rows] == [row.size_bytes for row in read(log(tmp_path, TEXTS[name], "b"))]


@pytest.mark.parametrize("text, said", [(OSU, "(us)"), (IMB, "[usec]")], ids=["osu", "imb"])
def test_a_header_says_the_unit_of_times(text, said, tmp_path):
    asked = Asked(ranks=2 if text == OSU else None)
    first, *_ = read(log(tmp_path, text), asked)
    (in_ms, *_) = read(log(tmp_path, text.replace(said, f"{said[0]}ms{said[-1]}")), asked)
    assert in_ms.time_s == pytest.approx(1000 * first.time_s)
    with pytest.raises(LogError, match="times is 'ticks'"):
        read(log(tmp_path, text.replace(said, f"{said[0]}ticks{said[-1]}")), asked)


@pytest.mark.parametrize(
    ("line", "processes"),
    [
        ("$ mpirun --hostfile h:2 -np 8 -x A=1 /opt/osu_allreduce -m 4:64", 8),
        ("+ srun -N 2 --ntasks=8 --mpi=pmix ./build/all_reduce_perf -b 8 -n 100", 8),
        ("jsrun -n 128", 128),
        ("jsrun -n 4 -a 6 -g 1 IMB-MPI1 Allreduce", 24),
        ("mpiexec.hydra -n16 -ppn 8 IMB-MPI1 Allreduce", 16),
        ("mpirun --hostfile h all_reduce_perf -n 100", None),
        ("mpirun -n 2 a : -n 2 osu_allreduce", None),
    ],
)
def test_the_line_that_starts_a_benchmark_says_how_many_processes(line, processes):
    assert launched_by(line) == Launched(processes)


@pytest.mark.parametrize(
    "line", ["srun -n 1 hostname", "use mpirun -np 8 to start", "mpirun: 8", "all_reduce_perf -n 8"]
)
def test_other_lines_say_nothing_of_processes(line):
    assert launched_by(line) is None
