"""Imported logs as runs: the command, the folder, and all that reads a run."""

import json
import re
import shlex
import signal
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner
from made_runs import build_run
from places import DATA, LOGS

from allreduce_bench.cli import main
from allreduce_bench.cli.types import INTERRUPTED
from allreduce_bench.evaluation import frames
from allreduce_bench.evaluation.summary import summarise, summary
from allreduce_bench.models.machine import read_machine
from allreduce_bench.report.formats import FORMATS, Result
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.plan import ImportedPlan

OSU, FLUX = LOGS / "osu_v5.6.2_stackhpc_csd3.txt", LOGS / "osu_v5.8_eks_256nodes_24576ranks.out"
IMB, GOOD, BAD = (
    LOGS / "imb_2021.11_real_4ranks_npmin2.txt",
    LOGS / "nccl_cscs_alps_8xGH200_ofi_hook_good.txt",
    LOGS / "nccl_cscs_alps_8xGH200_no_hook_bad.txt",
)
CSV = """\
system,job,ranks,nodes,algo,type,bytes,median_us,calls
here,one,8,4,ring,int32,64,2,100
here,one,8,4,tree,int32,64,1,100
here,two,8,4,ring,int32,64,4,100
here,two,16,8,ring,int32,128,5,100
"""


def run(*words: object, status: int = 0) -> str:
    """The output of a command; it says nothing of a traceback."""
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == status, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.output


def rows_of(path: Path) -> list[dict]:
    return summarise(RunFolder(path))


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_the_command_says_what_was_imported_and_keeps_where_it_came_from(tmp_path):
    said = run("import", OSU, "-n", 64, "--dtype", "float32", "-o", tmp_path / "run")
    assert f"19 rows, 64 ranks, 4 B to 1 MiB, OSU Micro-Benchmarks 5.6.3, nodes unknown: {OSU}\n" in said
    folder = RunFolder(tmp_path / "run")
    imported = folder.imported()
    assert (imported["tool"], imported["version"]) == ("OSU Micro-Benchmarks", "5.6.3")
    assert imported["said"] == {"ranks": [64], "dtype": "float32"} and len(imported["files"][0]["sha256"]) == 64
    assert isinstance(folder.plan(), ImportedPlan) and folder.pending(folder.plan()) == []
    assert folder.summary_csv.is_file()


def test_without_a_folder_the_table_is_printed_and_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    said = run("import", OSU, "-n", 64)
    kept = run("import", OSU, "-n", 64, "-o", tmp_path / "run")
    table, end = said.partition("nothing was written")[::2]
    assert kept.startswith(table) and "-o results/NAME" in end
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_the_rows_of_an_imported_run_are_those_of_its_logs(tmp_path):
    run("import", IMB, "-o", tmp_path / "run")
    rows = rows_of(tmp_path / "run")
    assert [row["ranks"] for row in rows] == [2] * 16 + [4] * 16 and rows[0]["size_bytes"] == 0
    frame = summary([RunFolder(tmp_path / "run")])
    last = frame.iloc[-1]
    assert last["time_s"] == last["imb_t_max_s"] == pytest.approx(143391.81e-6)
    assert last["osu_avg_s"] == pytest.approx(142454.70e-6) and last["time_definition"] == "imb_t_max"
    assert last["interval"] == "range" and frame["first_penalty"].isna().all()  # a mean is no repetition
    assert frame[["nodes", "wrong", "oversubscribed"]].isna().all(axis=None)  # what the log does not say
    calls = frames.read_calls(RunFolder(tmp_path / "run"))
    assert calls["call"].isna().all() and len(calls) == 32
    assert RunFolder(tmp_path / "run").marks()[-1]["iterations"] == "65"


