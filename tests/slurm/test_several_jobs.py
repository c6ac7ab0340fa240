"""Several jobs write into one run at the same time: nothing is lost, nothing counts twice, and no reader stumbles."""

import csv
import json
import multiprocessing
import os
import subprocess
from collections import Counter
from dataclasses import asdict, replace
from errno import EIO, ESTALE
from pathlib import Path

import pytest
from asked_runs import asked_run
from interpreters import in_turn, interpreters
from made_runs import build_run, launch_facts
from measured_runs import bench, done
from read_calls import calls_of

from allreduce_bench.cli import request
from allreduce_bench.evaluation.frames import medians_of, read_calls
from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.runs import typed_json
from allreduce_bench.runs.folder import KEY, RunFolder, key_of
from allreduce_bench.runs.plan import Cell, Launch, Plan
from allreduce_bench.runs.recorder import Recorder, create_run, mark_unfinished_cell, write_summary
from allreduce_bench.runs.rows import RunError
from allreduce_bench.runs.schema import SUMMARY, names
from allreduce_bench.runs.typed_json import read_json

JOBS, CALLS = 4, 5
PLAN = Plan(("native", "ring"), (8, 1024), (2, 3, 4, 5), 3, seed=1, floors=False)


def together(work, *arguments: tuple) -> list:
    """What each call of `work` gives; all of them begin at the same moment, each in a process of its own."""
    spawned = multiprocessing.get_context("fork")
    gate, results = spawned.Barrier(len(arguments)), spawned.Queue()

    def one(number: int, given: tuple) -> None:
        gate.wait()
        results.put((number, work(*given)))

    processes = [spawned.Process(target=one, args=item) for item in enumerate(arguments)]
    for process in processes:
        process.start()
    found = dict(results.get(timeout=240) for _ in processes)
    for process in processes:
        process.join()
    return [found[number] for number in range(len(processes))]


def keep(recorder: Recorder, launch: Launch, cell: Cell, **changes) -> None:
    common = {**asdict(cell), "ranks": launch.ranks, "nodes": 1, "wrong": 0}
    facts = {**common, "state": "done", "repetitions": CALLS, **changes}
    call = {**facts, "valid": True, "warmup": False, "in_place": False, "iterations": 1, "time_definition": "x"}
    recorder.cell(facts, [{**call, "repetition": number, "time_s": 1e-6 * (1 + number)} for number in range(CALLS)])


def record(path: Path, launches: list[Launch]) -> int:
    """Write these launches, whoever else does; the number of the attempts of the last one."""
    folder, attempt = RunFolder(path), 0
    for launch in launches:
        recorder = Recorder(folder, launch.name, launch_facts(launch.ranks))
        attempt = recorder.attempt
        for cell in PLAN.cells(launch):
            keep(recorder, launch, cell)
    return attempt


def begin(path: Path) -> str:
    try:
        create_run(RunFolder(path), PLAN, ["allreduce-bench", "run", str(os.getpid())])
        return "began it"
    except RunError as error:
        return str(error)


def test_of_several_that_begin_a_run_one_does_and_it_is_whole(tmp_path):
    for number in range(10):
        path = tmp_path / f"run {number}"
        said = Counter(together(begin, *[(path,)] * JOBS))
        refusal = f"{path}: already exists; choose another folder with -o, or continue it with --resume"
        assert said == {"began it": 1, refusal: JOBS - 1}
        assert RunFolder(path).plan() == PLAN and (path / "launches").is_dir()
    assert {path.name for path in tmp_path.iterdir()} == {f"run {number}" for number in range(10)}


@pytest.mark.parametrize("sees_it", [True, False])
def test_who_comes_too_late_to_begin_a_run_takes_the_plan_of_the_other(tmp_path, monkeypatch, sees_it):
    folder, mine = RunFolder(tmp_path / "run"), replace(PLAN, seed=PLAN.seed + 1)
    create_run(folder, PLAN, [])
    answers = iter([sees_it] * 2)  # what it sees after it has planned its own: the other has made it, or is about to
    monkeypatch.setattr(request, "is_taken", lambda path: next(answers, True))
    with pytest.raises(RunError, match="already exists"):
        request.begin_run(folder, mine, asked_run("-o", folder.path))
    assert request.begin_run(folder, mine, asked_run("-o", folder.path, "--resume")) == PLAN


def test_jobs_that_write_at_once_lose_nothing(tmp_path):
    path = tmp_path / "run"
    create_run(RunFolder(path), PLAN, [])
    of_job = [[launch for launch in PLAN.planned_launches() if launch.ranks == ranks] for ranks in PLAN.ranks]
    assert together(record, *[(path, launches) for launches in of_job]) == [1] * JOBS
    folder = RunFolder(path)
    cells = {(launch.name, *cell.key) for launch in PLAN.planned_launches() for cell in PLAN.cells(launch)}
    marks = Counter((mark["launch"], *key_of(mark)) for mark in folder.marks())
    rows = Counter((row["launch"], *(row[name] for name in KEY)) for row in calls_of(folder))
    assert marks == dict.fromkeys(cells, 1) and rows == dict.fromkeys(cells, CALLS)
    assert len(folder.attempts()) == len(PLAN.planned_launches()) and folder.pending(PLAN) == []
    assert all(row["launches"] == 3 and row["repetitions"] == 3 * CALLS for row in summarise(folder))


