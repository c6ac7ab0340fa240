"""What a sweep is asked for becomes its choices, and the plans of its runs."""

from pathlib import Path

import pytest
from made_sweeps import submitted_job

from allreduce_bench.cli.request import Request
from allreduce_bench.cli.submit import choices_of, new_runs, submit
from allreduce_bench.runs.plan import PlanError
from allreduce_bench.slurm.job_files import Submission, SubmissionChoices
from allreduce_bench.slurm.system import System

SYSTEM = System("here", Path("here.cfg"), launcher="srun", interface="ib0")


def asked(*words: str, given: set[str]) -> Request:
    """The request of these words."""
    return Request(submit.make_context("submit", list(words)).params, frozenset(given))


def test_choices_are_those_of_the_command_line_else_of_the_submission_before():
    words = ["--nodes", "1,2", "--within", "90s", "--timeout", "5s", "--max-time", "8:15us"]
    given = {"nodes", "within_s", "wait_idle_s", "timeout_s"}
    system, choices = choices_of(asked(*words, "--wait-idle", "1m", "--", "--account=me", given=given))
    steering = ("--wait-idle=60s", "--timeout=5s", "--max-time=8:0.000015000000s")
    assert choices == SubmissionChoices(str(system.path), None, 90.0, False, steering, ("--account=me",))
    assert system.name == "generic"
    before = [Submission(1, "", (), choices, (), submitted_job("collect", "9"))]
    assert choices_of(asked("--resume", given={"resume"}), before)[1] == choices
    request = asked("--resume", "--array", "--timeout", "9s", given={"resume", "timeout_s"})
    again = choices_of(request, before)[1]
    assert again == SubmissionChoices(str(system.path), None, 90.0, True, ("--timeout=9s",), ("--account=me",))


def test_a_new_sweep_has_a_run_for_each_number_of_ranks_per_node_as_the_system_starts_them(tmp_path):
    words = ["--nodes", "1,2", "--ranks-per-node", "2,4", "--sizes", "8", "-a", "ring", "--interface", "lo"]
    runs = new_runs(asked(*words, given={"nodes", "ranks_per_node", "interface"}), tmp_path / "sweep", SYSTEM)
    assert [(plan.ranks, plan.start.ranks_per_node) for _, plan in runs] == [((2, 4), 2), ((4, 8), 4)]
    assert [(plan.start.launcher, plan.start.interface) for _, plan in runs] == [("srun", "lo")] * 2
    assert not (tmp_path / "sweep").exists()
    with pytest.raises(PlanError, match="expected node"):
        new_runs(asked("--sizes", "8", given=set()), tmp_path / "sweep", SYSTEM)
