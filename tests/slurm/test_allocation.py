"""The Slurm job that a process belongs to, by its variables."""

import pytest
from slurm_programs import SlurmPrograms

from allreduce_bench.runs.plan import Launch, Plan
from allreduce_bench.runs.rows import RunError
from allreduce_bench.runs.start import Start
from allreduce_bench.slurm.allocation import Allocation, allocation, refuse_few_nodes, why_shared

JOB = {"SLURM_JOB_ID": "12", "SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_NODELIST": "n[1-2]"}


def test_the_variables_of_a_job_are_read():
    here = allocation({**JOB, "SLURM_RESTART_COUNT": "3"})
    assert here == Allocation("12", "12", None, 3, ("n1", "n2"), 2) and here.name == "12"
    task = allocation({"SLURM_JOB_ID": "15", "SLURM_ARRAY_JOB_ID": "12", "SLURM_ARRAY_TASK_ID": "4"})
    assert task == Allocation("15", "12", "4", 0, (), None) and task.name == "12_4"
    odd = allocation({"SLURM_JOB_ID": "12", "SLURM_JOB_NODELIST": "n[1-", "SLURM_RESTART_COUNT": "x"})
    assert odd == Allocation("12", "12", None, 0, (), None)
    assert allocation({}) is None and allocation({"SLURM_JOB_ID": "../12"}) is None


def test_a_launch_that_needs_more_nodes_than_the_job_has_is_refused_in_a_sentence():
    plan = Plan(("ring",), (8,), (4, 9), 1, 1, start=Start(ranks_per_node=4))
    here = Allocation("12", "12", None, 0, ("n1", "n2"), 2)
    refuse_few_nodes(here, plan, [Launch(4, 1), Launch(8, 1)])
    refuse_few_nodes(None, plan, [Launch(9, 1)])
    refuse_few_nodes(here._replace(node_count=None), plan, [Launch(9, 1)])
    with pytest.raises(RunError) as caught:
        refuse_few_nodes(here, plan, [Launch(4, 1), Launch(9, 1)])
    assert str(caught.value) == (
        "launch 9r-1: 9 ranks at 4 per node need 3 nodes, but job 12 has 2; submit it with --nodes=3, or choose other "
        "launches with --only"
    )


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("echo JobId=12 OverSubscribe=NO Contiguous=0", ""),
        ("echo JobId=12 OverSubscribe=OK Contiguous=0", "job 12 may share its nodes (OverSubscribe=OK)"),
        ("echo JobId=12 OverSubscribe=USER", "job 12 may share its nodes (OverSubscribe=USER)"),
        ("echo JobId=12", "job 12 may share its nodes (OverSubscribe=unknown)"),
        ("exit 1", "whether job 12 has its nodes alone is unknown: scontrol: exit status 1"),
    ],
)
def test_an_exclusive_job_has_its_nodes_alone(answer, reason, tmp_path, monkeypatch):
    SlurmPrograms(tmp_path, monkeypatch).answer("scontrol", answer)
    assert why_shared(JOB) == reason


def test_outside_of_a_job_of_slurm_nodes_are_alone_where_there_is_no_scheduler(tmp_path, monkeypatch):
    assert "PBS_JOBID is set" in why_shared({"PBS_JOBID": "7"})
    SlurmPrograms(tmp_path / "programs", monkeypatch)
    assert "machine with Slurm" in why_shared({})
    monkeypatch.setenv("PATH", str(tmp_path))
    assert why_shared({}) == ""
