"""The jobs of a sweep: one for each run and number of nodes, for what is left there, and what each is told."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from job_scripts import run_script
from made_runs import build_run
from slurm_programs import SlurmPrograms

from allreduce_bench.cli import main
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.plan import Plan, PlanError
from allreduce_bench.runs.recorder import create_run
from allreduce_bench.runs.start import Start
from allreduce_bench.slurm.job_files import HERE, Submission, SubmissionChoices, SweepJob
from allreduce_bench.slurm.jobs import START_S, collecting_job, jobs_of, name_of_run, scripts_of
from allreduce_bench.slurm.system import System

START = Start(ranks_per_node=2)
PLAN = Plan(("ring",), (8, 1024), (2, 4), launches=3, seed=1, floors=False, start=START)
SWEEP = Path("/scratch/sweep")


def system(**sbatch: str | None) -> System:
    return System("here", Path("here.cfg"), sbatch)


def jobs(sweep: Path = SWEEP, *runs: tuple[RunFolder, Plan], site: System | None = None, **choices) -> list[SweepJob]:
    """The jobs of PLAN in the sweep itself, or of other runs."""
    return jobs_of(sweep, runs or [(RunFolder(sweep), PLAN)], SubmissionChoices("here", **choices), site or system())


def scripts(site: System, sweep: Path = SWEEP, **choices) -> dict[str, str]:
    measuring = jobs(sweep, site=site, **choices)
    chosen, command = SubmissionChoices("here", **choices), ("allreduce-bench", "submit")
    submission = Submission(1, "", command, chosen, tuple(measuring), collecting_job(measuring))
    return scripts_of(submission, sweep, site, "/scratch/.venv")


def directives(script: str) -> dict[str, str]:
    return dict(re.findall(r"^#SBATCH --([\w-]+)=?(\S*)", script, re.MULTILINE))


def test_a_job_for_each_number_of_nodes():
    one, two = jobs()
    assert (one.name, one.nodes, one.ranks, one.only, one.cells) == ("1n", 1, 2, "2r", 6)
    assert (two.name, two.nodes, two.run, two.script, two.tasks()) == ("2n", 2, HERE, "2n.sbatch", {"": "4r"})
    assert two.node_hours(1800.0) == 1.0
    (short, _) = jobs(within_s=1.0)
    assert short.expected_s == START_S + 1.0 < one.expected_s


def test_each_launch_of_an_array_is_a_task():
    (whole, _), (array, _) = jobs(), jobs(array=True)
    assert (array.array, len(array.tasks()), array.cells) == ("1-3", 3, whole.cells)
    assert array.expected_s == pytest.approx(whole.expected_s / 3)
    assert replace(array, job="7").tasks() == {"7_1": "2r-1", "7_2": "2r-2", "7_3": "2r-3"}


def test_a_run_in_the_sweep_names_its_jobs():
    run = RunFolder(SWEEP / name_of_run(2, several=True))
    assert [job.name for job in jobs(SWEEP, (run, PLAN))] == ["1n-2-per-node", "2n-2-per-node"]
    assert name_of_run(2, several=False) == HERE


def test_what_is_finished_needs_no_job(tmp_path):
    run = build_run(tmp_path / "run", outcome=lambda launch, cell: {} if launch.name != "4r-2" else None)
    plan = Plan.from_json({**run.plan().to_json(), "start": PLAN.to_json()["start"]})
    (job,) = jobs(tmp_path / "run", (run, plan), array=True)
    assert (job.ranks, job.array) == (4, "2")


def test_ranks_that_fill_no_whole_nodes_are_refused(tmp_path):
    with pytest.raises(PlanError, match="3 ranks, 2 on each node: not a.*number of nodes"):
        jobs(tmp_path, (RunFolder(tmp_path), Plan(("ring",), (8,), (3,), 1, 1, start=START)))
    with pytest.raises(PlanError, match="a plan without --ranks-per-node: not a.*number of nodes"):
        jobs(tmp_path, (RunFolder(tmp_path), Plan(("ring",), (8,), (2,), 1, 1)))


def test_the_limit_is_the_one_asked_for_else_the_systems_else_twice_what_is_expected():
    long = (RunFolder(SWEEP), replace(PLAN, cell_time_s=100.0))
    assert [job.limit_s for job in jobs(SWEEP, long)] == [1500.0, 1500.0]
    assert jobs(SWEEP, long, site=system(time="1:00:00"))[0].limit_s == 3600.0
    assert jobs(SWEEP, long, site=system(time="1:00:00"), time_s=60.0)[0].limit_s == 60.0
    assert [collecting_job(jobs(SWEEP, long, time_s=time_s)).limit_s for time_s in (60.0, 600.0, 9999.0)] == [
        300.0,
        600.0,
        900.0,
    ]


def test_a_script_says_what_its_job_measures_and_the_plan_how():
    said = scripts(system(partition="debug", requeue=None), steering=("--timeout=9s",), within_s=90.0)
    assert list(said) == ["1n.sbatch", "2n.sbatch", "collect.sbatch"]
    values = {"job-name": "allreduce-2n", "nodes": "2", "ntasks-per-node": "2", "partition": "debug", "time": "10:00"}
    fixed = {"exclusive": "", "open-mode": "append", "signal": "B:USR1@120"}
    assert directives(said["2n.sbatch"]) == values | fixed
    words = "run --resume --requeue --within=90s --timeout=9s --output=/scratch/sweep --only=4r"
    assert said["2n.sbatch"].splitlines()[-1] == f"exec -- /scratch/.venv/bin/allreduce-bench {words}"


def test_a_script_of_an_array_has_its_tasks_and_short_limits_a_short_warning():
    said = scripts(system(), array=True, time_s=60.0)["1n.sbatch"]
    assert directives(said)["array"] == "1-3" and directives(said)["signal"] == "B:USR1@25"
    assert said.endswith('--only=2r"-$SLURM_ARRAY_TASK_ID"\n')
    assert "signal" not in directives(scripts(system(signal=None))["1n.sbatch"])


def test_the_job_that_collects_takes_over_what_is_not_meant_for_measuring():
    said = scripts(system(partition="debug", time="2:00:00", nodelist="n1", signal="USR2"))["collect.sbatch"]
    site = {"partition": "debug", "time": "15:00", "requeue": "", "open-mode": "append"}
    assert directives(said) == {"job-name": "allreduce-collect", "nodes": "1", "ntasks": "1", **site}
    assert said.endswith("allreduce-bench collect -- /scratch/sweep\n")


def test_a_job_starts_its_ranks_as_the_plan_says_and_none_where_its_run_is_gone(tmp_path, monkeypatch):
    """The whole script, with a launcher in the place of the plan's that notes how it was called."""
    starter = tmp_path / "starter"
    starter.write_text(f'#!/bin/bash\nprintf "%s\\0" "$@" > "{tmp_path}/started"\nexit 1\n')
    starter.chmod(0o755)
    start = Start(f"{starter} -n {{ranks}} -N {{nodes}}", "--x 'a b'", ranks_per_node=2, interface="lo")
    sweep = tmp_path / "a sweep"
    plan = replace(PLAN, ranks=(4,), start=start)
    create_run(RunFolder(sweep), plan, [])
    chosen, measuring = SubmissionChoices("here"), tuple(jobs(sweep, (RunFolder(sweep), plan)))
    submission = Submission(1, "", ("submit",), chosen, measuring, collecting_job(measuring))
    script = tmp_path / "2n.sbatch"
    script.write_text(scripts_of(submission, sweep, system(), sys.prefix)["2n.sbatch"])
    in_job = {"SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_NODELIST": "n[1-2]"}
    result = run_script(script, str(tmp_path), tmp_path, **in_job)
    words = (tmp_path / "started").read_text().split("\0")
    assert result.status == 1 and words[:6] == ["-n", "4", "-N", "2", "--x", "a b"], result.complaint
    assert "OMPI_MCA_btl_tcp_if_include=lo" in words
    (sweep / "run.json").unlink()
    before = sorted(sweep.rglob("*"))
    result = run_script(script, str(tmp_path), tmp_path, **in_job)
    assert result.status == 2 and result.complaint.count("\n") == 1 and f"no run {sweep}/run.json" in result.complaint
    assert sorted(sweep.rglob("*")) == before


def test_a_job_of_submit_calls_srun_as_the_system_says(tmp_path, monkeypatch):
    slurm = SlurmPrograms(tmp_path / "bin", monkeypatch)
    slurm.answer("srun", "exit 1")
    (tmp_path / "site.cfg").write_text("[site]\nlauncher = srun\nlauncher_args = --mpi=pmix --exclusive\n")
    words = ["--nodes", "2", "--ranks-per-node", "3", "--sizes", "8", "-a", "ring", "--launches", "1"]
    sweep = tmp_path / "sweep"
    command = ["submit", *words, "--system", str(tmp_path / "site.cfg"), "-o", str(sweep)]
    assert CliRunner().invoke(main, command, catch_exceptions=False).exit_code == 0
    result = run_script(sweep / "jobs" / "1" / "2n.sbatch", str(tmp_path), tmp_path, SLURM_JOB_NUM_NODES="2")
    assert result.status == 1, result.complaint
    (call,) = [call for call in slurm.calls("srun") if "--exclusive" in call]
    assert call[:2] == ["-n", "6"] and {"--mpi=pmix", "--ntasks-per-node=3"} <= set(call)
    assert "--launcher" not in (sweep / "jobs" / "1" / "2n.sbatch").read_text()
