"""What a sweep is asked for becomes the folder, the words for sbatch, and what its jobs are told."""

from pathlib import Path

import pytest

from allreduce_bench.cli.submit import SubmissionRequest, new_sweep, submission_request, submit
from allreduce_bench.runs.plan import PlanError


def requested(*words: str, given: set[str]) -> SubmissionRequest:
    return submission_request(submit.make_context("submit", list(words)).params, given)


def test_a_sweep_is_asked_for_with_what_its_jobs_are_told():
    words = ["--nodes", "1,2", "--within", "90s", "--timeout", "5s", "--max-time", "8:15us", "--job-name", "x"]
    given = {"nodes", "within_s", "wait_idle_s", "timeout_s"}
    sweep = requested(*words, "--wait-idle", "1m", "--ranks-per-node", "4", "--", "--account=me", given=given)
    assert sweep.steering == ("--within=90s", "--wait-idle=60s", "--timeout=5s", "--max-time=8:0.000015000000s")
    assert (sweep.arguments, sweep.nodes, sweep.ranks_per_node) == (("--account=me",), (1, 2), (4,))
    assert sweep.output.parent == Path("results") and sweep.output.name.endswith("_x")
    assert (sweep.array, sweep.run.control.requeue) == (None, False)


def test_a_new_sweep_has_a_run_for_each_number_of_ranks_per_node(tmp_path):
    words = ["--nodes", "1,2", "--ranks-per-node", "2,4", "--sizes", "8", "-a", "ring", "-o", str(tmp_path / "sweep")]
    sweep, choices, runs = new_sweep(requested(*words, given={"nodes", "ranks_per_node"}))
    assert sweep == tmp_path / "sweep" and choices.job_name == "allreduce"
    assert [(plan.ranks, plan.start.ranks_per_node) for _, plan in runs] == [((2, 4), 2), ((4, 8), 4)]
    assert not sweep.exists()


def test_a_sweep_without_nodes_and_one_without_a_folder_are_refused():
    with pytest.raises(PlanError, match="expected node"):
        new_sweep(requested("--sizes", "8", given=set()))
    with pytest.raises(PlanError, match="--resume needs"):
        _ = requested("--resume", given={"resume"}).output
