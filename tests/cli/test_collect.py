"""`collect` of one sweep: what is missing and why, the command that measures it, summary and report."""

import csv
import json
import re
from html import unescape
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from made_runs import build_run
from made_sweeps import build_sweep, record, submit
from slurm_programs import SlurmPrograms

from allreduce_bench.cli import main
from allreduce_bench.report import page as report
from allreduce_bench.report.page import write_report
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.slurm.sweep import missing_of_run

TIMEOUT = "echo '103|TIMEOUT|n[1-4]|1800|30|0:15|None'"


@pytest.fixture(autouse=True)
def words_only(monkeypatch):
    """Figures and models take long."""
    monkeypatch.setattr(report, "time_pictures", lambda *_: [])
    monkeypatch.setattr(report, "model_pictures", lambda *_: [])
    monkeypatch.setattr(report, "fit_series", lambda *_, **__: [])


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    return SlurmPrograms(tmp_path / "slurm", monkeypatch)


@pytest.fixture
def sweep(tmp_path) -> Path:
    """Of 8 ranks ring and two_tree of 1 MiB are missing in launch 2, and all of launch 3."""
    path = tmp_path / "a sweep"

    def outcome(launch, cell):
        late = launch.name == "8r-3" or (
            launch.name == "8r-2" and cell.algorithm != "native" and cell.size_bytes == 1 << 20
        )
        return None if late else {}

    build_sweep(path, outcome=outcome)
    submit(path, {1: "101", 2: "102", 4: "103"})
    record(path, "101", "2r", end="done")
    record(path, "102", "4r", end="done")
    record(path, "103", "8r")
    return path


LOST = [
    "ring, two_tree 1 MiB at 8 ranks: launch 2: job 103 hit its time limit of 30:00",
    "all 12 cells at 8 ranks: launch 3: job 103 hit its time limit of 30:00",
]


