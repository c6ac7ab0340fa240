"""`run --against`: what it refuses, the folder that it makes, and that a killed one is gone on with."""

import os
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from asked_runs import asked_run
from interpreters import in_turn, interpreters
from measured_runs import done, here, one_line_error, wait_for_cells, wait_until_nobody_measures

from allreduce_bench.cli import against
from allreduce_bench.cli.against import begin_runs
from allreduce_bench.cli.request import Request, planned_run
from allreduce_bench.launching.this_start import Run
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.rows import RunError

RUN = ["run", "-n", "2", "-a", "native,ring", "--sizes", "8,64K"]
SHORT = ["-a", "native,ring", "--sizes", "64K,1M", "--no-reference-times", "--identify=never"]
SHORT += ["--min-time", "0.1s", "--cell-time", "0.1s"]  # of a cell
SHORT += ["--thread-level", "multiple"]  # as ranks of the pool have it, which go on


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["-n 4"], "'-n 4': --ranks is no condition; it holds conditions only"),
        (["-a ring"], "--algorithms is no condition"),
        ([""], "is empty; it holds conditions only"),
        (["cold"], "found 'cold'; it holds conditions only"),
        (["--cach cold"], "No such option"),
        (["--cache frozen"], "'frozen' is not one of"),
        (["--segment 3"], "'--segment 3': --segment: 3 bytes are not a whole number of float32"),
        (["--op 'max"], "No closing quotation"),
        (["--cache warm"], "no condition differs from the command"),
        (["--cache cold", "--cache cold"], "no condition differs from another --against"),
        (["--cache cold --cache warm"], "--cache is given twice; two values are two --against"),
        (["--segment 64K"], "no algorithm of -a cuts vectors into segments"),
        (["-x UCX_TLS=tcp -x UCX_TLS=sm"], "-x UCX_TLS is given twice"),
        (["-x HF_TOKEN=hunter2"], "'-x HF_TOKEN=not_stored': -x HF_TOKEN sets a variable whose value is not stored"),
        (["--launcher-args '-x HF_TOKEN=hunter2'"], "--launcher-args sets a variable whose value is not stored"),
        (["--cache cold"] * 26, "at most 25 in one run, found 26"),
    ],
)
def test_what_is_no_other_condition_is_refused_in_one_line(tmp_path, texts, says):
    result = here(*RUN, "-o", tmp_path / "P", *(word for text in texts for word in ("--against", text)))
    line = one_line_error(result)
    assert "--against" in line and says in line and "hunter2" not in line and not (tmp_path / "P").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-d", "float32", "--dtype", "float64"], "--dtype: given twice"),
        (["-x", "UCX_TLS=a\nb"], "UCX_TLS: its value has line ends or control characters"),
        (["--iters", "9" * 20], "expected 1 to"),
        (["--launches", "1000000"], "expected 1 to"),
    ],
)
def test_values_that_make_no_run_are_refused(tmp_path, words, says):
    line = one_line_error(here(*RUN, *words, "-o", tmp_path / "P"))
    assert says in line and not (tmp_path / "P").exists()


def test_under_a_launcher_there_is_but_one_launch(monkeypatch):
    monkeypatch.setenv("PMI_RANK", "0")
    monkeypatch.setenv("PMI_SIZE", "2")
    assert "--against under a launcher" in one_line_error(here(*RUN, "--against", "--cache cold"))


WORDS = ("-n", 2, "-a", "native,ring", "--sizes", 8, "--seed", 5)


def planned_runs(requests: list[Request]) -> list[Run]:
    """The runs of requests as they are before anything is written."""
    return [Run(*planned_run(request), SimpleNamespace()) for request in requests]


@pytest.fixture
def alternated(tmp_path) -> Path:
    """A folder with runs, of which nothing is measured yet."""
    path = tmp_path / "P"
    conditions = {"a": (), "b": ("--cache", "cold"), "c": ("--check", "bits")}
    requests = [asked_run(*WORDS, *words, "-o", path / name) for name, words in conditions.items()]
    begin_runs(planned_runs(requests), requests)
    return path


