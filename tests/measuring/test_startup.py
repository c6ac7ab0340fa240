"""The start of a rank: what launchers tell it, its phases, and how few file-system calls it makes."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from interpreters import contract, in_turn, interpreters
from places import STUDIES

from allreduce_bench.machine.node import cores
from allreduce_bench.measuring.startup import (
    Startup,
    age_of_process,
    rank_of,
    ranks_on_this_node,
    size_of,
    slowest,
    thread_level,
    under_launcher,
)

CUT_STAT = "1 (a name) with (blanks) S 1"

FILECALLS = STUDIES / "filecalls.py"
TRACEABLE = shutil.which("strace") and not subprocess.run(["strace", "-o", os.devnull, "true"], check=False).returncode
MPIRUN = """
import os, sys
from allreduce_bench.launching.find import find_launcher, mpirun_command
from allreduce_bench.runs.start import Start
command = mpirun_command(find_launcher(), 2, Start(), [sys.executable, "-c", sys.argv[1]])
os.execv(command[0], command)
"""
HELD_BACK = """
from allreduce_bench.measuring.startup import STARTUP, hold_back_mpi, start_mpi
hold_back_mpi()
from mpi4py import MPI
early = MPI.Is_initialized()
start_mpi("funneled")
print(f"{early} {MPI.Query_thread() >= MPI.THREAD_FUNNELED} {' '.join(STARTUP.phases)}\\n", end="", flush=True)
"""

needs_mpi = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")


@pytest.fixture(params=interpreters(), ids=lambda path: path.parent.parent.name)
def python(request) -> Path:
    return request.param


def test_phases_follow_each_other():
    times = iter([100.0, 100.5, 102.5])
    startup = Startup(clock=lambda: next(times), before_s=0.25)
    startup.mark("import_s")
    startup.mark("init_s")
    assert startup.phases == {"python_s": 0.25, "import_s": 0.5, "init_s": 2.0}


def test_of_every_phase_the_slowest_rank_is_kept():
    ranks = [{"import_s": 1.0, "init_s": 5.0}, {"import_s": 3.0, "init_s": 4.0}, {"import_s": 2.0}]
    assert slowest(ranks) == {"import_s": 3.0, "init_s": 5.0}
    assert slowest([{}, {"python_s": 0.1}]) == {"python_s": 0.1}


def test_an_age_that_cannot_be_told_is_none():
    assert age_of_process(CUT_STAT) is None
    assert age_of_process("") is None


@needs_mpi
def test_a_rank_imports_neither_click_nor_a_type_that_nobody_asked_for(python):
    ranks_load = "allreduce_bench.measuring.command, allreduce_bench.measuring.rank"
    ask = f"import sys, {ranks_load}; print({{'click', 'ml_dtypes'}} & {{*sys.modules}})"
    asked = subprocess.run([str(python), "-c", ask], capture_output=True, text=True, check=True)
    assert asked.stdout.strip() == "set()"


@contract
def test_mpi_is_initialised_apart_from_its_import_and_finalised_at_exit(python):
    """Open MPI's mpirun fails when a rank ends without MPI_Finalize."""
    ended = subprocess.run([str(python), "-c", MPIRUN, HELD_BACK], capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stderr
    line = r"False True (python_s )?import_s init_s first_collective_s\n"
    assert re.fullmatch(f"({line}){{2}}", ended.stdout), ended.stdout


@needs_mpi
def test_a_launch_keeps_how_long_its_start_took_on_the_slowest_rank(run_on_ranks, tmp_path):
    words = ["-n", 2, "--sizes", "8", "-a", "ring", "--iters", 1, "--launches", 1, "-o", tmp_path / "run"]
    assert run_on_ranks(*words, by="measured_launch.measure_with_phases").returncode == 0
    startup = json.loads((tmp_path / "run" / "launches" / "2r-1.1.json").read_text())["startup"]
    assert startup == {"import_s": 2.0, "init_s": 9.0}


@needs_mpi
@pytest.mark.skipif(not TRACEABLE, reason="strace is not installed here, or may not trace")
def test_a_rank_starts_with_few_more_file_system_calls_than_mpi4py_and_numpy(python):
    """A count, no timing: the same on a busy machine."""
    in_turn(1, python)
    counted = subprocess.run([sys.executable, str(FILECALLS), str(python)], capture_output=True, text=True, timeout=300)
    counts = re.search(r"file-system calls: bare (\d+), rank (\d+)", counted.stdout)
    assert counts, counted.stderr
    bare, rank = map(int, counts.groups())
    assert bare > 500 and bare < rank <= 1.3 * bare, counted.stdout


OPEN_MPI = {"OMPI_COMM_WORLD_SIZE": "8", "OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_LOCAL_SIZE": "4"}
MPICH = {"PMI_SIZE": "8", "PMI_RANK": "3", "MPI_LOCALNRANKS": "4"}
SLURM = {
    "SLURM_STEP_ID": "0",
    "SLURM_STEP_NUM_TASKS": "8",
    "SLURM_PROCID": "3",
    "SLURM_STEP_TASKS_PER_NODE": "4(x2)",
}


@pytest.mark.parametrize("environ", [OPEN_MPI, MPICH, SLURM], ids=["openmpi", "mpich", "slurm"])
def test_every_launcher_tells_rank_size_and_ranks_of_this_node(environ):
    assert under_launcher(environ)
    assert (size_of(environ), rank_of(environ), ranks_on_this_node(environ)) == (8, 3, 4)


def test_without_a_launcher_the_rank_is_0_and_the_size_unknown():
    assert not under_launcher({})
    assert (size_of({}), rank_of({}), ranks_on_this_node({})) == (None, 0, None)
    assert size_of({"PMI_SIZE": "many"}) is ranks_on_this_node({"PMI_SIZE": "many"}) is None


@pytest.mark.parametrize("step", ["", "4294967290", "4294967291"])
def test_a_batch_script_or_a_shell_of_slurm_is_no_rank(step):
    assert not under_launcher({"SLURM_STEP_ID": step, "SLURM_STEP_NUM_TASKS": "8"})
    assert not under_launcher({"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1"})


def test_the_thread_level_is_multiple_only_where_ranks_outnumber_cores():
    assert thread_level("auto", None) == thread_level("auto", cores()) == "single"
    assert thread_level("auto", cores() + 1) == "multiple"
    assert thread_level("funneled", cores() + 1) == "funneled"