def test_launches_are_files_or_what_a_csv_calls_so(tmp_path):
    assert "named twice" in run("import", FLUX, FLUX, "-o", tmp_path / "same", status=2)
    again = write(tmp_path / "again.out", FLUX.read_text().replace("4162.54", "4000.00"))
    run("import", FLUX, again, "-o", tmp_path / "two")
    rows = rows_of(tmp_path / "two")
    assert [row["launches"] for row in rows] == [2] * 19 and rows[0]["time_s"] == pytest.approx(4081.27e-6)
    run("import", write(tmp_path / "a.csv", CSV), "-o", tmp_path / "csv")
    found = {(row["competitor"], row["ranks"]): row for row in rows_of(tmp_path / "csv")}
    assert {key: row["launches"] for key, row in found.items()} == {("ring", 8): 2, ("tree", 8): 1, ("ring", 16): 1}
    assert found["ring", 8]["time_s"] == pytest.approx(3e-6) and found["tree", 8]["standing"] is not None
    facts = json.loads((tmp_path / "csv" / "launches" / "8r-2.1.json").read_text())
    assert facts["source"]["launch"] == "two" and facts["layout"] == "4x2"


def test_each_of_several_logs_may_have_ranks_of_its_own(tmp_path):
    other = write(tmp_path / "b.txt", OSU.read_text())
    said = run("import", OSU, other, "-n", "64,128", "-o", tmp_path / "run")
    assert "64 ranks" in said and "128 ranks" in said
    assert {row["ranks"] for row in rows_of(tmp_path / "run")} == {64, 128}
    assert "3 numbers for 2 logs" in run("import", OSU, other, "-n", "1,2,3", "-o", tmp_path / "no", status=2)


@pytest.mark.parametrize(
    "text, words, way",
    [
        (CSV.replace("here,two", "there,two"), re.escape("line 4: system is here, there"), "--where system=here"),
        (
            CSV.replace("ring,int32,64,4", "ring,float,64,4"),
            re.escape("line 4: dtype is int32, float32"),
            "--where dtype=int32",
        ),
        (CSV.replace("two,8,4", "two,8,2"), re.escape("line 4: nodes is 4, 2 at 8 ranks"), "--where nodes=4"),
        (
            CSV.replace("ranks,", "mood,"),
            "line 2: the number",
            "--ranks N",
        ),
    ],
)
def test_a_mixture_is_refused_with_the_option_that_chooses_and_leaves_nothing_behind(tmp_path, text, words, way):
    path = write(tmp_path / "a.csv", text)
    said = run("import", path, "-o", tmp_path / "run", status=2)
    assert re.search(words, said) and way in said and said.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["-n", "0"],
        ["--dtype", "float33"],
        ["--column", "time_us"],
        ["--where", "ranks"],
        ["--where", "a=1", "--where", "a=2"],
    ],
)
def test_bad_options_are_one_line(tmp_path, words):
    said = run("import", OSU, *words, "-o", tmp_path / "run", status=2)
    assert said.startswith("error: ") and said.count("\n") == 1 and not (tmp_path / "run").exists()


def test_bad_logs_and_folders_are_one_line(tmp_path):
    for path in (tmp_path / "none", write(tmp_path / "empty", ""), write(tmp_path / "text", "hello\n")):
        assert run("import", path, "-o", tmp_path / "run", status=2).count("\n") == 1
    assert "already exists" in run("import", FLUX, "-o", tmp_path, status=2)
    assert not (tmp_path / "run").exists()


def page(path: Path) -> str:
    run("report", path)
    return (path / "report.html").read_text()


def test_the_report_says_where_the_numbers_come_from_and_what_is_missing(tmp_path):
    run("import", OSU, "-n", 64, "-o", tmp_path / "run")
    text = page(tmp_path / "run")
    assert f"Imported from OSU Micro-Benchmarks 5.6.3, {OSU}" in text and "median over" in text
    assert "place or out" in text
    assert "Import it again" in text and "Repeat this run" not in text and "fresh mpiruns" not in text
    assert "type unknown, sum" in text and "calls and launches" not in text


def test_the_report_of_a_ragged_run_with_a_failed_cell(tmp_path):
    failed = (
        CSV.replace("bytes,median_us", "bytes,#wrong,median_us").replace(",64,", ",64,0,").replace(",128,", ",128,,")
    )
    failed = failed.replace("tree,int32,64,0,", "tree,int32,64,3,")
    run("import", write(tmp_path / "a.csv", failed), "-o", tmp_path / "run")
    text = page(tmp_path / "run")
    assert "WRONG RESULTS: tree" in text and "16 ranks" in text and "128 B" in text


