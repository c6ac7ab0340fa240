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
    number, wrong = on_ranks(4, "exactness.blocking", sample=True, half=True, limit_s=600)[0]
    assert not wrong and number > 80


@contract
def test_algorithms_are_exact_from_compiled_code(python, on_ranks):
    if not list(python.parent.parent.glob("lib/python*/site-packages/numba")):
        pytest.skip("the interpreter has no numba")
    number, wrong = on_ranks(4, "compiled_exactness.compiled", sample=True, half=True, few_types=True, limit_s=300)[0]
    assert not wrong and number > 80


@contract
def test_a_run_names_library_thread_level_and_transport_passes_variables_and_forces_its_algorithms(python, tmp_path):
    words = ["-a", "native,native:ring,ring,ring@pipelined,two_tree,two_tree@pipelined", "--sizes", "16,64K"]
    words += ["--iters", "5", "--launches", "1", "-x", "UCX_LOG_LEVEL=error", "-x", "MY_OWN=hidden words", "-o"]
    result = bench(python, "run", "-n", 2, *words, tmp_path / "run")
    assert result.returncode == 0, result.stderr
    summary = pandas.read_csv(tmp_path / "run" / "summary.csv")
    assert summary.time_s.notna().all() and not summary.wrong.any()
    assert {"two_tree", "two_tree@pipelined"} < set(summary.competitor) and result.stdout.count("@pipelined") >= 2
    facts = next((tmp_path / "run" / "launches").glob("2r-1.*.json")).read_text()
    assert re.search(rf'"library": "{libraries()[python]} \d', facts) and '"thread_level": "single"' in facts
    assert libraries()[python] != "Intel MPI" or '"transport": "shm"' in facts
    assert '"UCX_LOG_LEVEL": "error"' in facts and "hidden words" not in facts
    assert '"MY_OWN=not_stored"' in (tmp_path / "run" / "run.json").read_text()
    at_start = libraries()[python] == "Intel MPI"  # it reads the name of an algorithm once, at the start of a launch
    ring = "2r-1-ring" if at_start else "2r-1-forced"
    launch_of = {name: launch for launch, name, _ in done(tmp_path / "run")}
    assert (launch_of["native"], launch_of["native:ring"]) == ("2r-1", ring)
    if at_start:
        command = measured_runs.mpirun(python, 2, "run", *words, tmp_path / "other")
        refused = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
        assert refused.returncode == 2 and "let run" in refused.stderr, refused.stderr


@contract
@pytest.mark.parametrize("name", ["STOP", "KILL"])
def test_a_rank_that_stops_or_dies_is_named_and_all_end(python, tmp_path, name):
    if python == Path(sys.executable):
        pytest.skip("watching/test_hang.py has it")
    folder = tmp_path / "run"
    words = ["-a", "ring,tree", "--sizes", "8,64K", "--min-time", "0.5s", "--launches", "1", "--timeout", "2s"]
    command = [str(python), "-m", "allreduce_bench", "run", "-n", "3", *words, "-o", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    deadline = time.time() + 240
    while not done(folder):
        assert process.poll() is None and time.time() < deadline
        time.sleep(0.02)
    os.kill(processes(folder)[1], signal.Signals[f"SIG{name}"])
    _, said = process.communicate(timeout=240)
    nobody_is_left(folder)
    what = r"does not respond \(stopped, or its node failed\)" if name == "STOP" else "died"
    assert process.returncode == 1 and re.search(rf"^error: .*rank 1 on \S+ {what}", said, re.MULTILINE), said


@contract
def test_the_doctor_starts_its_ranks(python):
    if python == Path(sys.executable):
        pytest.skip("cli/test_doctor.py has it")
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
