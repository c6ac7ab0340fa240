"""`show` prints what `run` printed, and lists what there is."""

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner, Result
from made_runs import build_run
from places import TESTS

from allreduce_bench.cli import main
from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.report.formats import FORMATS as WRITERS
from allreduce_bench.report.formats import Result as RunResult
from allreduce_bench.report.formats import closing_table
from allreduce_bench.runs.control import FORMATS
from allreduce_bench.tables import Screen

LOG = TESTS / "data" / "logs" / "osu_v5.6.2_stackhpc_csd3.txt"


def bench(*words) -> Result:
    """Run the command line; what is no SystemExit is a bug and must not be hidden."""
    result = CliRunner().invoke(main, list(map(str, words)))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_that_of_the_end_of_a_run(tmp_path, name):
    folder = build_run(tmp_path / "run", sizes=(8, 1024), ranks=(2,))
    result = bench("show", folder.path, "--format", name)
    assert result.exit_code == 0 and not result.stderr
    made = RunResult.of(folder, summarise(folder))
    assert result.stdout == (closing_table(made, Screen(1000)) if name == "table" else WRITERS[name](made))
    assert not folder.summary_csv.exists()  # nothing is written


def test_a_width_changes_the_table_alone(tmp_path, monkeypatch):
    path = build_run(tmp_path / "run", sizes=(8, 1024), ranks=(2,)).path
    wide = {name: bench("show", path, "--format", name).stdout for name in FORMATS}
    monkeypatch.setenv("COLUMNS", "50")
    for name in FORMATS:
        narrow = bench("show", path, "--format", name).stdout
        assert (narrow == wide[name]) == (name != "table")
    assert max(map(len, bench("show", path).stdout.splitlines())) <= 50


def test_an_unfinished_run_is_shown_as_far_as_it_is(tmp_path):
    path = build_run(
        tmp_path / "run", sizes=(8, 1024), ranks=(2,), outcome=lambda _, cell: {} if cell.size_bytes == 8 else None
    ).path
    assert "3 missing" in bench("show", path).stdout
    build_run(tmp_path / "none", sizes=(8,), ranks=(2,), outcome=lambda _, cell: None)
    result = bench("show", tmp_path / "none")
    assert result.exit_code == 2 and result.stderr.startswith("error: ") and result.stderr.count("\n") == 1


def test_an_imported_run_is_shown_with_what_its_times_are(tmp_path):
    imported = bench("import", LOG, "-n", "4", "-o", tmp_path / "run")
    assert imported.exit_code == 0, imported.output
    text = bench("show", tmp_path / "run").stdout
    assert "median of launches" in text and "calls and launches" not in text
    for name in ("long", "csv", "json"):
        assert bench("show", tmp_path / "run", "--format", name).exit_code == 0
    for name in ("nccl", "osu"):
        result = bench("show", tmp_path / "run", "--format", name)
        assert result.exit_code == 2 and "OSU" in result.stderr and result.stderr.count("\n") == 1


def test_runs_are_listed_where_none_is_named(tmp_path):
    build_run(tmp_path / "results" / "one", sizes=(8,), ranks=(2,), launches=1)
    build_run(tmp_path / "elsewhere" / "two", sizes=(8,), ranks=(2,), launches=1)
    listed = bench("show")
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["run", "one"]
    assert listed.stderr == "next: allreduce-bench show results/one\n"
    assert [line.split()[0] for line in bench("show", "elsewhere").stdout.splitlines()] == ["run", "two"]
    refused = bench("show", "--format", "csv")
    assert refused.exit_code == 2 and "allreduce-bench show results/one --format csv" in refused.stderr
    refused = bench("show", "nowhere")
    assert refused.exit_code == 2 and "no such folder" in refused.stderr


@pytest.mark.parametrize("words", ["show RUN", "report RUN", "fit RUN", "compare OTHER RUN", "stragglers RUN"])
def test_every_command_that_reads_says_that_a_launch_was_deleted(tmp_path, words):
    runs = {"RUN": build_run(tmp_path / "run", sizes=(8, 1024), ranks=(2,)), "OTHER": build_run(tmp_path / "other")}
    for path in runs["RUN"].launches.glob("2r-2.*"):
        path.unlink()
    result = bench(*(runs[word].path if word in runs else word for word in words.split()))
    said = f"{runs['RUN'].path}: 2 of 3 launches are complete; left: 2r-2; to continue: "
    assert sum(line.startswith(said) for line in result.stderr.splitlines()) == 1
    assert "cells" not in result.stderr  # those of the table count, whose launches share them


@pytest.mark.parametrize("words", [["show"], ["report"]], ids=lambda words: words[0])
def test_a_run_is_read_where_no_mpi_is(tmp_path, words):
    build_run(tmp_path / "run", sizes=(8,), ranks=(2,), launches=1)
    without = "import sys; sys.modules['mpi4py.MPI'] = None; from allreduce_bench.cli import main; main()"
    command = [sys.executable, "-c", without, *words, str(tmp_path / "run")]
    environ = {**os.environ, "PYTHONPATH": str(TESTS.parent)}
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environ, check=False)
    assert ended.returncode == 0 and not ended.stderr.count("error"), ended.stderr