def test_a_damaged_file_costs_itself_and_not_its_folder(tmp_path):
    logs = tmp_path / "logs"
    (logs / "day" / ".hidden").mkdir(parents=True)
    for name, time_us in (("1.out", "4162.54"), ("day/2.out", "4162.55"), ("3.out", "4162.56")):
        write(logs / name, FLUX.read_text().replace("4162.54", time_us))
    write(logs / "day" / ".hidden" / "no.log", "no log")
    (logs / "broken.out").write_bytes(b"\0\1\2")
    write(logs / "notes \x1b[31m.txt", "see the wiki\n")
    said = run("import", logs, "-o", tmp_path / "run")
    assert "\x1b" not in said and f"warning: {logs}/broken.out, line 1: binary, not text" in said
    assert [row["launches"] for row in rows_of(tmp_path / "run")] == [3] * 19
    imported = RunFolder(tmp_path / "run").imported()
    assert [Path(file["name"]).name for file in imported["unread"]] == ["broken.out", "notes \x1b[31m.txt"]
    assert [Path(file["name"]).name for file in imported["files"]] == ["1.out", "3.out", "2.out"]
    assert "unknown log format" in imported["unread"][1]["reason"]
    run("report", tmp_path / "run")
    assert "broken.out, line 1: binary" in page(tmp_path / "run")


