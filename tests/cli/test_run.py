"""Whole runs over a real MPI: what is kept when something dies, what is refused, what the ranks import."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from interpreters import FULL, in_turn, interpreters
from measured_runs import (
    EIGHT_CELLS,
    bench,
    done,
    here,
    mpirun,
    one_line_error,
    ranks,
    wait_until_nobody_measures,
    with_package,
)
from places import PACKAGE

OPEN_MPI_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

DECLARED = """from allreduce_bench.algorithms import Cost, algorithm
from allreduce_bench.schedule import Step
@algorithm(cost=lambda size, topology, count, segment: Cost(1, count, count), exact=False, formula="?")
"""

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")


@pytest.fixture(params=interpreters(), ids=lambda path: path.parent.parent.name)
def python(request) -> Path:
    return request.param


def test_a_run_measures_every_cell_and_says_so(python, run_on_ranks, tmp_path):
    in_turn(1, python)
    folder = tmp_path / "run"
    words = ["-n", "1,3", "--sizes", "0,8,12K", "-a", "native,ring,naive", "--launches", 2, "--iters", 6]
    result = run_on_ranks(*words, "-o", folder)
    assert result.returncode == 0, result.stderr
    assert "18 of 18 cells done, 0 wrong elements." in result.stdout
    assert "OVERSUBSCRIBED" in result.stdout or os.cpu_count() >= 3
    assert "diverge): naive" in result.stdout
    assert len(done(folder)) == len(set(done(folder))) == 2 * 2 * 9
    with open(folder / "summary.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 18
    assert all(float(row["time_s"]) > 0 and row["launches"] == "2" and row["wrong"] == "0" for row in rows)
    assert "fastest" not in {row["standing"] for row in rows}  # two launches tell nobody apart


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bit_types_are_measured_and_labelled(python, run_on_ranks, tmp_path, dtype):
    in_turn(dtype == "float16", python)
    folder, words = tmp_path / "run", ["-a", "native,ring,tree", "--launches", 1, "--iters", 2, "--no-reference-times"]
    result = run_on_ranks("-n", 3, "-d", dtype, "--op", "avg", "--sizes", "0,6,6K", *words, "-o", folder)
    assert result.returncode == 0, result.stderr
    label = "16-bit sums on a CPU: the times show the arithmetic more than the network"
    assert label in result.stdout and f"warning: {label}" in result.stderr
    launch = json.loads((folder / "launches" / "3r-1.1.json").read_text())
    finding = next(finding for finding in launch["findings"] if finding["code"] == "arithmetic")
    assert finding["level"] == "caution" and finding["text"].startswith(label) and finding["effect"] + finding["advice"]
    with open(folder / "launches" / "3r-1.1.cells.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    done = [row for row in rows if row["state"] == "done"]
    assert all(row["wrong"] == "0" and row["same_bits"] == "1" for row in done) and len(done) in (6, 9)
    skipped = [row for row in rows if row not in done]  # a float16 may be missing where a compiler has none
    assert all(row["competitor"] == "native" and f"offers no {dtype} of " in row["reason"] for row in skipped)
    assert bool(skipped) or dtype == "float16"


@pytest.fixture
def without_ml_dtypes(tmp_path) -> dict[str, str]:
    """Variables with which ml_dtypes is not installed."""
    absent = tmp_path / "absent"
    absent.mkdir()
    (absent / "ml_dtypes.py").write_text("raise ImportError('not here')\n")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(absent), os.environ.get("PYTHONPATH", "")])}


def test_a_type_that_is_not_installed_is_refused_in_one_line(tmp_path, without_ml_dtypes):
    words = ["-n", 2, "--sizes", 8, "-a", "ring", "--launches", 1]
    result = bench(interpreters()[0], "run", "-d", "bfloat16", *words, cwd=tmp_path, env=without_ml_dtypes)
    said = one_line_error(result)
    assert "bfloat16 needs the package ml_dtypes (not here)" in said
    assert "'allreduce-bench[bfloat16]'" in said
    assert not list(tmp_path.rglob("run.json"))


def test_iters_and_warmups_are_exact(python, run_on_ranks, tmp_path):
    in_turn(1, python)
    folder = tmp_path / "run"
    words = ["-n", 2, "--sizes", 64, "-a", "ring", "--launches", 1, "--iters", 37, "--warmups", 4, "-o", folder]
    words += ["--sync", "barrier"]  # where no common start is met, calls are repeated after a barrier
    assert run_on_ranks("--no-reference-times", *words).returncode == 0
    with open(folder / "launches" / "2r-1.1.calls.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["warmup"] for row in rows] == ["1"] * 4 + ["0"] * 37
    assert [int(row["call"]) for row in rows] == list(range(41))


VICTIMS = ["rank", "mpirun", "starter"]


@pytest.mark.parametrize("victim", VICTIMS if FULL else ["mpirun"])  # of the others watching/ has as much
def test_killing_loses_at_most_the_cell_in_progress(python, tmp_path, victim):
    in_turn(VICTIMS.index(victim), python)
    folder = tmp_path / "run"
    words = ["-n", 2, "--launches", 1, *EIGHT_CELLS]
    starter = subprocess.Popen(
        [str(python), "-m", "allreduce_bench", "run", *map(str, words), "-o", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.time() + 240
    while len(done(folder)) < 2:
        assert time.time() < deadline and starter.poll() is None
        time.sleep(0.02)
    pid = {"starter": lambda: starter.pid, "mpirun": lambda: child(starter.pid), "rank": lambda: ranks(folder)[-1]}
    os.kill(pid[victim](), signal.SIGKILL)
    _, said = starter.communicate(timeout=240)
    before = done(folder)
    assert 2 <= len(before) < 8
    if victim != "starter":
        assert starter.returncode == 1
        assert "finished cells" in said.splitlines()[-1]
    wait_until_nobody_measures(folder)

    before = done(folder)
    resumed = bench(python, "run", "--resume", "-o", folder)
    assert resumed.returncode == 0, resumed.stderr
    assert "8 of 8 cells done" in resumed.stdout
    after = done(folder)
    assert len(after) == len(set(after)) == 8 and set(before) <= set(after)


def child(pid: int) -> int:
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=True).stdout.split()
    return int(found[0])


def test_under_mpirun_the_ranks_that_were_started_measure(python, tmp_path):
    in_turn(1, python)
    command = mpirun(python, 3, "run", "--sizes", "8,4K", "-a", "ring,native", "-o", tmp_path / "run")
    result = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert result.returncode == 0, result.stderr
    assert "3 ranks on 1 node" in result.stdout and "4 of 4 cells done, 0 wrong elements." in result.stdout
    again = subprocess.run(
        mpirun(python, 3, "run", "--sizes", "8", "-o", tmp_path / "run"), capture_output=True, text=True
    )
    assert again.returncode == 2 and again.stderr.count("already exists") == 1


def test_a_wrong_algorithm_is_refused_and_the_others_are_measured(run_on_ranks, tmp_path):
    wrong = tmp_path / "mine.py"
    wrong.write_text(
        DECLARED + "def once(rank, size, topology, count, segment):\n"
        "    whole = (range(count),)\n"
        "    yield Step((rank + 1) % size, whole, (rank - 1) % size, whole, True)\n"
    )
    words = ["-n", 3, "--sizes", 64, "-a", f"{wrong},ring", "--launches", 1, "--iters", 2, "-o", tmp_path / "run"]
    result = run_on_ranks(*words)
    assert result.returncode == 1 and "error: a check failed" in result.stderr
    assert "refused: once 64 B: round 1: rank 0 ends without b1 (elements 0 to 15)" in result.stdout
    assert "1 of 2 cells done" in result.stdout


def test_pretended_nodes_say_so_for_ever(python, run_on_ranks, tmp_path):
    in_turn(1, python)
    folder = tmp_path / "run"
    words = ["-n", 4, "--sizes", "4K", "-a", "hierarchical_ring", "--launches", 1, "--pretend-ranks-per-node", 2]
    result = run_on_ranks(*words, "-o", folder)
    assert result.returncode == 0 and "PRETENDED: 2 nodes" in result.stdout
    with open(folder / "summary.csv", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["nodes"], row["nodes_declared"]) == ("1", "2")
    launch = json.loads((folder / "launches" / "4r-1.1.json").read_text())
    assert any(finding["code"] == "pretended" for finding in launch["findings"])


def test_sizes_above_the_free_memory_are_refused(python, run_on_ranks, tmp_path):
    in_turn(1, python)
    words = ["-n", 2, "--sizes", "8,4096G", "-a", "native", "--launches", 1, "-o", tmp_path / "run"]
    result = run_on_ranks(*words)
    assert result.returncode == 0
    assert "skipped: native 4096 GiB: needs 24576 GiB of buffers a rank" in result.stdout


def test_an_existing_folder_is_never_overwritten(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").touch()
    assert "already exists" in one_line_error(here("run", "-o", tmp_path / "run"))
    assert "no run.json" in one_line_error(here("run", "--resume", "-o", tmp_path / "run"))


@pytest.mark.parametrize("resume", [(), ("--resume",)])
def test_a_run_that_measures_nothing_fails_and_takes_an_empty_folder(run_on_ranks, tmp_path, resume):
    folder = tmp_path / "run"
    folder.mkdir()
    result = run_on_ranks("-n", 2, "--sizes", 8, "-a", "ring", "--within", "1ms", "-o", folder, *resume)
    assert result.returncode == 1 and (folder / "run.json").is_file()
    assert "error: nothing was measured; results" in result.stderr.splitlines()[-1], result.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_ends_the_run_in_words_and_resuming_completes_it(run_on_ranks, tmp_path):
    python, disk = interpreters()[0], tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=60k", "tmpfs", str(disk)], check=False).returncode:
        pytest.skip("this machine does not let us mount")
    try:
        words = ["-n", 2, "-b", 8, "-e", 1024, "-f", 2, "-a", "native,ring", "--launches", 1, "--no-reference-times"]
        words += ["--iters", 5, "--record", "all", "-o", disk / "run"]  # a page or more of every cell
        words += ["--thread-level", "multiple"]  # as ranks of the pool have it, which go on
        result = bench(python, "run", *words)
        assert result.returncode == 1 and "finished cells" in result.stderr
        assert "Traceback" not in result.stderr
        before = done(disk / "run")
        assert 0 < len(before) < 16
        subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
        resumed = run_on_ranks("--resume", "-o", disk / "run")
        assert resumed.returncode == 0 and "16 of 16 cells done" in resumed.stdout
        assert len(done(disk / "run")) == 16
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_without_an_mpi_it_says_how_to_install_one(tmp_path):
    (tmp_path / "mpi4py").mkdir()
    (tmp_path / "mpi4py" / "__init__.py").write_text("class rc: pass\n")
    (tmp_path / "mpi4py" / "MPI.py").write_text("raise ImportError('cannot load libmpi.so')\n")
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    said = one_line_error(bench(interpreters()[0], "run", "--sizes", 8, "-o", tmp_path / "run", env=environ))
    assert "no MPI found: ImportError: cannot load libmpi.so; " in said and "pip install" in said
    assert not (tmp_path / "run").exists()


def test_a_measuring_process_stays_light(python):
    heavy = "{'pandas', 'matplotlib', 'scipy', 'rich', 'jinja2'}"
    ask = f"import sys, allreduce_bench.cli, allreduce_bench.measuring.rank; print(sorted({heavy} & set(sys.modules)))"
    asked = subprocess.run([str(python), "-c", ask], capture_output=True, text=True, check=True)
    assert asked.stdout.strip() == "[]"


def test_resuming_with_another_mpi_is_refused(tmp_path):
    if len(interpreters()) < 2:
        pytest.skip("one MPI only")
    one, other = interpreters()[:2]
    folder = tmp_path / "run"
    words = ["-n", 2, "--sizes", 8, "-a", "ring", "--iters", 3, "--launches", 2, "-o", folder]
    assert bench(one, "run", *words).returncode == 0
    for path in folder.glob("launches/2r-2.*"):
        path.unlink()
    resumed = bench(other, "run", "--resume", "-o", folder)
    assert resumed.returncode == 2 and len(re.findall("was measured with", resumed.stderr)) == 1
    assert resumed.stderr.splitlines()[-1].startswith(f"error: {folder}: was measured with ")
    assert len(done(folder)) == 1


@pytest.mark.parametrize("name", ["run", "which"])
@pytest.mark.parametrize("python", interpreters())
def test_an_mpirun_of_another_mpi_is_noticed(tmp_path, python, name):
    if len(interpreters()) < 2:
        pytest.skip("one MPI only")
    other = next(one for one in interpreters() if one != python)
    command = mpirun(other, 2, name, "--sizes", 8)
    command[command.index(str(other))] = str(python)
    result = subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=tmp_path, env=with_package())
    assert result.returncode == 2 and "another MPI" in result.stderr
    assert "MPI_Init_thread" not in result.stderr and not (tmp_path / "results").exists()


def test_an_algorithm_file_that_changed_is_not_resumed(run_on_ranks, tmp_path):
    folder, mine = tmp_path / "run", tmp_path / "mine.py"
    ring = (PACKAGE / "algorithms" / "ring.py").read_text()
    mine.write_text(ring.replace("def ring(", "def mine("))
    words = ["-n", 2, "--sizes", 8, "-a", mine, "--iters", 3, "--launches", 2, "-o", folder]
    assert run_on_ranks(*words).returncode == 0
    for path in folder.glob("launches/2r-2.*"):
        path.unlink()
    mine.write_text(mine.read_text() + "\n")
    assert "run began" in one_line_error(here("run", "--resume", "-o", folder))
    mine.unlink()
    assert "No such file or directory; the run" in one_line_error(here("run", "--resume", "-o", folder))


def test_a_launcher_that_refuses_its_options_leaves_nothing_behind(python, tmp_path):
    words = ["-n", 2, "--sizes", 8, "-a", "ring", "--launcher-args", "--garbage", "-o", tmp_path / "run"]
    result = bench(python, "run", *words)
    assert result.returncode == 1 and "Traceback" not in result.stderr
    assert result.stderr.splitlines()[-1].startswith("error: launch 2r-1 ended with status")
    assert not (tmp_path / "run").exists()


def test_a_shell_keeps_its_standard_input_and_a_run_needs_no_ml_dtypes(tmp_path, without_ml_dtypes):
    python = interpreters()[0]
    program = f"{python} -m allreduce_bench run -n 2 --sizes 8 -a ring --iters 2 --launches 1 --identify=never"
    program += f" -o {tmp_path}/run"
    script = f"printf '1\\n2\\n' | {{ read one; {program} > /dev/null || exit 1; read two; echo $one $two; }}"
    shell = ["bash", "-c", script]
    done = subprocess.run(shell, env=without_ml_dtypes, capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stdout) == (0, "1 2\n"), done.stderr


COUNTS = """
import numpy
from mpi4py import MPI
from allreduce_bench.executing import EXECUTORS, NATIVES, Unsupported
from allreduce_bench.schedule import Step
vector = numpy.empty(2**31 + 9, "float16")  # never touched, so it takes no memory
ends = (range(4), range(2**31, 2**31 + 4))  # a short message, of ranges far apart
steps = {"whole": Step(0, (range(vector.size),), 0, (range(vector.size),), True), "ends": Step(0, ends, 0, ends, True)}
ways = {("native", kind): (bind,) for kind, bind in NATIVES.items()}
ways |= {(name, kind): (EXECUTORS[kind], [step]) for name, step in steps.items() for kind in ("sendrecv", "compiled")}
for (name, kind), (bind, *words) in ways.items():
    try:
        bind(*words, vector, vector, MPI.COMM_SELF, "sum").close()
        print(name, kind, MPI.Get_version() >= (4, 0), "bound", sep="|")
    except Unsupported as error:
        print(name, kind, MPI.Get_version() >= (4, 0), error, sep="|")