def test_the_folder_is_made_at_once_and_each_run_names_the_others(alternated):
    assert [path.name for path in alternated.parent.iterdir()] == ["P"]
    assert sorted(path.name for path in alternated.iterdir()) == ["a", "b", "c"]
    assert RunFolder(alternated / "b").alternated() == ["../a", "../c"]
    assert [RunFolder(alternated / name).plan().cache for name in "abc"] == ["warm", "cold", "warm"]


def test_the_folder_itself_is_no_run_and_says_how_to_compare_its_runs(alternated):
    line = one_line_error(here("report", alternated))
    assert f"{alternated}: holds the runs a, b, c, whose launches alternate" in line
    assert f"allreduce-bench compare {alternated}/a {alternated}/b, allreduce-bench compare" in line
    taken = one_line_error(here(*RUN, "--against", "--cache cold", "-o", alternated))
    assert f"{alternated}: already exists" in taken
    other = one_line_error(here(*RUN, "--against", "--cache cold", "--resume", "-o", alternated))
    assert "holds the runs a, b, c; repeat their --against, or leave it out" in other


def test_a_run_by_itself_does_not_become_several(tmp_path):
    request = asked_run(*WORDS, "-o", tmp_path / "P")
    begin_runs(planned_runs([request]), [request])
    line = one_line_error(here(*RUN, "--against", "--cache cold", "--resume", "-o", tmp_path / "P"))
    assert "already exists; choose another folder with -o for the runs of --against" in line


@pytest.mark.parametrize("sees_it", [True, False])
def test_jobs_that_begin_at_once_make_one_folder(alternated, monkeypatch, sees_it):
    plan = asked_run(*WORDS, "--op", "max").plan()
    late = [Run(RunFolder(alternated / name), plan, SimpleNamespace()) for name in "ab"]
    monkeypatch.setattr(against, "is_taken", lambda path: sees_it)  # before, or just after another has made it
    with pytest.raises(RunError, match=f"{alternated}.*: already exists"):
        begin_runs(late, [asked_run(*WORDS, "-o", alternated / name) for name in "ab"])
    begin_runs(late, [asked_run("-o", alternated / name, "--resume") for name in "ab"])
    assert [run.plan.cache for run in late] == ["warm", "cold"]
    assert [path.name for path in alternated.parent.iterdir()] == ["P"]


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_what_a_kill_interrupts_is_gone_on_with(python, run_on_ranks, tmp_path):
    in_turn(0, python)
    place = tmp_path / "P"
    words = ["run", "-n", "2", *SHORT, "--launches", "2", "-o", str(place), "--against", "--cache cold"]
    starter = subprocess.Popen([str(python), "-m", "allreduce_bench", *words], stderr=subprocess.DEVNULL)
    wait_for_cells(starter, place / "b", 2)
    os.kill(starter.pid, signal.SIGKILL)
    starter.wait()
    for name in "ab":
        wait_until_nobody_measures(place / name)
    kept = {path: path.read_bytes() for path in place.glob("?/launches/*.cells.csv")}
    assert {path.parts[-3] for path in kept} == {"a", "b"}
    result = run_on_ranks("--resume", "-o", place)
    assert result.returncode == 0, result.stderr
    assert all(path.read_bytes() == content for path, content in kept.items())
    for name in "ab":
        cells = done(place / name)
        assert len(cells) == len(set(cells)) == 2 * 2 * 2
    assert result.stderr.splitlines()[-1].endswith(f"next: allreduce-bench compare {place}/a {place}/b")
    assert "cache cold" in result.stdout
    started = [min(path.stat().st_mtime for path in place.glob(f"{name}/launches/2r-2.1.calls.csv")) for name in "ab"]
    assert started[1] < started[0]  # the second round runs back
