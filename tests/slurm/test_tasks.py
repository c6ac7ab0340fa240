"""Jobs and tasks of job arrays: as submitted, and as they wrote of themselves."""

import pytest
from made_sweeps import record, submit

from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.slurm.job_files import read_records, read_submissions
from allreduce_bench.slurm.job_states import BY_HAND, JobTask, tasks_of


@pytest.fixture
def sweep(tmp_path):
    path = tmp_path / "sweep"
    submit(path, {1: "101", 2: "102"})
    return path


def task(number: str, only: str) -> JobTask:
    return JobTask(number, "x", ".", 4, only, ())


def test_jobs_by_hand_stand_beside_those_that_were_submitted_by_age(sweep):
    submit(sweep, {2: "110"}, number=2, array="1-2")
    record(sweep, "99", "", nodes=["n1"])
    record(sweep, "110", "4r-2", task="2")
    record(sweep, "102", "4r", restart=1)
    record(sweep, "102", "4r", restart=0)
    tasks = tasks_of(read_submissions(sweep), {".": read_records(RunFolder(sweep))})
    assert [(task.id, task.name, task.submission) for task in tasks] == [
        ("99", "1n", BY_HAND),
        ("101", "1n", 1),
        ("102", "2n", 1),
        ("110_1", "2n-1", 2),
        ("110_2", "2n-2", 2),
    ]
    assert [len(task.records) for task in tasks] == [1, 0, 2, 0, 1]
    assert (tasks[2].restarts, tasks[2].record.restart) == (1, 1)
    assert [task.output_file for task in tasks[:2]] == ["", "jobs/1/1n-101.out"]


def test_a_task_knows_the_file_of_what_it_says(sweep):
    submit(sweep, {2: "110"}, number=2, array="1-2", run="4-per-node")
    task = tasks_of(read_submissions(sweep), {})[-1]
    assert (task.name, task.output_file) == ("2n-4-per-node-2", "jobs/2/2n-4-per-node-110_2.out")