"""


def test_more_elements_than_the_library_can_count_are_refused_in_words(python):
    asked = subprocess.run([str(python), "-c", COUNTS], capture_output=True, text=True, timeout=240)
    if "MemoryError" in asked.stderr:
        pytest.skip("this machine does not let us reserve 4 GiB")
    assert asked.returncode == 0, asked.stderr
    found = {tuple(line.split("|")[:2]): line.split("|")[2:] for line in asked.stdout.splitlines()}
    assert len(found) == 6
    for (name, kind), (is_large, words) in found.items():
        if name == "ends" and kind == "compiled":
            assert words == "bound"  # it copies the ranges together
        elif kind.endswith("compiled"):
            assert "2147483657 elements" in words and "counts to 2147483647" in words
        elif is_large == "True":
            assert words == "bound"
        else:
            what = "ranges up to element 2147483652" if name == "ends" else "2147483657 elements"
            assert words.startswith(f"a message of {what}; ") and "counts to 2147483647" in words


@pytest.mark.parametrize(
    ("variables", "advice"),
    [
        ({"OMPI_COMM_WORLD_SIZE": "4"}, "another MPI"),
        ({"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "4"}, re.escape("use srun --mpi=pmix or --mpi=pmi2")),
    ],
)
def test_ranks_that_are_alone_say_why(tmp_path, variables, advice):
    words = [sys.executable, "-m", "allreduce_bench", "run", "-a", "ring", "--sizes", "8", "-o", str(tmp_path / "run")]
    result = subprocess.run(words, capture_output=True, text=True, timeout=240, env=os.environ | variables)
    assert result.returncode == 2 and "MPI sees 1: " in result.stderr
    assert re.search(advice, result.stderr) and not (tmp_path / "run").exists()


@pytest.mark.parametrize(("placement", "offsets"), [("page", {"0/1024", "0/1024/-", "0/1024/2048"}), ("16", None)])
def test_where_vectors_lie_is_chosen_and_recorded(python, run_on_ranks, tmp_path, placement, offsets):
    in_turn(1, python)
    folder = tmp_path / "run"
    words = ["-a", "native,ring,rabenseifner", "--launches", 1, "--iters", 2, "--placement", placement]
    result = run_on_ranks("-n", 4, "--sizes", "20368,64K", *words, "-o", folder)
    assert result.returncode == 0, result.stderr
    assert ("placement 16" in " ".join(result.stdout.split())) == (placement == "16")
    with open(folder / "launches" / "4r-1.1.cells.csv", newline="") as file:
        cells = [row for row in csv.DictReader(file) if not row["competitor"].startswith("floor:")]
    assert len(cells) == 3 * 2 and {cell["wrong"] for cell in cells} == {"0"}
    for begins in (cell["offsets"].split("/") for cell in cells if " " not in cell["offsets"]):
        assert (int(begins[1]) - int(begins[0])) % 4096 == (1024 if placement == "page" else 16)
    assert not offsets or {cell["offsets"] for cell in cells} <= offsets
    with open(folder / "summary.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(row["copy_floor_s"] for row in rows)


def test_a_run_in_place_says_so_and_is_right_in_every_way(python, run_on_ranks, tmp_path):
    in_turn(0, python)
    ways = "sendrecv,pipelined" + ",compiled,compiled-pipelined" * has_numba(python)
    folder, words = tmp_path / "run", ["--executor", ways, "--launches", 1, "--iters", 3, "--op", "avg", "--in-place"]
    result = run_on_ranks("-n", 3, "--sizes", "8,6004", "-a", "native,ring,naive", *words, "-o", folder)
    assert result.returncode == 0 and ", 0 wrong elements" in result.stdout, result.stderr
    assert "float32 avg, in place" in result.stdout and "3 ranks on" in result.stdout
    with open(folder / "launches" / "3r-1.1.cells.csv", newline="") as file:
        cells = [row for row in csv.DictReader(file) if not row["competitor"].startswith("floor:")]
    assert {cell["state"] for cell in cells} == {"done"}
    offsets = [cell["offsets"].split("/") for cell in cells]
    assert offsets and all(of[0] == of[1] for of in offsets)


def has_numba(python: Path) -> bool:
    return bool(list(python.parent.parent.glob("lib/python*/site-packages/numba")))
