"""The files of an order, as the launchers of Open MPI and MPICH understand them: on virtual hosts."""

import os
import subprocess

import pytest
from interpreters import interpreters

from allreduce_bench.lab.lab import AGENT, room, variables_in
from allreduce_bench.order.command import order_text

HOSTS = ("h2", "h1", "h2", "h1")
RANK = "(os.environ.get('OMPI_COMM_WORLD_RANK') or os.environ['PMI_RANK'])"
LINE = f"{RANK} + ' ' + platform.node() + os.linesep"
SAY = f"import os, platform; os.write(1, ({LINE}).encode())"  # at once, so that lines stay whole


@pytest.mark.usefixtures("needs_lab")
@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_ranks_sit_where_the_file_says(python, tmp_path):
    mpirun, file = python.with_name("mpirun"), tmp_path / "order"
    is_open = python.with_name("ompi_info").exists()
    if not is_open and not python.with_name("mpichversion").exists():
        pytest.skip("neither Open MPI nor MPICH")
    file.write_text(order_text(HOSTS, "openmpi" if is_open else "mpich"))
    words = ["--allow-run-as-root", "--oversubscribe", "--host", "h1:2,h2:2", "--prtemca", "plm_ssh_agent", AGENT]
    words = (
        [*words, "--map-by", f"rankfile:file={file}"]
        if is_open
        else ["-launcher", "ssh", "-launcher-exec", AGENT, "-f", file]
    )
    with room([None, None]) as made:
        command = made.command(0, [mpirun, *words, "-n", 4, python, "-c", SAY])
        result = subprocess.run(
            command, env=variables_in(made, os.environ), capture_output=True, text=True, timeout=240, check=False
        )
    said = sorted(result.stdout.split("\n")[:-1])
    assert said == [f"{rank} {host}" for rank, host in enumerate(HOSTS)], result.stderr
