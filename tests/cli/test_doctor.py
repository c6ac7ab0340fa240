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
from places import ROOT

from allreduce_bench.launching import check_mpi
from allreduce_bench.launching.find import Launcher
from allreduce_bench.machine import checks, kernel

JOBS = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID"}
LINE = re.compile(r"(ok|info|caution|severe|missing) +(\S(?: ?\S)*)  +(\S.*)")
NAMES = ["processor", "load", "frequency", "timer", "memory", "huge pages", "container", "interfaces"]


def doctor(
    *words: str, python: str | Path = sys.executable, before: str = "", **variables
) -> subprocess.CompletedProcess:
    """The whole command, after the shell commands `before`."""
    environ = {name: value for name, value in os.environ.items() if name not in JOBS} | variables
    command = shlex.join([str(python), "-m", "allreduce_bench", "doctor", *words])
    return subprocess.run(
        ["sh", "-c", f"{before} exec {command}"], env=environ, capture_output=True, text=True, timeout=120, check=False
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


def scheduler(folder: Path, controller: str = "UP") -> str:
    """A PATH in which a scheduler exists, with a controller in this state."""
    (folder / "bin").mkdir()
    for name, says in (("sbatch", ""), ("scontrol", f"Slurmctld(primary) at login is {controller}")):
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
    assert re.match(
        r"two see each other, over .+; thread level (single|funneled|serialized|multiple)", lines["ranks"][0][1]
    )
    assert re.fullmatch(r"import of mpi4py .+s, MPI_Init .+s, first collective .+s", lines["start"][0][1])
    assert lines["calls"][0][0] == "info" and "an empty call 0." in lines["calls"][0][1]


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
def test_a_login_node_is_spared(tmp_path):
    path = scheduler(tmp_path)
    lines = lines_of(doctor(python=interpreters()[0], PATH=path))
    assert lines["ranks"] == [("info", "not started: this looks like a login node (sbatch exists, no job runs)")]
    assert "start" not in lines
    inside = lines_of(doctor(python=interpreters()[0], PATH=path, SLURM_JOB_ID="7"))
    assert inside["ranks"][0][1].startswith("two see each other")


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
def test_a_machine_with_a_slurm_that_does_not_run_is_no_login_node(tmp_path):
    lines = lines_of(doctor(python=interpreters()[0], PATH=scheduler(tmp_path, "DOWN")))
    assert lines["ranks"][0][1].startswith("two see each other")


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
def test_no_launch_starts_none():
    lines = lines_of(doctor("--no-launch", python=interpreters()[0]))
    assert lines["ranks"] == [("info", "not started (--no-launch), so transport and start-up are unknown")]


def test_a_word_that_salloc_would_run_is_refused_before_anything_is_asked():
    result = doctor("--slurm", "extra")
    assert result.returncode == 2 and not result.stdout
    assert result.stderr.startswith("error: doctor: 'extra': expected an option of salloc")


def test_as_a_rank_it_refuses():
    result = doctor(OMPI_COMM_WORLD_SIZE="2")
    assert result.returncode == 2 and not result.stdout
    assert result.stderr == "error: doctor starts its own ranks; run it without mpirun or srun\n"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("raise ImportError('cannot load libmpi.so')", "no MPI found: ImportError: cannot load libmpi.so"),
        ("import os; os.abort()", "no MPI found: loading it ended the interpreter (signal 6)"),
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
        ("/proc", {"memory", "container"}),
        ("/sys", {"processor", "frequency", "interfaces"}),
        ("/sys/class/net", {"interfaces"}),
        ("/sys/devices/system/cpu", {"processor", "frequency"}),
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
    assert all(", so " in text for said in lines.values() for level, text in said if level == "missing")


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting an empty file system needs root")
@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
def test_a_run_without_sys_keeps_what_is_known(tmp_path):
    words = [
        "run",
        "-n",
        "2",
        "--sizes",
        "8",
        "-a",
        "ring",
        "--iters",
        "3",
        "--launches",
        "1",
        "-o",
        str(tmp_path / "run"),
    ]
    run = shlex.join([str(interpreters()[0]), "-m", "allreduce_bench", *words])
    command = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs none /sys || exit 77; exec {run}"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if result.returncode == 77:
        pytest.skip("this machine does not let us cover /sys")
    assert result.returncode == 0, result.stderr
    launch = json.loads((tmp_path / "run" / "launches" / "2r-1.1.json").read_text())
    (machine,) = launch["machines"]
    assert machine["governors"] == [] and machine["memory_nbytes"] > 0 and machine["cpus_of_ranks"] >= 1


@pytest.fixture
def bare(tmp_path, monkeypatch) -> Path:
    """A machine that tells nothing."""
    monkeypatch.setattr(kernel, "ROOT", tmp_path)
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.delattr(os, "getloadavg")
    monkeypatch.delattr("socket.if_nameindex")
    return tmp_path


def test_a_machine_that_tells_nothing_is_missing_everything_in_words(bare):
    found = list(checks.of_machine(checks.machine()))
    assert [check.name for check in found if check.level == "missing"] == [
        *["processor", "processor", "load", "frequency", "memory", "huge pages", "container"],
        *["interfaces", "interfaces"],
    ]
    assert {check.level for check in found} <= {"missing", "ok"}


def test_a_finding_takes_the_place_of_what_is_in_order(bare):
    node = {
        **checks.machine(),
        "load_1min": 99.0,
        "governors": ["powersave"],
        "threads": 2,
        "cpus_of_ranks": 1,
        "cores": 2,
    }
    of = {check.name: check for check in checks.of_machine(node) if check.level not in ("missing", "ok")}
    assert of["processor"].level == "severe" and of["processor"].text.startswith(
        "oversubscribed: 2 ranks on 1 hardware"
    )
    assert of["frequency"].level == "caution" and "cpupower" in of["frequency"].advice
    assert not any(check.level == "ok" for check in checks.of_machine(node) if check.name in of)


NODE = {"interfaces": [], "fabric_devices": []}
HELLO = (
    'print(\'noise\\nallreduce-bench hello: {"seen": SEEN, "transport": null, "thread_level": "single", '
    '"import_s": IMPORT, "init_s": 1, "first_s": 1, "call_s": 1e-7, "sendrecv_s": 1e-6}\')'
)


@pytest.fixture
def ranks(monkeypatch):
    """What is checked when the launcher runs this Python program instead of ranks."""
    monkeypatch.setattr(
        check_mpi, "library", lambda: {"library": "X", "standard": "4.0", "path": "", "from_pypi": False}
    )
    monkeypatch.setattr(check_mpi, "find_launcher", lambda: Launcher("mpirun", "X", "plain"))
    monkeypatch.setattr(check_mpi, "idle_scheduler", lambda environ: None)

    def run(program: str) -> list[checks.Check]:
        monkeypatch.setattr(check_mpi, "mpirun_command", lambda *_: [sys.executable, "-c", program])
        return [check for check in check_mpi.of_mpi(NODE, True) if check.name in ("ranks", "start", "calls")]

    return run


def test_ranks_that_are_alone_are_named(ranks):
    (check,) = ranks(HELLO.replace("SEEN", "1").replace("IMPORT", "1"))
    assert (check.level, check.text) == ("severe", "2 ranks were started, but MPI sees 1")


def test_a_slow_import_is_named(ranks):
    seen, start, _ = ranks(HELLO.replace("SEEN", "2").replace("IMPORT", "30"))
    assert (seen.level, start.level) == ("ok", "caution") and "disk of the node" in start.advice
    assert "a transport that the MPI does not tell" in seen.text


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("import sys; sys.stderr.write('-----\\n\\n  no slots  \\nmore\\n'); sys.exit(3)", "status 3: no slots"),
        ("print('hello?')", "status 0: without a word"),
    ],
)
def test_ranks_that_fail_are_quoted(ranks, program, why):
    (check,) = ranks(program)
    assert check.level == "severe" and check.text == f"two ranks were started and ended with {why}"
    assert "run it by hand" in check.advice


def test_ranks_that_hang_are_ended_and_the_interface_is_suspected(ranks, monkeypatch):
    monkeypatch.setattr(check_mpi, "PATIENCE_S", 0.5)
    (check,) = ranks("import time; time.sleep(600)")
    assert check.level == "severe" and "nothing came back" in check.text and "--interface NAME" in check.advice


def test_an_mpi_from_pypi_on_a_cluster_is_named(ranks, monkeypatch):
    wheel = {"library": "Open MPI 5", "standard": "3.1", "path": "/v/lib/libmpi.so", "from_pypi": True}
    monkeypatch.setattr(check_mpi, "library", lambda: wheel)
    said = [check for check in check_mpi.of_mpi({**NODE, "fabric_devices": ["mlx5_0"]}, False) if check.name == "MPI"]
    assert [check.level for check in said] == ["ok", "severe"]
    assert said[1].text == "Open MPI 5 on a cluster is the one from PyPI, though there is mlx5_0"
    assert [check.level for check in check_mpi.of_mpi(NODE, False) if check.name == "MPI"] == ["ok"]
