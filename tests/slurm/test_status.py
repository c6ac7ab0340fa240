"""`status` as people type it, with programs in place of Slurm's, and without any."""

import os
from pwd import getpwuid

import pytest
from click.testing import CliRunner, Result
from made_runs import build_run
from made_sweeps import build_sweep, record, submit
from slurm_programs import SlurmPrograms

from allreduce_bench.cli import main


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    return SlurmPrograms(tmp_path / "slurm", monkeypatch)


@pytest.fixture
def no_slurm(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))


def status(*words) -> Result:
    result = CliRunner().invoke(main, ["status", *map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def table(*words) -> list[str]:
    result = status(*words)
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def test_queued_running_and_done_with_what_to_do_next(tmp_path, slurm):
    sweep = tmp_path / "a sweep"
    build_sweep(sweep, {"4r-2": 4, "4r-3": 0, "8r-1": 0, "8r-2": 0, "8r-3": 0})
    submit(sweep, {1: "101", 2: "102", 4: "103"})
    record(sweep, "101", "2r", end="done")
    record(sweep, "102", "4r", restart=0, end="warned", requeued=True)
    record(sweep, "102", "4r", restart=1)
    slurm.answer("squeue", "echo '101|COMPLETED|n1|3:00|30:00|None'; echo '102|RUNNING|n[1-2]|12:30|30:00|None'; "
                 "echo '103|PENDING||0:00|30:00|Resources'; echo '199|PENDING||0:00|15:00|Dependency'")  # fmt: skip
    head, *rows = table(sweep)
    assert head.split() == ["name", "job", "nodes", "ranks", "cells", "elapsed", "state"]
    assert rows == [
        "1n       101  1      2      36/36  3:00     done",
        "2n       102  2      4      16/36  12:30    running on n[1-2], 17:30 of 30:00 remaining, requeued once",
        "4n       103  4      8      0/36            queued (Resources)",
        "collect  199  1                             queued (Dependency)",
        "52 of 108 cells done; 2 jobs unfinished; job 199 then collects them",
    ]
    assert "--jobs=101,102,103,199" in slurm.calls("squeue")[0]
    assert status(sweep).stderr == ""


def test_jobs_that_failed_say_why_and_the_next_step_submits_the_rest(tmp_path, slurm):
    build_sweep(tmp_path / "s", {"4r-3": 4, "8r-3": 0})
    submit(tmp_path / "s", {1: "101", 2: "102", 4: "103"})
    record(tmp_path / "s", "101", "2r", end="done")
    record(tmp_path / "s", "102", "4r")
    slurm.answer("sacct", "echo '101|COMPLETED|n1|95|30|0:0|None'; echo '102|TIMEOUT|n1|1803|30|0:15|None'; "
                 "echo '103|NODE_FAIL|n3|5|30|1:0|None'; echo '199|FAILED|n1|90061|30|1:0|None'")  # fmt: skip
    *rows, last = table(tmp_path / "s")
    assert [row.split("  ")[-1].strip() for row in rows[1:]] == [
        "done",
        "hit its time limit of 30:00",
        "lost its node n3",
        "failed, or cells are missing",
    ]
    assert [row.split()[-len(row.split("  ")[-1].split()) - 1] for row in rows[1:]] == [
        "1:35",
        "30:03",
        "0:05",
        "1-01:01:01",
    ]
    assert last == (
        f"88 of 108 cells done; next: allreduce-bench submit --resume -o {tmp_path}/s (to list missing cells: "
        f"allreduce-bench collect {tmp_path}/s)"
    )


@pytest.mark.parametrize(("state", "said"), [("RUNNING", "is collecting them"), ("PENDING", "will collect them")])
def test_what_the_collecting_job_is_about_to_collect_is_left_to_it(state, said, tmp_path, slurm):
    build_sweep(tmp_path / "s", {"8r-3": 0})
    submit(tmp_path / "s", {1: "101", 2: "102", 4: "103"})
    slurm.answer("squeue", "for job in 101 102 103; do echo \"$job|COMPLETED|n1|3:00|30:00|None\"; done; "
                 f"echo '199|{state}|n1|0:01|15:00|None'")  # fmt: skip
    assert table(tmp_path / "s")[-1] == f"96 of 108 cells done; job 199 {said}"


def test_all_jobs_of_the_newest_submission_and_older_ones_that_have_not_ended(tmp_path, slurm):
    build_sweep(tmp_path / "s")
    submit(tmp_path / "s", {1: "101", 2: "102"}, number=1, collect="103")
    submit(tmp_path / "s", {4: "104"}, number=2, collect="105", array="1-3")
    slurm.answer("squeue", "echo '102|RUNNING|n1|0:01|UNLIMITED|None'; echo '104_[2-3]|PENDING||0:00|30:00|Priority'")
    slurm.answer("sacct", "echo '101|COMPLETED|n1|1|30|0:0|None'; echo '104_1|CANCELLED by 0|n1|1|30|0:0|None'; "
                 "echo '105|COMPLETED|n1|1|30|0:0|None'")  # fmt: skip
    assert [row.split("  ", 1)[0] for row in table(tmp_path / "s")[1:-1]] == ["2n", "4n-1", "4n-2", "4n-3", "collect"]
    states = [row.split("  ")[-1].strip() for row in table(tmp_path / "s")[1:-1]]
    said = table(tmp_path / "s")[-1]
    assert "3 jobs" in said and f"collect {tmp_path}/s" in said
    assert states == [
        "running on n1",
        f"was cancelled by {getpwuid(0).pw_name}",
        "queued (Priority)",
        "queued (Priority)",
        "done",
    ]


def test_without_slurm_states_come_from_what_the_jobs_wrote_and_that_is_said(tmp_path, no_slurm):
    build_sweep(tmp_path / "s", {"8r-3": 5})
    submit(tmp_path / "s", {1: "101", 2: "102", 4: "103"})
    record(tmp_path / "s", "101", "2r", end="done")
    record(tmp_path / "s", "103", "8r")
    *rows, last = table(tmp_path / "s")
    assert [row.split("  ")[-1].strip() for row in rows[1:]] == [
        "done",
        "has not started to measure",
        "may be running, or ended without a message",
        "unknown",
    ]
    assert "101 of 108 cells done; next, when all jobs" in last and f"collect {tmp_path}/s" in last
    said = status(tmp_path / "s").stderr
    assert "scontrol not found" in said and "no Slurm" in said and "job states" in said


def test_jobs_by_hand_in_one_allocation_measure_all_rank_counts(tmp_path, no_slurm):
    build_sweep(tmp_path / "s")
    record(tmp_path / "s", "77", "", end="done")
    header, row, last = table(tmp_path / "s")
    assert row.split() == ["2n", "77", "2", "2,4,8", "108/108", "done"]
    assert f"108 of 108 cells done; next: allreduce-bench collect {tmp_path}/s" in last
    page = tmp_path / "s" / "report.html"
    page.touch()
    assert table(tmp_path / "s")[-1] == "108 of 108 cells done"
    os.utime(page, (1e9, 1e9))  # of an earlier job
    assert table(tmp_path / "s")[-1] == last


def test_several_runs_are_told_apart(tmp_path, no_slurm):
    for each in (1, 4):
        folder = build_run(tmp_path / "s" / f"{each}-per-node", ranks=(4,), sizes=(8,), launches=1)
        submit(tmp_path / "s", {4 // each: f"10{each}"}, number=each, run=folder.path.name, only="4r")
        record(folder.path, f"10{each}", "4r", end="done")
    *rows, last = table(tmp_path / "s")
    assert len(rows) == 3 and rows[1].split() == ["1n-4-per-node", "104", "1", "4", "3/3", "done"]
    assert last.startswith("6 of 6 cells done")


def test_the_newest_sweep_in_results_is_taken_where_none_is_named(tmp_path, no_slurm):
    result = status()
    assert result.exit_code == 2 and "sweep in results/" in result.stderr
    for age, name in enumerate(("new", "old")):
        build_run(tmp_path / "results" / name, ranks=(2,), sizes=(8,), launches=1)
        record(tmp_path / "results" / name, "7", "", end="done")
        os.utime(tmp_path / "results" / name / "jobs", (1e9 - age, 1e9 - age))
    build_run(tmp_path / "results" / "no sweep", ranks=(2,), sizes=(8,), launches=1)
    assert table()[-1].endswith("next: allreduce-bench collect results/new")


def test_what_is_no_sweep_is_refused_in_one_line(tmp_path, no_slurm):
    build_run(tmp_path / "run", ranks=(2,), sizes=(8,), launches=1)
    for path, why in {"run": "no job was submitted for it", ".": "contains no run", "x": "no such folder"}.items():
        if path == ".":
            (tmp_path / "empty").mkdir()
            path = "empty"
        result = status(tmp_path / path)
        assert result.exit_code == 2 and why in result.stderr and result.stderr.count("\n") == 1, result.output
        assert not result.stdout
