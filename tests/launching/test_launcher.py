"""What all launchers share."""

import pytest

from allreduce_bench.launching.launcher import Launcher, LaunchError, on_one_node, refuse, remote_shell, with_variables
from allreduce_bench.runs.start import Start

SRUN, ADVICE = "srun", "advice"

HYDRA = Launcher("mpirun", "MPICH 5.0.2", "mpich")


@pytest.mark.parametrize(
    ("start", "environ", "is_one"),
    [
        ({}, {}, True),
        ({"hosts": ("a",)}, {}, True),
        ({"hosts": ("a", "b")}, {}, False),
        ({"ranks_per_node": 2}, {}, False),
        ({"launcher_args": "-f hosts"}, {}, False),
        ({}, {"SLURM_JOB_ID": "7"}, False),
        ({}, {"OMPI_MCA_orte_default_hostfile": "x"}, False),
    ],
)
def test_ranks_are_on_one_node_unless_something_says_otherwise(monkeypatch, start, environ, is_one):
    for name in ("SLURM_JOB_NUM_NODES", "SLURM_TASKS_PER_NODE"):
        monkeypatch.delenv(name, raising=False)
    assert on_one_node(HYDRA, 4, Start(**start), environ) == is_one
    assert not on_one_node(HYDRA._replace(kind="plain"), 4, Start(**start), environ)


def test_without_an_interface_the_program_is_started_as_it_is():
    assert with_variables(Start(), ["program"]) == ["program"]


def test_what_is_asked_for_in_vain_is_refused_by_its_options():
    refuse(Start(map_by="core"), ("hosts", "bind_to"), SRUN, ADVICE)
    with pytest.raises(LaunchError, match=f"^--bind-to: not supported with {SRUN}; {ADVICE}$") as refusal:
        refuse(Start(bind_to="core"), ("hosts", "bind_to"), SRUN, ADVICE)
    assert refusal.value.advice == ADVICE


def test_another_remote_shell_has_its_whole_path():
    assert remote_shell(Start()) is None
    program, *arguments = remote_shell(Start(remote_shell="env -u A"))
    assert program.startswith("/") and program.endswith("/env") and arguments == ["-u", "A"]
    with pytest.raises(LaunchError, match="'no-such-shell' not found"):
        remote_shell(Start(remote_shell="no-such-shell"))
