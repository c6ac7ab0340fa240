"""An environment is copied to each node, its programs run there, and it is gone when the job has ended."""

import subprocess
import time
import venv

from places import JOBS
from waiting import ended

from allreduce_bench.slurm import commands

NODES = "--nodelist=n1,n2"


def on_disks() -> str:
    """What of ours is on the own disks of both nodes; MPI of killed ranks may have left something, too."""
    command = [
        "srun",
        "--quiet",
        NODES,
        "-N2",
        "-n2",
        "sh",
        "-c",
        "ls -d /dev/shm/allreduce-bench-* 2> /dev/null; true",
    ]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def test_an_environment_is_on_each_node_until_the_job_ends(cluster, tmp_path):
    cluster.wait()
    environment = tmp_path / "environment"
    venv.create(environment)
    program = environment / "bin" / "where"
    program.write_text(f"#!{environment}/bin/python\nimport os, sys; print(os.uname().nodename, sys.prefix)\n")
    program.chmod(0o755)
    job = tmp_path / "job.sh"
    job.write_text(
        f"#!/bin/bash\nVENV=$(bash {JOBS}/stage.sh {environment} /dev/shm) && srun -N2 -n2 --overlap $VENV/bin/where\n"
    )
    found = ended(commands.submit(job, [f"--output={tmp_path}/said", NODES, "-N2", "--ntasks-per-node=2"]))
    said = (tmp_path / "said").read_text()
    assert found.state == "COMPLETED", said
    (one, first), (other, second) = sorted(line.split() for line in said.splitlines())
    assert (one, other) == ("n1", "n2") and first == second and first.startswith("/dev/shm/allreduce-bench-")
    deadline = time.monotonic() + 60
    while on_disks():
        assert time.monotonic() < deadline, on_disks()
        time.sleep(0.5)
