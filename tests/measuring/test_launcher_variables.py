"""What the variables of Open MPI, MPICH and Slurm tell a process before MPI is started."""

import pytest

from allreduce_bench.machine.node import cores
from allreduce_bench.measuring.launcher_variables import (
    rank_of,
    ranks_on_this_node,
    size_of,
    thread_level,
    under_launcher,
)

OPEN_MPI = {"OMPI_COMM_WORLD_SIZE": "8", "OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_LOCAL_SIZE": "4"}
MPICH = {"PMI_SIZE": "8", "PMI_RANK": "3", "MPI_LOCALNRANKS": "4"}
SLURM = {
    "SLURM_STEP_ID": "0",
    "SLURM_STEP_NUM_TASKS": "8",
    "SLURM_PROCID": "3",
    "SLURM_STEP_TASKS_PER_NODE": "4(x2)",
}


@pytest.mark.parametrize("environ", [OPEN_MPI, MPICH, SLURM], ids=["openmpi", "mpich", "slurm"])
def test_every_launcher_tells_rank_size_and_ranks_of_this_node(environ):
    assert under_launcher(environ)
    assert (size_of(environ), rank_of(environ), ranks_on_this_node(environ)) == (8, 3, 4)


def test_without_a_launcher_the_rank_is_0_and_the_size_unknown():
    assert not under_launcher({})
    assert (size_of({}), rank_of({}), ranks_on_this_node({})) == (None, 0, None)
    assert size_of({"PMI_SIZE": "many"}) is ranks_on_this_node({"PMI_SIZE": "many"}) is None


@pytest.mark.parametrize("step", ["", "4294967290", "4294967291"])
def test_a_batch_script_or_a_shell_of_slurm_is_no_rank(step):
    assert not under_launcher({"SLURM_STEP_ID": step, "SLURM_STEP_NUM_TASKS": "8"})
    assert not under_launcher({"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1"})


def test_the_thread_level_is_multiple_only_where_ranks_outnumber_cores():
    assert thread_level("auto", None) == thread_level("auto", cores()) == "single"
    assert thread_level("auto", cores() + 1) == "multiple"
    assert thread_level("funneled", cores() + 1) == "funneled"