def test_two_starts_of_a_job_that_overlap_count_once(tmp_path):
    path, launch = tmp_path / "run", Launch(2, 1)
    create_run(RunFolder(path), PLAN, [])
    assert sorted(together(record, (path, [launch]), (path, [launch]))) == [1, 2]
    folder = RunFolder(path)
    assert len(list(path.glob("launches/2r-1.*.csv"))) == 4
    marks = folder.marks()
    assert {mark["attempt"] for mark in marks} == {"1"} and len(marks) == len(PLAN.cells(launch))
    assert {row["attempt"] for row in calls_of(folder)} == {"1"}
    assert set(medians_of(read_calls(folder), marks).loc[:, "calls"]) == {CALLS}
    assert {row["wrong"] for row in summarise(folder) if row["ranks"] == 2} == {0}


def test_the_first_attempt_that_finished_a_cell_stands_whatever_their_names_sort_like(tmp_path):
    folder, launch = RunFolder(tmp_path / "run"), Launch(2, 1)
    create_run(folder, PLAN, [])
    first, second, third = PLAN.cells(launch)[:3]
    for attempt in range(1, 12):
        recorder = Recorder(folder, launch.name, launch_facts(2))
        if attempt in (2, 10):
            keep(recorder, launch, first)
        if attempt in (10, 11):
            keep(recorder, launch, second)
        if attempt == 11:
            keep(recorder, launch, third, state="hung", reason="rank 1")
    stand = {(key_of(mark), mark["attempt"], mark["state"]) for mark in folder.marks()}
    assert stand == {(first.key, "2", "done"), (second.key, "10", "done"), (third.key, "11", "hung")}


def test_a_failed_check_is_not_hidden_by_a_start_before_it(tmp_path):
    folder, launch = RunFolder(tmp_path / "run"), Launch(2, 1)
    create_run(folder, PLAN, [])
    cell = PLAN.cells(launch)[0]
    keep(Recorder(folder, launch.name, launch_facts(2)), launch, cell)
    keep(Recorder(folder, launch.name, launch_facts(2)), launch, cell, state="wrong", wrong=3)
    (row,) = [row for row in summarise(folder) if (row["ranks"], row.get("wrong")) == (2, 3)]
    assert row["state"] == "wrong"


def test_a_mark_about_a_cell_goes_to_the_attempt_that_began_it(tmp_path):
    folder = build_run(
        tmp_path / "run", algorithms=("ring",), sizes=(8,), ranks=(2,), launches=1, outcome=lambda *_: None
    )
    Recorder(folder, "2r-1", launch_facts(2))  # of a job that started meanwhile
    cell = folder.plan().cells(Launch(2, 1))[0]
    facts = {**asdict(cell), "ranks": 2, "size_bytes": 8, "state": "hung"}
    mark_unfinished_cell(folder, Launch(2, 1), {**facts, "attempt": 1})
    mark_unfinished_cell(folder, Launch(2, 1), facts)
    assert [(row["attempt"], row["state"]) for row in folder.marks()] == [("1", "hung"), ("2", "hung")]


def write_often(path: Path) -> int:
    folder = RunFolder(path)
    rows = summarise(folder)
    torn = 0
    for _ in range(30):
        write_summary(folder, rows)
        with open(folder.summary_csv, newline="") as file:
            found = list(csv.DictReader(file))
        torn += len(found) != len(rows) or list(found[0]) != names(SUMMARY)
    return torn


def test_jobs_that_write_the_summary_at_once_leave_a_whole_one_at_any_time(tmp_path):
    folder = build_run(tmp_path / "run", launches=1)
    assert together(write_often, *[(folder.path,)] * JOBS) == [0] * JOBS
    assert sorted(path.name for path in folder.path.iterdir()) == ["launches", "run.json", "summary.csv"]


def test_a_file_that_was_just_replaced_is_read_again(tmp_path, monkeypatch):
    path = tmp_path / "2r-1.1.json"
    path.write_text(json.dumps({"launch": "2r-1"}))
    real, failures = typed_json.read_kept, [OSError(ESTALE, "Stale file handle"), FileNotFoundError(2, "gone")]

    def read(path):
        if failures:
            raise failures.pop()
        return real(path)

    monkeypatch.setattr(typed_json, "read_kept", read)
    assert read_json(path) == {"launch": "2r-1"}
    failures[:] = [OSError(EIO, "Input/output error")]
    with pytest.raises(RunError, match="2r-1.1.json: Input/output error"):
        read_json(path)
    failures[:] = [OSError(ESTALE, "Stale file handle")] * 9
    with pytest.raises(RunError, match="2r-1.1.json: Stale file handle"):
        read_json(path)


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_two_jobs_of_one_run_begin_it_and_measure_at_once(python, tmp_path):
    in_turn(1, python)
    folder = tmp_path / "run"
    words = ["-n", "1,2", "--sizes", "8,4K", "-a", "native,ring", "--iters", 5, "--launches", 2, "--no-reference-times"]
    words += ["--identify=never"]

    def job(only: str) -> subprocess.Popen:
        given = ["run", *map(str, words), "--only", only, "--resume", "-o", str(folder)]
        command = [str(python), "-m", "allreduce_bench", *given]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    for process in [job("1r"), job("2r"), job("2r")]:
        _, said = process.communicate(timeout=600)
        assert process.returncode == 0, said
    marks = RunFolder(folder).marks()
    assert len(marks) == len({(row["launch"], *key_of(row)) for row in marks}) == 2 * 2 * 4
    assert {row["launches"] for row in summarise(RunFolder(folder))} == {2}
    assert bench(python, "run", "--resume", "-o", folder).returncode == 0 and len(set(done(folder))) == 16
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
