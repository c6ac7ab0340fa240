"""The private cluster is what it says, both MPIs work on it, and the doctor sees that."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import private_slurm
import pytest
from interpreters import FULL, in_turn
from waiting import ended, reached

from allreduce_bench.slurm import commands
from allreduce_bench.slurm.commands import SlurmError

REFUSED, TOO_MANY_NODES = "Job submit/allocate failed", "Node count specification invalid"  # as Slurm says it

NODES = list(private_slurm.NODES)


def on_nodes(bash: str, *words: str) -> list[str]:
    """What these lines of bash print on each of the nodes that srun is asked for, sorted."""
    command = ["srun", "--quiet", *words, "bash", "-c", bash]
    return sorted(subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.splitlines())


def batch(folder: Path, bash: str, *words: str) -> str:
    """What a job of these lines of bash says, when it has ended well."""
    script = folder / "job.sh"
    script.write_text(f"#!/bin/bash\n{bash}\n")
    job = ended(commands.submit(script, [f"--output={folder}/said", *words]))
    said = (folder / "said").read_text()
    assert job.state == "COMPLETED", said
    return said


def processes_of(folder: str) -> list[int]:
    """The processes that work in a cluster's folder, or were started by those that do."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"PRIVATE_SLURM={folder}\0".encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def test_nodes_are_hosts_of_their_own(cluster):
    cluster.wait()
    assert on_nodes("hostname", "-N4") == NODES
    assert on_nodes("touch /dev/shm/$(hostname); ls /dev/shm | grep -x n.", "-N2", "-n2") == NODES[:2]
    address, name = on_nodes("getent hosts $(hostname)", "-N1")[0].split()  # n1, if its last step is cleared away
    assert name in NODES and address == f"10.78.0.{NODES.index(name) + 1}"
    assert commands.switches_of_nodes(NODES) == {"n1": "s0/s1", "n2": "s0/s1", "n3": "s0/s2", "n4": "s0/s2"}


def test_partitions_that_refuse(cluster, tmp_path):
    by_name = {one.name: one for one in commands.partitions()}
    assert by_name["batch"].default and by_name["batch"].nodes == NODES
    assert (by_name["small"].sizes, by_name["small"].limit, by_name["closed"].available) == ("1", "1:00", "down")
    script = tmp_path / "x.sbatch"
    script.write_text("#!/bin/bash\ntrue\n")
    with pytest.raises(SlurmError, match=TOO_MANY_NODES):
        commands.test_only(script, ["--partition=small", "--nodes=2"])
    with pytest.raises(SlurmError, match="time limit"):
        commands.test_only(script, ["--partition=small", "--time=5"])


def test_a_run_in_a_job_is_on_its_nodes(cluster, python, tmp_path):
    in_turn(1, python)
    words = "run -n 4 --ranks-per-node 2 --sizes 8 -a native,ring --iters 3 --launches 1 --identify=never"
    said = batch(tmp_path, f"exec {python} -m allreduce_bench {words} -o {tmp_path}/run", "-N2", "--ntasks-per-node=2")
    assert "4 ranks on 2 nodes" in said and "2 of 2 cells done, 0 wrong elements." in said
    facts = json.loads((tmp_path / "run" / "launches" / "4r-1.1.json").read_text())
    assert facts["hosts"] == ["n1", "n1", "n2", "n2"] and facts["nodes"] == 2


def test_which_looks_at_ranks_that_srun_started(cluster, python, tmp_path):
    if "mpich" not in str(python):
        pytest.skip("Slurm starts ranks by pmi2 here, which MPICH takes")
    which = f"{python} -m allreduce_bench which --sizes 8,64K --format json"
    said = batch(tmp_path, f"exec srun --mpi=pmi2 {which} 2>{tmp_path}/stderr", "-N2", "--ntasks-per-node=2")
    found = json.loads(said)
    assert (found["ranks"], found["nodes"]) == (4, 2) and found["library"].startswith("MPICH")
    assert all(size["by_order"] and size["names"] for size in found["sizes"])


def test_the_doctor_on_the_login_node_and_in_a_job(cluster, python, tmp_path):
    in_turn(1, python)
    command = [str(python), "-m", "allreduce_bench", "doctor", "--slurm"]
    outside = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert outside.returncode == 0, outside.stdout + outside.stderr
    inside = batch(tmp_path, f"exec {' '.join(command)}", "-N2", "--nodelist=n3,n4")
    for said, hosts in ((outside.stdout, "n1, n2"), (inside, "n3, n4")):
        lines = {line[9:19].strip(): (line[:8].strip(), line[21:]) for line in said.splitlines() if line[0] != " "}
        level, text = lines["mpirun"]
        assert level == "ok" and f"{hosts} communicate" in text, said
        assert "selects mpirun" in lines["launcher"][1]
        if "MPICH" in lines["PMI"][1]:
            assert lines["srun pmi2"][0] == "ok" and f"2 ranks on {hosts}" in lines["srun pmi2"][1]
    assert "waiting for nodes" in outside.stdout and "waiting for nodes" not in inside
    assert subprocess.run(["squeue", "--noheader"], capture_output=True, text=True, check=True).stdout == ""


def test_the_doctor_shows_slurms_refusal(cluster, python):
    in_turn(0, python)
    command = [str(python), "-m", "allreduce_bench", "doctor", "--slurm", "--", "-p", "small"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 1
    assert ["severe", "nodes", f"salloc: {REFUSED}: {TOO_MANY_NODES}"] in [
        line.split(maxsplit=2) for line in result.stdout.splitlines()
    ]


@pytest.mark.skipif(not FULL, reason="jobs that lose a node are tried anyway; ALLREDUCE_BENCH_FULL=1 make slurm-test")
def test_a_node_dies_and_comes_back(cluster, tmp_path):
    script = tmp_path / "x.sbatch"
    script.write_text("#!/bin/bash\nsleep 300\n")
    number = commands.submit(script, ["--nodelist=n4", "--no-requeue", f"--output={tmp_path}/said"])
    reached(number, "RUNNING")
    cluster.kill("n4")
    try:
        reached(number, "NODE_FAIL")
    finally:
        cluster.start("n4")
    cluster.wait()
    assert on_nodes("hostname", "-N4") == NODES


def test_a_second_cluster_ends_with_whoever_started_it(cluster, tmp_path):
    environment = {**os.environ, "PRIVATE_SLURM": str(tmp_path / "absent")}
    command = [sys.executable, private_slurm.__file__, "run", "bash", "-c", "echo $PRIVATE_SLURM; srun sleep 300"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as second:
        folder = second.stdout.readline().strip()
        assert folder != str(cluster.folder) and len(processes_of(folder)) > 10
        second.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 30
    while left := processes_of(folder):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)
    cluster.wait()