def collect(*words) -> Result:
    result = CliRunner().invoke(main, ["collect", *map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def page(path: Path) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", "", path.read_text())))


def test_a_complete_sweep_says_so(tmp_path, slurm):
    build_sweep(tmp_path / "s")
    submit(tmp_path / "s", {1: "101"})
    result = collect(tmp_path / "s")
    assert result.exit_code == 0
    assert result.stdout == f"all 108 cells complete\nreport: {tmp_path}/s/report.html\n"
    assert "incomplete launches" not in page(tmp_path / "s" / "report.html")
    assert (tmp_path / "s" / "summary.csv").is_file()


def test_what_is_missing_and_why_and_the_command_that_measures_it(sweep, slurm):
    slurm.answer("sacct", TIMEOUT)
    result = collect(sweep)
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        *LOST,
        "94 of 108 cells complete",
        "the jobs took 2.00 node-hours by Slurm's count, the longest 30:00",
        f"to submit the missing cells again: allreduce-bench submit --resume -o '{sweep}'",
        f"report: {sweep}/report.html",
    ]


def test_the_report_says_what_is_missing_too_and_still_when_slurm_has_forgotten(sweep, slurm):
    slurm.answer("sacct", TIMEOUT)
    collect(sweep)
    for _ in range(2):
        said = page(sweep / "report.html")
        assert "incomplete launches" in said and all(one in said for one in LOST)
        slurm.answer("sacct")
        assert collect(sweep).stdout.splitlines()[:2] == LOST
        write_report([RunFolder(sweep)], sweep / "report.html", missing=[missing_of_run(RunFolder(sweep))])


@pytest.mark.parametrize(("cells", "end"), [(12, "done"), (9, "failed, or cells are missing")])
def test_status_knows_how_the_collecting_job_ended_when_slurm_has_forgotten_it(
    tmp_path, slurm, monkeypatch, cells, end
):
    build_sweep(tmp_path / "s", {"8r-3": cells})
    submit(tmp_path / "s", {4: "103"})

    def state() -> str:
        return CliRunner().invoke(main, ["status", f"{tmp_path}/s"]).stdout.splitlines()[-2].split("  ")[-1].strip()

    collect(tmp_path / "s")
    assert state() == "unknown"
    monkeypatch.setenv("SLURM_JOB_ID", "199")
    slurm.answer("squeue", "echo '199|RUNNING|n1|0:01|15:00|None'")
    collect(tmp_path / "s")
    assert state() == "running on n1"
    slurm.answer("squeue")
    assert state() == end


def test_a_cell_that_no_launch_has_says_why_in_the_summary_and_in_the_page(tmp_path, slurm):
    build_sweep(tmp_path / "s", {"8r-1": 0, "8r-2": 0, "8r-3": 0})
    submit(tmp_path / "s", {4: "103"})
    slurm.answer("sacct", "echo '103|CANCELLED by 0|n[1-4]|1800|30|0:15|None'")
    assert collect(tmp_path / "s").stdout.startswith(
        "all 12 cells at 8 ranks: launches 1 to 3: job 103 was cancelled by"
    )
    with open(tmp_path / "s" / "summary.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["ranks"] == "8"]
    assert len(rows) == 12
    assert {(row["state"], row["reason"]) for row in rows} == {("missing", "job 103 was cancelled by root")}
    assert "missing8native8 B, 1 KiB, 64 KiB, 1 MiBjob 103 was cancelled by root" in page(
        tmp_path / "s" / "report.html"
    )


def test_while_jobs_are_at_work_nothing_is_submitted_again(sweep, slurm):
    slurm.answer("squeue", "echo '103|RUNNING|n[1-4]|1:00|30:00|None'")
    result = collect(sweep)
    assert result.exit_code == 1 and "job 103 is still running" in result.stdout and "on n[1-4]" in result.stdout
    assert "running: job 103" in result.stdout
    assert "submit" not in result.stdout
    assert "103" not in json.loads((sweep / "jobs" / "ended.json").read_text())


def test_a_failed_check_is_no_reason_to_submit_again(tmp_path, slurm):
    def outcome(launch, cell):
        wrong = launch.ranks == 8 and cell.algorithm == "ring"
        return {"state": "wrong", "wrong": 3} if wrong else {}

    build_sweep(tmp_path / "s", outcome=outcome)
    submit(tmp_path / "s", {4: "103"})
    result = collect(tmp_path / "s")
    assert result.exit_code == 1 and "submit" not in result.stdout
    assert "ring 8 B to 1 MiB at 8 ranks: launches 1 to 3: wrong: 3 wrong elements\n" in result.stdout


def test_bits_that_a_proved_schedule_fixes_and_that_differ_fail_a_check(tmp_path, slurm):
    build_sweep(tmp_path / "s", outcome=lambda launch, cell: {"promised_same_bits": 1, "same_bits": False})
    submit(tmp_path / "s", {4: "103"})
    result = collect(tmp_path / "s")
    assert result.exit_code == 1 and "error: " in result.stderr and "differ although" in result.stderr
    assert "report: " in result.stdout


def test_a_sweep_of_two_runs_has_one_report_and_one_command(tmp_path, slurm):
    for each in (1, 4):
        folder = build_sweep(tmp_path / "s" / f"{each}-per-node", {"8r-3": 0} if each == 4 else {}, ranks=(4, 8))
        submit(tmp_path / "s", {8 // each: f"10{each}"}, number=each, run=folder.path.name, only="8r")
    slurm.answer("sacct", "echo '104|OUT_OF_MEMORY|n1|5|30|0:125|None'; echo '101|COMPLETED|n1|5|30|0:0|None'")
    result = collect(tmp_path / "s", "-o", tmp_path / "both.html")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "4-per-node: all 12 cells at 8 ranks: launch 3: job 104 ran out of memory",
        "132 of 144 cells complete",
        "the jobs took 0.0139 node-hours by Slurm's count, the longest 0:05",
        f"to submit the missing cells again: allreduce-bench submit --resume -o {tmp_path}/s",
        f"report: {tmp_path}/both.html",
    ]
    said = page(tmp_path / "both.html")
    assert "All-reduce: 2 runs" in said and said.count("launch 3: job 104 ran out of memory") == 1
    for each in (1, 4):
        assert (tmp_path / "s" / f"{each}-per-node" / "summary.csv").is_file()
    one = RunFolder(tmp_path / "s" / "4-per-node")
    write_report([one], tmp_path / "one.html", missing=[missing_of_run(one)])
    assert "launch 3" in page(tmp_path / "one.html")


def test_before_the_first_cell_there_is_no_report(tmp_path, slurm):
    build_run(tmp_path / "s", outcome=lambda launch, cell: None, ranks=(2,), sizes=(8,), launches=2)
    submit(tmp_path / "s", {1: "101"})
    slurm.answer("sacct", "echo '101|FAILED|n1|5|30|2:0|None'")
    result = collect(tmp_path / "s")
    assert result.exit_code == 1 and "no report" in result.stderr
    why = "job 101 ended with status 2 before it started to measure, see jobs/1/1n-101.out"
    assert result.stdout.splitlines()[:2] == [f"all 3 cells at 2 ranks: launches 1, 2: {why}", "0 of 6 cells complete"]
    assert not (tmp_path / "s" / "report.html").exists()


def test_without_slurm_it_goes_by_what_the_jobs_wrote(sweep, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    result = collect(sweep)
    assert result.exit_code == 1 and "scontrol not found" in result.stderr and "no Slurm" in result.stderr
    assert result.stdout.startswith(
        LOST[0].replace("hit its time limit of 30:00", "may be running, or ended without a message")
    )


def test_a_folder_of_runs_by_hand_keeps_how_their_jobs_ended(tmp_path, slurm):
    build_sweep(tmp_path / "results" / "allreduce-7")
    record(tmp_path / "results" / "allreduce-7", "7", "", end="done")
    slurm.answer("sacct", "echo '7|COMPLETED|n1|5|30|0:0|None'")
    assert collect(tmp_path / "results").exit_code == 0
    assert "COMPLETED" in (tmp_path / "results" / "jobs" / "ended.json").read_text()


def test_a_run_without_jobs_is_gone_on_with_by_run(tmp_path):
    build_sweep(tmp_path / "run", {"8r-3": 0})
    result = collect(tmp_path / "run")
    assert result.exit_code == 1 and not result.stderr
    assert result.stdout.splitlines()[:3] == [
        "all 12 cells at 8 ranks: launch 3: its launch was not started, or has not ended",
        "96 of 108 cells complete",
        f"to measure the missing cells: allreduce-bench run --resume -o {tmp_path}/run",
    ]
    assert not (tmp_path / "run" / "jobs").exists()
    assert "incomplete launches" not in page(tmp_path / "run" / "report.html")  # whoever stopped it knows


def test_what_was_skipped_on_purpose_is_not_missing(tmp_path, slurm):
    def outcome(launch, cell):
        return {"state": "skipped", "reason": "needs more memory"} if cell.size_bytes == 1 << 20 else {}

    build_sweep(tmp_path / "s", outcome=outcome)
    submit(tmp_path / "s", {4: "103"})
    result = collect(tmp_path / "s")
    assert result.exit_code == 0 and result.stdout.startswith("all 108 cells complete (27 skipped intentionally)\n")
