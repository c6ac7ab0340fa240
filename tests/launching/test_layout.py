"""How many ranks each node gets, and for how many a job has room."""

import pytest

from allreduce_bench.launching.layout import nodes_for, ranks_a_node, ranks_of_job
from allreduce_bench.runs.start import Start


@pytest.fixture(autouse=True)
def no_job(monkeypatch):
    for name in ("SLURM_JOB_NUM_NODES", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_TASKS_PER_NODE"):
        monkeypatch.delenv(name, raising=False)


def test_ranks_of_a_node_count_hosts_slots_and_ranks_per_node(monkeypatch):
    assert ranks_a_node(8) == 8 and nodes_for(8, Start()) is None
    assert ranks_a_node(8, Start(hosts=("a", "b"))) == 4
    assert ranks_a_node(3, Start(hosts=("a", "b:1", "c"))) == 1
    assert ranks_a_node(8, Start(hosts=("a:2", "b:6"))) == 6 and ranks_a_node(2, Start(hosts=("a:2", "b:6"))) == 2
    assert ranks_a_node(9, Start(hosts=("a:2", "b:2"))) == 5
    assert ranks_a_node(8, Start(ranks_per_node=2)) == 2 and nodes_for(7, Start(ranks_per_node=2)) == 4
    assert nodes_for(2, Start(hosts=("a:2", "b:6"))) == 1
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "3")
    assert ranks_a_node(8) == 3 and nodes_for(2, Start()) == 2
    monkeypatch.setenv("SLURM_TASKS_PER_NODE", "4(x2),3")
    assert ranks_a_node(3) == 3 and nodes_for(3, Start()) == 1
    assert ranks_a_node(11) == 4 and nodes_for(11, Start()) == 3 and ranks_a_node(14) == 5


@pytest.mark.parametrize(
    ("variables", "number"),
    [
        ({"SLURM_NTASKS": "16"}, 16),
        ({"SLURM_NTASKS": "16", "SLURM_NTASKS_PER_NODE": "4", "SLURM_JOB_NUM_NODES": "8"}, 16),
        ({"SLURM_NTASKS_PER_NODE": "4", "SLURM_JOB_NUM_NODES": "8"}, 32),
        ({"SLURM_TASKS_PER_NODE": "4(x2),3", "SLURM_JOB_NUM_NODES": "3"}, 11),
        ({"SLURM_NTASKS": "odd", "SLURM_JOB_NUM_NODES": "3"}, None),
        ({}, None),
    ],
)
def test_a_job_says_how_many_ranks_there_are(variables, number):
    assert ranks_of_job(variables) == number


def test_ranks_per_node_are_on_every_node_of_the_job():
    variables = {"SLURM_NTASKS": "16", "SLURM_JOB_NUM_NODES": "4"}
    assert ranks_of_job(variables, 2) == 8 and ranks_of_job({}, 2) is None
