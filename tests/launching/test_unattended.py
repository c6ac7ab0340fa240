"""The child process that ends rank 0 where MPI does not start; ranks that watch themselves are in `test_hang`."""

import os
import signal
import subprocess
import sys

from allreduce_bench.launching.unattended import fuse

FUSE = """import sys, time
from allreduce_bench.launching.unattended import fuse
put_out = fuse(0.1, 0)
if sys.argv[1] == "starts":
    put_out()
    time.sleep(0.7)
else:
    time.sleep(60)
"""


def run_with_fuse(mpi: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", FUSE, mpi], capture_output=True, text=True, timeout=240)


def test_rank_0_is_ended_in_a_sentence_where_mpi_hangs():
    result = run_with_fuse("hangs")
    assert result.returncode == -signal.SIGKILL
    assert "the ranks were not" in result.stderr and "0.5 s (5 times" in result.stderr


def test_rank_0_goes_on_where_mpi_starts():
    result = run_with_fuse("starts")
    assert result.returncode == 0 and result.stderr == ""


def test_other_ranks_have_no_fuse(monkeypatch):
    monkeypatch.delattr(os, "fork")
    fuse(0.1, 1)()
