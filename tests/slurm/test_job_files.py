"""What is kept of jobs, read; damage in one line."""

import json
import re

import pytest
from made_runs import build_run
from made_sweeps import record, submit

from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.rows import RunError
from allreduce_bench.slurm.job_files import read_records, read_submissions, runs_of


@pytest.fixture
def sweep(tmp_path):
    path = tmp_path / "sweep"
    submit(path, {1: "101", 2: "102"})
    return path


def test_submissions_come_in_order_and_one_that_is_being_made_is_left_out(sweep):
    submit(sweep, {2: "110"}, number=10, array="1-3,5")
    submit(sweep, {2: "105"}, number=2, collect="106")
    (sweep / "jobs" / "11").mkdir()
    one, two, ten = read_submissions(sweep)
    assert [submission.number for submission in (one, two, ten)] == [1, 2, 10]
    assert (one.collect.job, two.collect.job, one.choices.system, one.jobs[0].limit_s) == (
        "199",
        "106",
        "generic",
        1800,
    )
    assert one.jobs[1].tasks() == {"102": "4r"}
    assert ten.jobs[0].tasks() == {f"110_{n}": f"4r-{n}" for n in (1, 2, 3, 5)}
    assert read_submissions(sweep / "nowhere") == []


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda said: said.pop("choices"), "missing: choices"),
        (lambda said: said.update(jobs="none"), "jobs: found 'none'"),
        (lambda said: said["jobs"][0].update(nodes="2"), "jobs: nodes: found '2'"),
        (lambda said: said["jobs"][0].update(limit_s=True), "jobs: limit_s: found True"),
        (lambda said: said["jobs"][0].update(array="1-x"), "jobs: array: .*1-x"),
        (lambda said: said["jobs"][0].update(array="1-99999999"), "jobs: array: .*1-99999999"),
        (lambda said: said.update(collect=["1"]), r"collect: found \['1'\]"),
    ],
)
def test_a_damaged_submission_is_refused_with_its_place(sweep, change, why):
    path = sweep / "jobs" / "1" / "submission.json"
    said = json.loads(path.read_text())
    change(said)
    path.write_text(json.dumps(said))
    with pytest.raises(RunError, match=f"submission.json: damaged: {why}"):
        read_submissions(sweep)


def test_records_of_all_starts_but_no_half_written_one(sweep):
    record(sweep, "101", "2r", restart=1, end="done", why="\x1b[2Jfine")
    record(sweep, "101", "2r", end="warned", requeued=True)
    record(sweep, "102", "4r-2", task="2")
    (sweep / "jobs" / "job-103.0.json").write_text('{"job": "103", ')
    first, task, second = read_records(RunFolder(sweep))
    assert (first.id, first.restart, first.requeued, first.ended) == ("101", 0, True, None)
    assert (second.end, second.why) == ("done", "?[2Jfine")  # nothing moves the cursor of a terminal
    assert (task.id, task.nodes) == ("102_2", ("n1", "n2"))


@pytest.mark.parametrize(("name", "value", "expected"), [("restart", "0", "a whole number"), ("nodes", "n1", "a list")])
def test_a_damaged_record_is_refused_with_its_place(sweep, name, value, expected):
    record(sweep, "104", "4r")
    (path,) = (sweep / "jobs").glob("job-104.*.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))
    found = f"found {repr(value):.60}, expected {expected}"
    damage = f"{name:.60}: {found}"
    with pytest.raises(RunError, match=re.escape(f"{path}: damaged: {damage}")):
        read_records(RunFolder(sweep))


def test_the_runs_of_a_sweep(tmp_path):
    build_run(tmp_path / "sweep" / "1-per-node", launches=1, ranks=(2,), sizes=(8,))
    build_run(tmp_path / "sweep" / "4-per-node", launches=1, ranks=(2,), sizes=(8,))
    assert [run.path.name for run in runs_of(tmp_path / "sweep")] == ["1-per-node", "4-per-node"]
    assert [run.path.name for run in runs_of(tmp_path / "sweep" / "1-per-node")] == ["1-per-node"]
    with pytest.raises(RunError, match="contains no run; expected.*'allreduce-bench submit'"):
        runs_of(tmp_path)
    with pytest.raises(RunError, match="no such folder; expected.*'allreduce-bench submit'"):
        runs_of(tmp_path / "x")
