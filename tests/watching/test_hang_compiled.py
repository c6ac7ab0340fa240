"""A rank that stops in compiled code, over a real MPI, is named."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from interpreters import contract
from measured_runs import impatient, nobody_is_left, processes, with_package

# a ring that tells when its cell has begun
RING = """import sys
from pathlib import Path
from allreduce_bench.algorithms import Cost, algorithm, find
@algorithm(cost=lambda size, topology, count, segment: Cost(1, count, count), exact=False, formula="?")
def mine(rank, size, topology, count, segment):
    if "measure" in sys.argv:  # not in the proof before the launch
        Path(__file__ + ".begun").touch()
    yield from find(["ring"])["ring"].generate(rank, size, topology, count, segment)
"""


@contract
def test_a_rank_that_stops_in_compiled_code_is_named(python, tmp_path):
    if not list(python.parent.parent.glob("lib/python*/site-packages/numba")):
        pytest.skip("the interpreter has no numba")
    folder, mine = tmp_path / "run", tmp_path / "mine.py"
    mine.write_text(RING)
    ready = "from allreduce_bench.executing import compiled; compiled.make_ready('float32')"
    subprocess.run([str(python), "-c", ready], env=with_package(), check=True)  # the next processes find it compiled
    words = ["-n", "3", "-a", f"{mine}@compiled", "--sizes", "4M", "--cell-time", "60s"]
    words += ["--min-time", "60s", "--no-reference-times", "--launches", "1", "--timeout", "10s", "-o", str(folder)]
    process = subprocess.Popen(
        impatient(python, "run", *words), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    deadline = time.time() + 240
    while not Path(f"{mine}.begun").exists() or len(processes(folder)) < 3:
        assert process.poll() is None and time.time() < deadline
        time.sleep(0.05)
    time.sleep(5)  # its calls are timed
    os.kill(processes(folder)[1], signal.SIGSTOP)
    _, said = process.communicate(timeout=240)
    nobody_is_left(folder)
    sentence = said.splitlines()[-1]
    assert process.returncode == 1 and "finished cells" in sentence, said
    assert re.search(r"mine@compiled 4 MiB.*rank 1 on \S+ does not respond", sentence), said
