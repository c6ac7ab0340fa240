"""What a launcher of the user, and the mpirun of another MPI, are told."""

import pytest

from allreduce_bench.launching.find import mpirun_command
from allreduce_bench.launching.launcher import Launcher, LaunchError
from allreduce_bench.runs.start import Start

PLAIN = Launcher("mpirun", "Intel(R) MPI Library 2021.11", "plain")


def test_a_plain_mpirun_is_told_the_number_of_ranks(told):
    assert told(PLAIN, 3, launcher_args="-v") == "mpirun -n 3 -v"


def test_in_a_job_of_slurm_a_start_need_not_wait_for_the_step_before(told, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert told(PLAIN, 3) == "env SLURM_OVERLAP=1 SRUN_OVERLAP=1 mpirun -n 3"
    monkeypatch.setenv("SLURM_OVERLAP", "0")
    assert told(PLAIN, 3) == "env SRUN_OVERLAP=1 mpirun -n 3"


def test_a_template_is_filled_and_its_ranks_get_the_variables_by_env(told, monkeypatch):
    flux = Launcher("/bin/flux", "MPICH 5.0.2", "template")
    start = Start(launcher="flux run -n {ranks} -N {nodes} '{{x}}'", ranks_per_node=4, interface="lo")
    words = mpirun_command(flux, 6, start, ["program"])
    assert words[:7] == ["/bin/flux", "run", "-n", "6", "-N", "2", "{x}"] and words[7] == "env"
    assert "UCX_NET_DEVICES=lo" in words[8:-1] and words[-1] == "program"
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "4")
    assert told(flux, 2, launcher="flux run -n {ranks} -N {nodes}") == "/bin/flux run -n 2 -N 2"


def test_what_a_plain_mpirun_has_no_words_for_is_refused(told):
    with pytest.raises(LaunchError, match="--hosts, --bind-to: not supported .* mpirun of Intel"):
        told(PLAIN, 4, hosts=("a",), bind_to="core")
