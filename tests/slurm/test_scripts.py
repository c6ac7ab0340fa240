"""The scripts of a submission: what each job is told, and what the job that collects takes over."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.plan import Plan
from allreduce_bench.runs.start import Start
from allreduce_bench.slurm.scripts import Rendering, ScriptError, System, Template, jobs_folder
from allreduce_bench.slurm.submit import jobs_of

PLAN = Plan(("ring",), (8, 1024), (2, 4), launches=3, seed=1, floors=False, start=Start(ranks_per_node=2))
SWEEP = Path("/scratch/sweep")
JOBS = jobs_of(SWEEP, [(RunFolder(SWEEP), PLAN)])


def rendering(**sbatch: str) -> Rendering:
    return Rendering(
        sweep=SWEEP,
        job_name="allreduce",
        system=System("here", Path("here.cfg"), sbatch),
        template=Template.read(jobs_folder() / "sweep.sbatch"),
        collecting=Template.read(jobs_folder() / "collect.sbatch"),
        venv="/scratch/.venv",
        command=["allreduce-bench", "submit", "-o", "a b\nc"],
        steering=["--timeout", "9 s"],
    )


def test_a_script_says_all_that_its_job_needs():
    script = rendering(partition="debug").script(JOBS[1])
    template = Template("script", script.text)
    assert script.file == "2n.sbatch" and script.output == "2n-%j.out"
    values = {"job-name": "allreduce-2n", "nodes": "2", "ntasks-per-node": "2", "partition": "debug"}
    assert {**values, "time": "00:10:00"}.items() <= template.directives.items()
    for line in ("RUN=/scratch/sweep", "ONLY=4r", "VENV=/scratch/.venv", "WHAT=(--timeout '9 s')"):
        assert line in script.text
    assert "#   allreduce-bench submit -o 'a b\\nc'" in script.text.split("\n")[2]


def test_an_array_has_its_tasks_and_a_file_for_each():
    (job, _) = jobs_of(SWEEP, [(RunFolder(SWEEP), PLAN)], array=True)
    script = rendering().script(job)
    assert "#SBATCH --array=1-3" in script.text and script.output == "1n-%A_%a.out"


def test_the_limit_is_the_one_asked_for_else_the_systems_else_twice_what_is_expected():
    assert rendering().limit_s(1000.0) == 2100.0
    assert rendering(time="1:00:00").limit_s(1000.0) == 3600.0
    assert replace(rendering(time="1:00:00"), time_s=60.0).limit_s(1000.0) == 60.0
    error = "'soon' is not a time limit; expected minutes, such as 30, or such as 1:30:00, 2-12 or 90m"
    with pytest.raises(ScriptError, match=re.escape(f"here.cfg: [sbatch] time: {error}")):
        rendering(time="soon")


def test_the_job_that_collects_takes_over_what_is_not_meant_for_measuring():
    script = rendering(partition="debug", time="2:00:00", nodelist="n1").collect_script(JOBS)
    directives = Template("script", script.text).directives
    assert directives["partition"] == "debug" and directives["job-name"] == "allreduce-collect"
    assert "nodelist" not in directives and directives["time"] == "00:15:00" and "SWEEP=/scratch/sweep" in script.text
