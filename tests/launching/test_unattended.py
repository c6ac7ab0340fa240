"""The child process that ends rank 0 where MPI does not start; ranks that watch themselves are in `test_hang`."""

import os
import signal
import subprocess
import sys

from allreduce_bench.launching.unattended import fuse

FUSE = """import os, sys, time
from allreduce_bench.launching.unattended import fuse
put_out = fuse(float(sys.argv[1]), 0)
if sys.argv[2] == "starts":
    put_out()
    try:
        os.wait()
    except ChildProcessError:  # whoever waited is gone
        sys.exit(0)
time.sleep(600)
"""


def run_with_fuse(timeout_s: float, mpi: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", FUSE, str(timeout_s), mpi]
    return subprocess.run(command, capture_output=True, text=True, timeout=240)


def test_rank_0_is_ended_in_a_sentence_where_mpi_hangs():
    result = run_with_fuse(0.1, "hangs")
    assert result.returncode == -signal.SIGKILL
    assert "the ranks were not" in result.stderr and "0.5 s (5 times" in result.stderr


def test_rank_0_goes_on_where_mpi_starts():
    result = run_with_fuse(60.0, "starts")
    assert result.returncode == 0 and result.stderr == ""


def test_other_ranks_have_no_fuse(monkeypatch):
    monkeypatch.delattr(os, "fork")
    fuse(0.1, 1)()
