"""Programs whose all-reduces are counted: in C and in Python, on each MPI; and what is said where nothing is."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from interpreters import in_turn, interpreters
from measured_runs import with_package
from places import RANK_PROGRAMS

IN_PYTHON = RANK_PROGRAMS / "counted_allreduces.py"
IN_C = RANK_PROGRAMS / "counted_allreduces.c"
EACH_MPI = pytest.mark.parametrize("python", interpreters(), ids=lambda path: path.parent.parent.name)


def mpicc(python: Path) -> str:
    """The compiler of an MPI; skips the test if there is none."""
    found = shutil.which("mpicc", path=str(python.parent))
    if not found or not shutil.which("cc"):
        pytest.skip("no mpicc beside this interpreter, or no compiler")
    return found


def profiled(folder: Path, python: Path, *words: object, ranks: int = 2, **variables: str):
    """The result of `exec --profile`, and the profile; None if there is none. The cache is a new one."""
    command = [str(python), "-m", "allreduce_bench", "exec", "-n", str(ranks), "--profile", "--", *map(str, words)]
    environ = {**with_package(), "XDG_CACHE_HOME": str(folder / "cache"), **variables}
    result = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, errors="replace", timeout=120, check=False
    )
    assert "Traceback" not in result.stderr, result.stderr
    assert not [path for path in folder.iterdir() if path.name.startswith(".")], "the folder of the ranks is left"
    path = folder / "profile.json"
    return result, json.loads(path.read_text()) if path.exists() else None


def calls_of(profile: dict) -> dict:
    """(bytes, ranks, dtype, operation, in place, call) -> calls."""
    names = ("nbytes", "ranks", "dtype", "op", "in_place", "call")
    return {tuple(row[name] for name in names): row["calls"] for row in profile["allreduces"]}


@EACH_MPI
def test_every_call_of_a_c_program_is_counted_although_it_aborts(tmp_path, python):
    subprocess.run([mpicc(python), "-w", "-o", tmp_path / "app", IN_C, "-lpthread"], check=True)
    result, profile = profiled(tmp_path, python, "./app", "abort")
    assert result.returncode == 7 and "wrong sums" not in result.stdout
    assert "MPI_Abort" in result.stderr.splitlines()[-1]
    calls = calls_of(profile)
    assert calls[800, 2, "float64", "sum", False, "blocking"] == 7
    assert calls[80, 2, "float64", "max", True, "blocking"] == 1
    assert calls[40, 2, "float64", "sum", False, "nonblocking"] == 1
    assert calls[24, 2, "float64", "min", False, "persistent"] == 5
    assert calls[32, 2, "float64", "min", False, "persistent"] == 5
    assert (16, 2, "float64", "min", False, "persistent") not in calls
    assert calls[8, 2, "derived", "user-defined", False, "blocking"] == 25
    assert calls[16, 2, "derived", "user-defined", False, "blocking"] == 25
    assert calls[24, 1, "float32", "prod", False, "blocking"] == 40
    assert calls[4, 2, "int32", "sum", False, "blocking"] == 2000
    counted = sum(row["rank_calls"] for row in profile["allreduces"])
    assert counted + profile["left_out_calls"] == 2 * (7 + 1 + 1 + 10 + 50 + 20 + 1200 + 2000)
    assert (profile["counted_in"], profile["processes"]) == ("MPI", 2)


@EACH_MPI
def test_a_program_in_python_is_counted_in_mpi(tmp_path, python):
    in_turn(1, python)
    mpicc(python)
    result, profile = profiled(tmp_path, python, python, IN_PYTHON)
    assert result.returncode == 0, result.stderr
    assert profile["counted_in"] == "MPI"
    assert calls_of(profile) == {
        (8000, 2, "float64", "sum", False, "blocking"): 20,
        (80, 2, "float64", "max", True, "blocking"): 3,
        (4000, 1, "float32", "sum", False, "nonblocking"): 2,
    }
    assert "run --like profile.json" in result.stderr and result.stdout == ""


def without_compiler(folder: Path, python: Path) -> dict[str, str]:
    """Variables with which there is no compiler, but env, which starts the program."""
    (folder / "bin").mkdir()
    (folder / "bin" / "env").symlink_to(shutil.which("env"))
    return {"PATH": os.pathsep.join([str(python.parent), str(folder / "bin")])}


@EACH_MPI
def test_without_a_compiler_it_is_counted_in_mpi4py(tmp_path, python):
    in_turn(0, python)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("print('the own one')\n")
    variables = without_compiler(tmp_path, python)
    variables["PYTHONPATH"] = os.pathsep.join([with_package()["PYTHONPATH"], str(tmp_path / "site")])
    result, profile = profiled(tmp_path, python, python, IN_PYTHON, **variables)
    assert result.returncode == 0, result.stderr
    assert profile["counted_in"] == "mpi4py" and result.stdout.count("the own one") >= 2
    assert calls_of(profile) == {
        (8000, 2, "float64", "sum", False, "blocking"): 20,
        (80, 2, "float64", "max", True, "blocking"): 3,
        (4000, 1, "float32", "sum", False, "nonblocking"): 2,
        (None, 2, "object", "sum", False, "blocking"): 1,
    }


def test_without_a_compiler_other_programs_are_refused(tmp_path):
    python = interpreters()[0]
    result, profile = profiled(tmp_path, python, "env", "true", **without_compiler(tmp_path, python))
    assert result.returncode == 2 and profile is None
    assert "without it only programs in Python can be counted" in result.stderr


NOTHING = {
    "no MPI": (["env", "echo", "hi"], "the program did not start this MPI"),
    "no all-reduce": ([IN_PYTHON.with_name("ending_badly.py"), "well"], "the program called no all-reduce"),
}


@EACH_MPI
@pytest.mark.parametrize("case", NOTHING)
def test_where_nothing_is_counted_one_sentence_says_so(tmp_path, python, case):
    in_turn([*NOTHING].index(case), python)
    mpicc(python)
    words, sentence = NOTHING[case]
    result, profile = profiled(tmp_path, python, *([python, *words] if case == "no all-reduce" else words))
    assert result.returncode == 0 and profile is None
    assert sentence in result.stderr.splitlines()[-1]


def test_a_file_that_is_no_profile_is_not_replaced(tmp_path):
    (tmp_path / "profile.json").write_text("[]")
    result, profile = profiled(tmp_path, interpreters()[0], "env", "true")
    assert result.returncode == 2 and profile == []
    assert "exists, and is no profile" in result.stderr