def test_a_folder_without_any_log_is_one_line(tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    assert f"{logs}: holds no file" in run("import", logs, "-o", tmp_path / "run", status=2)
    for name in ("a", "b"):
        write(logs / name, "hello\n")
    said = run("import", logs, "-o", tmp_path / "run", status=2)
    assert f"{logs}: no file" in said and "first of 2" in said
    assert said.count("\n") == 1 and not (tmp_path / "run").exists()


def test_runs_below_a_folder_of_logs_are_left_out_and_named(tmp_path):
    logs = tmp_path / "logs"
    inner = build_run(logs / "mine", ranks=(2,), sizes=(8,), launches=1).path
    assert f"import: {inner}" in run("import", logs, "-o", tmp_path / "run", status=2)
    write(logs / OSU.name, OSU.read_text())
    said = run("import", logs, "-n", 64, "-o", tmp_path / "run")
    assert f"import: {inner}" in said and said.count("warning: ") == 1
    (unread,) = RunFolder(tmp_path / "run").imported()["unread"]
    assert unread["name"] == str(logs)


def test_a_folder_of_several_tools_says_how_to_choose_one(tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    for log in (FLUX, IMB, GOOD):
        write(logs / log.name, log.read_text())
    write(logs / OSU.name, f"mpirun -np 64 ./osu_allreduce\n{OSU.read_text()}")
    said = run("import", logs, "-o", tmp_path / "run", status=2)
    assert "tool is Intel MPI Benchmarks, nccl-tests, OSU Micro-Benchmarks" in said and said.count("\n") == 1
    for choice in ("'tool=Intel MPI Benchmarks'", "tool=nccl-tests", "'tool=OSU Micro-Benchmarks'"):
        assert f"--where {choice}" in said and not (tmp_path / "run").exists()
    run("import", logs, "--where", "tool=OSU*", "-o", tmp_path / "run")
    assert {row["ranks"] for row in rows_of(tmp_path / "run")} == {64, 24576}
    said = run("import", logs, "-n", 64, "-o", tmp_path / "64")
    assert said.count("--ranks 64, but the log states") == 3 and {row["ranks"] for row in rows_of(tmp_path / "64")} == {
        64
    }


def test_each_file_of_a_folder_is_read_by_its_own_tool(tmp_path):
    logs = tmp_path / "logs"
    test = logs / "pico" / "day" / "0"
    test.mkdir(parents=True)
    write(test / "64_ring_over_int32.csv", "highest\n1000\n")
    write(test / "64_ring_over_int32.err", "what it says\n")
    write(logs / "osu.txt", OSU.read_text())
    assert "tool is PICO, OSU Micro-Benchmarks" in run("import", logs, "-n", 64, "-o", tmp_path / "no", status=2)
    for tool, count in (("PICO", 1), ("OSU*", 19)):
        said = run("import", logs, "-n", 64, "--where", f"tool={tool}", "-o", tmp_path / tool[:3])
        assert len(rows_of(tmp_path / tool[:3])) == count and "left out" not in said


def test_an_imported_run_cannot_be_resumed(tmp_path):
    run("import", FLUX, "-o", tmp_path / "run")
    said = run("run", "--resume", "-o", tmp_path / "run", status=2)
    assert said.count("\n") == 1
    assert f"{tmp_path / 'run'}: imported from OSU Micro-Benchmarks" in said


@pytest.mark.parametrize("what", ["the run", "calls", *("nccl", "osu", "csv")])
def test_what_we_print_or_keep_needs_no_import(tmp_path, what):
    folder = build_run(tmp_path / "run")
    if what in FORMATS:
        log = write(tmp_path / "a.txt", FORMATS[what](Result.of(folder, summarise(folder))))
    else:
        log = folder.path if what == "the run" else next(folder.launches.glob("*.calls.csv"))
    said = run("import", log, "-o", tmp_path / "back", status=2)
    assert f"{log}: printed" in said and "report RUN" in said and len(said.splitlines()) == 1
    assert not (tmp_path / "back").exists()


def test_the_calls_of_a_pico_folder_are_repetitions(tmp_path):
    calls = "".join(f"{1000 * number}\n" for number in range(1, 21))
    for name in ("64_ring_over_int32.csv", "64_default_mpich_int32.csv"):
        write(tmp_path / name, f"highest\n{calls}")
    run("import", tmp_path, "-n", 8, "-o", tmp_path / "run")
    row = {row["competitor"]: row for row in rows_of(tmp_path / "run")}["ring_over"]
    assert (row["repetitions"], row["interval"], row["size_bytes"]) == (16, "repetitions", 256)
    assert row["time_s"] == pytest.approx(12.5e-6) and row["first_penalty"] == pytest.approx(1 / 12.5)
    assert frames.read_calls(RunFolder(tmp_path / "run"))["warmup"].sum() == 8
    assert [path.name for path in (tmp_path / "run" / "launches").glob("*.json")] == ["8r-1.1.json"]  # one allocation


def test_times_of_several_libraries_are_said_to_be_so_and_fitted_apart(tmp_path):
    text = "ranks,algorithm,bytes,time_us,mpi\n"
    for ranks, library in ((2, "A 1"), (4, "A 1"), (8, "A 2"), (16, "A 2")):
        text += "".join(
            f"{ranks},ring,{size_bytes},{ranks + size_bytes / 100},{library}\n" for size_bytes in (8, 1024, 65536)
        )
    said = run("import", write(tmp_path / "two.csv", text), "-o", tmp_path / "two")
    words = "A 1 (2, 4 ranks), A 2 (8, 16 ranks)"
    assert "2 libraries" in said and f"one run: {words}" in said
    assert "2 ranks, A 1\n" in said and "16 ranks, A 2\n" in said and "--where 'library=A 1'" in said
    for fitted in (tmp_path / "two", tmp_path / "two.csv"):
        run("fit", fitted, "-o", tmp_path / "machine.json")
        ranks = {model.run[-5:]: {*model.ranks} for model in read_machine(tmp_path / "machine.json").models}
        assert ranks == {", A 1": {2, 4}, ", A 2": {8, 16}}


def test_a_log_counts_once_however_often_it_is_named(tmp_path):
    (tmp_path / "logs").mkdir()
    path = write(tmp_path / "logs" / "a.csv", CSV)
    said = run("import", path, path, "-o", tmp_path / "no", status=2)
    assert f"{path}: named" in said and not (tmp_path / "no").exists()
    for number, paths in enumerate([(path.parent, path), (path, path.parent)]):
        write(path.parent / "b.csv", CSV.replace("here,two", "here,three"))
        said = run("import", *paths, "-o", tmp_path / str(number))
        assert f"{path}: named" in said
        assert {row["repetitions"] for row in rows_of(tmp_path / str(number)) if row["competitor"] == "tree"} == {2}


def test_an_unknown_type_is_kept_as_the_log_says(tmp_path):
    text = GOOD.read_text().replace(" float ", " fp8_x ")
    run("import", write(tmp_path / "a.log", text), "-o", tmp_path / "run")
    rows = rows_of(tmp_path / "run")
    assert {row["dtype"] for row in rows} == {"fp8_x"}
    assert rows[0]["size_bytes"] == 8
    assert "fp8_x" in page(tmp_path / "run")


def test_words_of_a_csv_cannot_break_its_run(tmp_path):
    odd = CSV.replace("tree", '"tr\nee\u2028 <b>"').replace("here", '"he\x1bre"')
    run("import", write(tmp_path / "a.csv", odd), "-o", tmp_path / "run")
    assert {row["competitor"] for row in rows_of(tmp_path / "run")} == {"ring", "tr?ee? <b>"}
    assert "&lt;b&gt;" in page(tmp_path / "run")


def test_launches_of_two_csvs_are_told_apart_though_they_are_called_the_same(tmp_path):
    logs = [write(tmp_path / name, CSV + end) for name, end in (("a.csv", ""), ("b.csv", "\n"))]
    run("import", *logs, "-o", tmp_path / "run")
    assert {row["launches"] for row in rows_of(tmp_path / "run") if row["competitor"] == "tree"} == {2}


def test_a_copy_of_a_log_is_no_launch_of_its_own(tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    for name in ("1.out", "1.out.bak", "old.out"):
        write(logs / name, FLUX.read_text())
    said = run("import", logs, "-o", tmp_path / "run")
    assert said.count("a copy of") == 2 and {row["launches"] for row in rows_of(tmp_path / "run")} == {1}
    unread = RunFolder(tmp_path / "run").imported()["unread"]
    assert [Path(file["name"]).name for file in unread] == ["1.out.bak", "old.out"]
    refused = run("import", logs / "1.out", logs / "old.out", "-o", tmp_path / "no", status=2)
    assert "same bytes" in refused and not (tmp_path / "no").exists()


def test_a_run_without_any_time_has_a_report(tmp_path):
    run("import", write(tmp_path / "a.csv", "ranks,size_bytes,time_us\n4,8,0.0\n4,16,\n"), "-o", tmp_path / "run")
    assert "No cell was measured" in page(tmp_path / "run")


def test_the_command_of_the_page_imports_the_same_again(tmp_path, monkeypatch):
    words = ["import", str(write(tmp_path / "a.csv", CSV)), "--where", "job=o*", "-o", str(tmp_path / "run")]
    monkeypatch.setattr("sys.argv", ["allreduce-bench", *words])
    run(*words)
    assert shlex.join(["allreduce-bench", *words]).replace("'", "&#39;") in page(tmp_path / "run")


def test_an_import_that_is_ended_leaves_no_run(tmp_path, monkeypatch):
    keep = import_module("allreduce_bench.importers.keep")  # the package has a function of its name
    output, record = tmp_path / "run", keep._record

    def record_and_end(*launch: object) -> None:
        record(*launch)
        assert not output.exists()  # whatever ends it
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(keep, "_record", record_and_end)
    run("import", IMB, "-o", output, status=INTERRUPTED)
    assert list(tmp_path.iterdir()) == []


def test_names_that_look_like_numbers_stay_names(tmp_path):
    rows = [f"{name},2,8,{launch},{time_us}" for launch in (1, 2) for name, time_us in (("3", 2.0), ("04", 4.0))]
    log = write(tmp_path / "log.csv", "\n".join(["algorithm,ranks,size_bytes,launch,time_us", *rows, ""]))
    run("import", log, "-o", tmp_path / "run")
    names = frames.read_calls(RunFolder(tmp_path / "run"))["competitor"]
    assert set(names) == {"3", "04"}


def test_percentiles_of_a_log_are_columns_of_cells_and_of_the_summary(tmp_path):
    run("import", DATA / "field_inputs" / "osu_fz.txt", "-n", 4, "-o", tmp_path / "run")
    row = rows_of(tmp_path / "run")[0]
    assert (row["p50_s"], row["p90_s"], row["p99_s"]) == pytest.approx((18.9e-6, 21.1e-6, 44.02e-6))
    assert RunFolder(tmp_path / "run").marks()[0]["p90_s"] and row["p95_s"] is None


def test_each_definition_of_a_time_is_said_in_words(tmp_path):
    for name in ("ucc_perftest.txt", "dsbench.txt", "stas.txt", "rccl.csv", "wide.csv"):
        said = run("import", DATA / "field_inputs" / name, *(["-n", 4] if name == "wide.csv" else []))
        assert re.search(r"time \(us\): \w+: (mean over|a loop of|size over|the columns of)", said), said
