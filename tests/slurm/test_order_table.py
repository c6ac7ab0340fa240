"""What is said of a submission: its jobs as a table, and what they may take."""

from pathlib import Path

import pytest

from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.plan import Plan
from allreduce_bench.runs.start import Start
from allreduce_bench.slurm.job_files import SubmissionChoices
from allreduce_bench.slurm.scripts import (
    HEADS,
    Rendering,
    System,
    Template,
    commands_of,
    jobs_folder,
    node_hours_sentence,
    order_rows,
    overrun_sentence,
    submission_facts,
)
from allreduce_bench.slurm.submit import SubmissionOrder, SweepJob, jobs_of

PLAN = Plan(("ring",), (8, 1024), (2, 4), launches=3, seed=1, floors=False, start=Start(ranks_per_node=2))


def rendering(sweep: Path, time_s: float | None = None) -> Rendering:
    return Rendering(
        sweep=sweep,
        job_name="allreduce",
        system=System("here", Path("here.cfg")),
        template=Template.read(jobs_folder() / "sweep.sbatch"),
        collecting=Template.read(jobs_folder() / "collect.sbatch"),
        venv="/scratch/.venv",
        command=["allreduce-bench", "submit"],
        time_s=time_s,
    )


@pytest.fixture
def jobs(tmp_path) -> list[SweepJob]:
    return jobs_of(tmp_path, [(RunFolder(tmp_path), PLAN)])


def test_the_jobs_and_the_one_that_collects_are_rows(tmp_path, jobs):
    assert order_rows(rendering(tmp_path), jobs, ["6", "7", "8"]) == [
        HEADS,
        ("1n", "6", "1", "2", "6", "00:10:00"),
        ("2n", "7", "2", "4", "6", "00:10:00"),
        ("collect", "8", "1", "", "", "00:10:00"),
    ]
    array = jobs_of(tmp_path, [(RunFolder(tmp_path), PLAN)], array=True)
    assert order_rows(rendering(tmp_path), array, [])[1] == ("1n", "", "1", "2", "6", "3 x 00:10:00")


def test_node_hours_and_jobs_that_may_not_end(tmp_path, jobs):
    sentence = node_hours_sentence(rendering(tmp_path), jobs)
    assert "0.667 if every" in sentence
    assert overrun_sentence(rendering(tmp_path), jobs) == ""
    assert overrun_sentence(rendering(tmp_path, time_s=1.0), jobs).endswith("and be requeued: 1n, 2n")


def test_the_command_lines_that_would_submit(tmp_path, jobs):
    shared = rendering(tmp_path)
    scripts, collecting = [shared.script(job) for job in jobs], shared.collect_script(jobs)
    lines = commands_of(SubmissionOrder(tmp_path, (), scripts, collecting, ("--nodelist=n1", "--qos=a b"), ()))
    folder = tmp_path / "jobs" / "1"
    assert lines[0] == (
        f"sbatch --parsable --nodelist=n1 '--qos=a b' --hold --output={folder}/1n-%j.out {folder}/1n.sbatch"
    )
    assert "--dependency=afterany:1n:2n" in lines[-1] and "nodelist" not in lines[-1]


def test_what_is_kept_of_a_submission(tmp_path, jobs):
    facts = submission_facts(rendering(tmp_path), jobs, SubmissionChoices("here", "allreduce"), "now", ["6", "7"], "8")
    assert (facts["system"], facts["collect"], facts["command"]) == ("here", "8", ["allreduce-bench", "submit"])
    last = {"name": "2n", "nodes": 2, "ranks_per_node": 2, "run": ".", "only": "4r", "script": "2n.sbatch", "job": "7"}
    assert last.items() <= facts["jobs"][1].items() and facts["jobs"][1]["limit_s"] == 600.0
