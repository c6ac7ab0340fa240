"""What every MPI library must do: right results, its own algorithms, hangs and deaths that are named, the doctor."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import measured_runs
import pandas
import pytest
from interpreters import contract, libraries
from measured_runs import bench, done, nobody_is_left, processes


@contract
def test_algorithms_are_exact(python, on_ranks):
    number, wrong = on_ranks(4, "exactness.blocking", sample=True, half=True, limit_s=120)[0]
    assert not wrong and number > 80


@contract
def test_algorithms_are_exact_from_compiled_code(python, on_ranks):
    if not list(python.parent.parent.glob("lib/python*/site-packages/numba")):
        pytest.skip("the interpreter has no numba")
    number, wrong = on_ranks(4, "compiled_exactness.compiled", sample=True, half=True, few_types=True, limit_s=300)[0]
    assert not wrong and number > 80


@contract
def test_a_run_names_library_thread_level_and_transport(python, tmp_path):
    words = ["--sizes", "8,64K", "-a", "native,ring,ring@pipelined,two_tree,two_tree@pipelined", "--iters", "5"]
    result = bench(python, "run", "-n", "2,4", *words, "--launches", "1", "-o", tmp_path / "run")
    assert result.returncode == 0, result.stderr
    summary = pandas.read_csv(tmp_path / "run" / "summary.csv")
    assert set(summary.ranks) == {2, 4} and summary.time_s.notna().all() and not summary.wrong.any()
    assert {"two_tree", "two_tree@pipelined"} < set(summary.competitor) and result.stdout.count("@pipelined") >= 4
    launch = next((tmp_path / "run" / "launches").glob("2r-1.*.json")).read_text()
    assert re.search(rf'"library": "{libraries()[python]} \d', launch) and '"thread_level": "single"' in launch
    assert libraries()[python] != "Intel MPI" or '"transport": "shm"' in launch


@contract
def test_ranks_get_the_variables_of_the_command(python, tmp_path):
    words = ["-x", "UCX_LOG_LEVEL=error", "-x", "MY_OWN=hidden words", "--sizes", "8", "-a", "native", "--iters", "5"]
    result = bench(python, "run", "-n", "2", *words, "--launches", "1", "--identify=never", "-o", tmp_path / "run")
    assert result.returncode == 0, result.stderr
    launch = next((tmp_path / "run" / "launches").glob("2r-1.*.json")).read_text()
    assert '"UCX_LOG_LEVEL": "error"' in launch and "hidden words" not in launch
    assert '"MY_OWN=not_stored"' in (tmp_path / "run" / "run.json").read_text()


@contract
def test_its_own_algorithms_are_measured_where_it_takes_their_names(python, tmp_path):
    words = ["-a", "native:ring", "--sizes", "64K", "--iters", "5", "--launches", "1", "--identify=never"]
    result = bench(python, "run", "-n", "2", *words, "-o", tmp_path / "run")
    assert result.returncode == 0, result.stderr
    at_start = libraries()[python] == "Intel MPI"  # it reads the name of an algorithm once, at the start of a launch
    ring = "2r-1-ring" if at_start else "2r-1-forced"
    found = {(launch, name) for launch, name, _ in done(tmp_path / "run")} - {(ring, "native:default")}
    assert found == {("2r-1", "native"), (ring, "native:ring")}
    if not at_start:
        return
    command = measured_runs.mpirun(python, 2, "run", *words[:-3], "--identify=never", "-o", tmp_path / "other")
    refused = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert refused.returncode == 2 and "let run" in refused.stderr, refused.stderr


@contract
@pytest.mark.parametrize("name", ["STOP", "KILL"])
def test_a_rank_that_stops_or_dies_is_named_and_all_end(python, tmp_path, name):
    if python == Path(sys.executable):
        pytest.skip("watching/test_hang.py has it")
    folder = tmp_path / "run"
    words = ["-a", "ring,tree", "--sizes", "8,64K", "--iters", "400", "--launches", "1", "--timeout", "2s"]
    command = [str(python), "-m", "allreduce_bench", "run", "-n", "3", *words, "-o", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    deadline = time.time() + 60
    while not done(folder):
        assert process.poll() is None and time.time() < deadline
        time.sleep(0.02)
    os.kill(processes(folder)[1], signal.Signals[f"SIG{name}"])
    _, said = process.communicate(timeout=60)
    nobody_is_left(folder)
    what = r"does not respond \(stopped, or its node failed\)" if name == "STOP" else "died"
    assert process.returncode == 1 and re.search(rf"^error: .*rank 1 on \S+ {what}", said, re.MULTILINE), said


@contract
def test_the_doctor_starts_its_ranks(python):
    result = bench(python, "doctor")
    assert re.search(rf"^ok +MPI +{libraries()[python]} \d", result.stdout, re.MULTILINE), result.stdout
    assert re.search(r"^(ok|warning) +ranks +two ranks communicate over \w", result.stdout, re.MULTILINE), result.stdout


@contract
@pytest.mark.usefixtures("needs_lab")
def test_virtual_hosts_get_a_rank_each_and_their_links_carry_the_vectors(python, tmp_path):
    hosts = ["--virtual-hosts", "2", "--link-rate", "100mbit"]
    words = ["-a", "ring", "--sizes", "256K", "--iters", "3", "--launches", "1", "-o", tmp_path / "run"]
    result = bench(python, "run", "-n", "2", *hosts, *words)
    assert result.returncode == 0, result.stderr
    (row,) = pandas.read_csv(tmp_path / "run" / "summary.csv").to_dict("records")
    assert row["nodes"] == 2 and row["internode_nbytes"] == 2 * 2**18
    assert 1 <= int(re.search(r"e0=(\d+)", row["wire"])[1]) / row["internode_nbytes"] < 1.5
