"""The jobs of a sweep: one for each run and number of nodes, for what is left there."""

import pytest
from made_runs import build_run

from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.plan import Plan, PlanError
from allreduce_bench.runs.start import Start
from allreduce_bench.slurm.submit import HERE, START_S, jobs_of, name_of_run

PLAN = Plan(("ring",), (8, 1024), (2, 4), launches=3, seed=1, floors=False, start=Start(ranks_per_node=2))


def test_a_job_for_each_number_of_nodes(tmp_path):
    one, two = jobs_of(tmp_path, [(RunFolder(tmp_path), PLAN)])
    assert (one.name, one.nodes, one.ranks, one.only, one.cells, one.launches) == ("1n", 1, 2, "2r", 6, (1, 2, 3))
    assert (two.name, two.nodes, two.run, two.label, two.tasks) == ("2n", 2, HERE, "2n", 1)
    assert two.node_hours(1800.0) == 1.0
    (short, _) = jobs_of(tmp_path, [(RunFolder(tmp_path), PLAN)], within_s=1.0)
    assert short.expected_s == START_S + 1.0 < one.expected_s


def test_each_launch_of_an_array_is_a_task(tmp_path):
    whole, _ = jobs_of(tmp_path, [(RunFolder(tmp_path), PLAN)])
    array, _ = jobs_of(tmp_path, [(RunFolder(tmp_path), PLAN)], array=True)
    assert (array.array, array.tasks, array.cells) == ("1-3", 3, whole.cells)
    assert array.expected_s == pytest.approx(whole.expected_s / 3)


def test_a_run_in_the_sweep_names_its_jobs(tmp_path):
    run = RunFolder(tmp_path / name_of_run(2, several=True))
    assert [job.label for job in jobs_of(tmp_path, [(run, PLAN)])] == ["1n-2-per-node", "2n-2-per-node"]
    assert name_of_run(2, several=False) == HERE


def test_what_is_finished_needs_no_job(tmp_path):
    run = build_run(tmp_path / "run", outcome=lambda launch, cell: {} if launch.name != "4r-2" else None)
    plan = Plan.from_json({**run.plan().to_json(), "start": PLAN.to_json()["start"]})
    (job,) = jobs_of(tmp_path / "run", [(run, plan)], array=True)
    assert (job.ranks, job.launches, job.array) == (4, (2,), "2")


def test_ranks_that_fill_no_whole_nodes_are_refused(tmp_path):
    odd = Plan(("ring",), (8,), (3,), 1, 1, start=Start(ranks_per_node=2))
    with pytest.raises(PlanError, match="3 ranks, 2 on each node: not a.*number of nodes"):
        jobs_of(tmp_path, [(RunFolder(tmp_path), odd)])
    with pytest.raises(PlanError, match="a plan without --ranks-per-node: not a.*number of nodes"):
        jobs_of(tmp_path, [(RunFolder(tmp_path), Plan(("ring",), (8,), (2,), 1, 1))])
