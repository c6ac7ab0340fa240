"""Whether this is a login node: a scheduler is here, and no job runs."""

import pytest
from slurm_programs import SlurmPrograms

from allreduce_bench.launching import login_node


@pytest.mark.parametrize(
    ("answer", "command"),
    [
        ("echo 'Slurmctld(primary) at c1 is UP'", "sbatch"),
        ("echo 'Slurmctld(primary) at c1 is DOWN'; echo 'Slurmctld(backup) at c2 is UP'; exit 1", "sbatch"),
        ("echo 'Slurmctld(primary) at c1 is DOWN'; exit 1", None),
        ("echo 'scontrol: fatal: Could not establish a configuration source' >&2; exit 1", None),
        ("exec sleep 60", None),
    ],
)
def test_slurm_programs_alone_make_no_login_node(tmp_path, monkeypatch, answer, command):
    monkeypatch.setattr(login_node, "CONTROLLER_S", 1.0)
    slurm = SlurmPrograms(tmp_path / "bin", monkeypatch)
    slurm.answer("sbatch", "exit 0")
    slurm.answer("scontrol", answer)
    path = f"{slurm.folder}:/usr/bin:/bin"
    assert login_node.idle_scheduler({"PATH": path}) == command
    assert login_node.idle_scheduler({"PATH": path, "SLURM_JOB_ID": "17"}) is None
