"""The doctor: one line for each thing, words and an exit status for what is wrong, no traceback for what is missing."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from interpreters import interpreters
from measured_runs import here, with_package
from places import ROOT

JOBS = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID"}
LINE = re.compile(r"(ok|info|caution|severe|missing) +(\S(?: ?\S)*)  +(\S.*)")
NAMES = ["processor", "load", "frequency", "timer", "memory", "copying", "container", "interfaces"]


def doctor(
    *words: str, python: str | Path = sys.executable, before: str = "", **variables
) -> subprocess.CompletedProcess:
    """The whole command, after the shell commands `before`."""
    environ = {name: value for name, value in os.environ.items() if name not in JOBS} | variables
    command = shlex.join([str(python), "-m", "allreduce_bench", "doctor", *words])
    return subprocess.run(
        ["sh", "-c", f"{before} exec {command}"], env=environ, capture_output=True, text=True, timeout=240, check=False
    )


def lines_of(result: subprocess.CompletedProcess) -> dict[str, list[tuple[str, str]]]:
    """Name -> (level, text) of its lines; fails where a line is none, or effect and advice stand below an ok."""
    found: dict[str, list[tuple[str, str]]] = {}
    level = ""
    assert "Traceback" not in result.stderr, result.stderr
    for line in result.stdout.splitlines():
        if re.match(r" {21}(effect|advice): \S", line):
            assert level in ("info", "caution", "severe"), line
            continue
        match = LINE.fullmatch(line)
        assert match, line
        level = match[1]
        found.setdefault(match[2], []).append((level, match[3]))
    return found


def scheduler(folder: Path) -> str:
    """A PATH in which a scheduler exists, and its controller answers."""
    (folder / "bin").mkdir()
    for name, says in (("sbatch", ""), ("scontrol", "Slurmctld(primary) at login is UP")):
        (folder / "bin" / name).write_text(f"#!/bin/sh\necho '{says}'\n")
        (folder / "bin" / name).chmod(0o755)
    return f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
@pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)
def test_a_node_that_works_is_said_to_work(python):
    result = doctor(python=python)
    lines = lines_of(result)
    assert result.returncode == 0, result.stdout
    assert list(lines) == [*NAMES, "MPI", "launcher", "ranks", "start", "calls"]
    assert re.search("ranks communicate.*level multiple", lines["ranks"][0][1])
    assert re.fullmatch(r"import of mpi4py .+s, MPI_Init .+s, first collective .+s", lines["start"][0][1])
    assert lines["calls"][0][0] == "info" and "empty call " in lines["calls"][0][1]


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
def test_a_login_node_is_spared(tmp_path, monkeypatch):
    for name in JOBS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", scheduler(tmp_path))
    lines = lines_of(here("doctor"))
    assert lines["ranks"] == [("info", "not started: this looks like a login node (sbatch exists, not inside a job)")]
    assert "start" not in lines


def test_a_word_that_salloc_would_run_is_refused_before_anything_is_asked():
    result = here("doctor", "--slurm", "extra")
    assert result.returncode == 2 and not result.stdout
    assert "error: " in result.stderr and "doctor: 'extra'" in result.stderr


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("raise ImportError('cannot load libmpi.so')", "no MPI found: ImportError: cannot load libmpi.so"),
        ("import os; os.abort()", "no MPI found: loading the library killed the interpreter (signal 6)"),
    ],
)
def test_without_an_mpi_it_says_so_and_fails(tmp_path, body, says):
    (tmp_path / "mpi4py").mkdir()
    (tmp_path / "mpi4py" / "__init__.py").write_text("class rc: pass\n")
    (tmp_path / "mpi4py" / "MPI.py").write_text(f"{body}\n")
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    result = doctor(PYTHONPATH=path)
    assert result.returncode == 1 and lines_of(result)["MPI"] == [("severe", says)]
    assert "advice: " in result.stdout.splitlines()[-1]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting an empty file system needs root")
@pytest.mark.parametrize(
    ("gone", "missing"),
    [
        ("/proc", {"load", "memory"}),
        ("/sys", {"frequency"}),
    ],
)
def test_a_machine_without_it_costs_lines_and_nothing_else(gone, missing):
    mounted = f"mount -t tmpfs none {gone}"
    if subprocess.run(["unshare", "-m", "sh", "-c", mounted], capture_output=True, check=False).returncode:
        pytest.skip(f"this machine does not let us cover {gone}")
    hidden = shlex.quote(f"{mounted} && exec {sys.executable} -m allreduce_bench doctor --no-launch")
    result = doctor(before=f"exec unshare -m sh -c {hidden};")
    lines = lines_of(result)
    assert list(lines)[: len(NAMES)] == NAMES
    assert missing <= {name for name, said in lines.items() if "missing" in [level for level, _ in said]}
    assert all(": " in text for said in lines.values() for level, text in said if level == "missing")


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting an empty file system needs root")
@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
def test_a_run_without_sys_keeps_what_is_known(tmp_path):
    words = [
        *["run", "-n", "2", "--sizes", "8", "-a", "ring", "--iters", "3", "--launches", "1", "-o"],
        str(tmp_path / "run"),
    ]
    run = shlex.join([str(interpreters()[0]), "-m", "allreduce_bench", *words])
    command = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs none /sys || exit 77; exec {run}"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    if result.returncode == 77:
        pytest.skip("this machine does not let us cover /sys")
    assert result.returncode == 0, result.stderr
    launch = json.loads((tmp_path / "run" / "launches" / "2r-1.1.json").read_text())
    (machine,) = launch["machines"]
    assert machine["governors"] == [] and machine["memory_nbytes"] > 0 and machine["cpus_of_ranks"] >= 1


@pytest.mark.parametrize("python", interpreters())
def test_little_shared_memory_is_named_by_doctor_and_by_a_run_that_fails(python, tmp_path):
    """MPICH and Intel MPI die of it, Open MPI takes TCP."""
    words = ("run", "-n", "2", "--sizes", "8", "-a", "ring", "--iters", "3", "--launches", "1", "--identify", "never")
    commands = [
        shlex.join([str(python), "-m", "allreduce_bench", *some]) for some in (("doctor", "--no-launch"), words)
    ]
    mounted = "mount -t tmpfs -o size=64k none /dev/shm || exit 77"
    shells = [["unshare", "-m", "sh", "-c", f"{mounted}; exec {command}"] for command in commands]
    told, ran = [
        subprocess.run(shell, cwd=tmp_path, env=with_package(), capture_output=True, text=True, timeout=240)
        for shell in shells
    ]
    if 77 in (told.returncode, ran.returncode) or "unshare: " in told.stderr:
        pytest.skip("this machine does not let us cover /dev/shm")
    assert "64 KiB of 64 KiB" in told.stdout and "--shm-size" in told.stdout
    assert ran.returncode == 0 or re.search(r"died; /dev/shm has .* of 64 KiB free: .*--shm-size", ran.stderr)
