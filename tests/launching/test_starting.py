"""Runs under launchers that are scripts, and what is refused before anything is started or written."""

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest
from interpreters import interpreters
from measured_runs import bench, here, mpirun, one_line_error, script, with_package
from rank_programs import launch

LO = next(name for _, name in socket.if_nameindex() if name.startswith("lo"))

FAKE = """#!/bin/sh
# {name}, as a script: writes down its arguments and starts the ranks with this MPI's own mpirun
case "$*" in *--mpi=list*)
    printf 'MPI plugin types are...\\n\\tnone\\n\\tpmi2\\n\\tpmix\\n' >&2
    echo 'specific pmix plugin versions available: pmix_v4' >&2
    exit 1
esac
printf '%s\\n' "$@" > {record}
until [ "$1" = env ] || [ "$1" = {python} ]; do shift; done
exec {mpirun} "$@"
"""

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")


def run_with(python: Path, folder: Path, name: str, words: list) -> tuple[list[str], dict]:
    """Run with a script in place of the launcher `name`: what it was told, and the facts of the launch."""
    record = folder / "told"
    script(folder / name, FAKE.format(python=python, name=name, record=record, mpirun=" ".join(launch(python, 2))))
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    measured = ["-n", 2, "--sizes", 8, "-a", "ring", "--iters", 3, "--launches", 1, "-o", folder / "run"]
    environ = {**with_package(), "PATH": path}
    result = bench(python, "run", *measured, *words, env=environ)
    assert result.returncode == 0, result.stderr
    return record.read_text().splitlines(), json.loads((folder / "run" / "launches" / "2r-1.1.json").read_text())


@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_a_run_under_srun(python, tmp_path):
    words = ["--launcher", "srun", "--ranks-per-node", 2, "--bind-to", "none", "--launcher-args", "-v"]
    told, facts = run_with(python, tmp_path, "srun", words)
    kind = "--mpi=pmix" if facts["mpi"]["library"].startswith("Open MPI") else "--mpi=pmi2"
    options = ["-n", "2", kind, "--kill-on-bad-exit=1", "-N", "1", "--ntasks-per-node=2", "--cpu-bind=none", "-v"]
    assert told[:9] == options and told[9:13] == [str(python), "-m", "allreduce_bench", "measure"]
    assert facts["ranks"] == 2 and facts["command"].startswith(f"{tmp_path}/srun -n 2 ")


def test_a_run_by_a_template_carries_the_interface(tmp_path):
    python = interpreters()[0]
    words = ["--launcher", "flux run -n {ranks}", "--interface", LO]
    told, facts = run_with(python, tmp_path, "flux", words)
    assert told[:4] == ["run", "-n", "2", "env"]
    assert facts["variables"]["UCX_NET_DEVICES"] == facts["variables"]["OMPI_MCA_btl_tcp_if_include"] == LO


@pytest.mark.parametrize(
    "words, says",
    [
        (["--launcher", "no-such-program -n {ranks}"], "program 'no-such-program' not found in PATH"),
        (["--launcher", "env -n {ranks}", "--hosts", "a"], "--hosts: not supported with a launcher template"),
        (["--launcher", "env -n {ranks} {nodes}"], "the number of nodes is unknown; add --ranks-per-node"),
        (["--hosts", "no/file"], "no/file: No such file or directory; expected a file of hosts"),
    ],
)
def test_bad_usage_is_one_line_and_leaves_nothing_behind(tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    assert says in one_line_error(here("run", *words))
    assert not list(tmp_path.iterdir())


def test_under_a_launcher_the_ranks_set_the_interface(tmp_path):
    options = [
        "--sizes",
        "8",
        "-a",
        "ring",
        "--iters",
        "3",
        "--identify=never",
        "--interface",
        LO,
        "-o",
        tmp_path / "run",
    ]
    command = mpirun(interpreters()[0], 2, "run", *options)
    result = subprocess.run(command, capture_output=True, text=True, timeout=240, env=with_package())
    assert result.returncode == 0, result.stderr
    facts = json.loads((tmp_path / "run" / "launches" / "2r-1.1.json").read_text())
    assert facts["variables"]["UCX_NET_DEVICES"] == LO
