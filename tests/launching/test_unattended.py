"""The child process that ends rank 0 where MPI does not start; ranks that watch themselves are in `test_hang`."""

import signal
import subprocess
import sys

FUSE = """import sys, time
from allreduce_bench.launching.unattended import fuse
put_out = fuse(0.1, int(sys.argv[1]))
if sys.argv[2] == "starts":
    put_out()
time.sleep(1.5)
"""


def run_with_fuse(rank: int, mpi: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", FUSE, str(rank), mpi]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_rank_0_is_ended_in_a_sentence_where_mpi_hangs():
    result = run_with_fuse(0, "hangs")
    assert result.returncode == -signal.SIGKILL
    assert "MPI_Init did" in result.stderr and "0.5 s (5 times" in result.stderr


def test_rank_0_goes_on_where_mpi_starts():
    result = run_with_fuse(0, "starts")
    assert result.returncode == 0 and result.stderr == ""


def test_other_ranks_have_no_fuse():
    result = run_with_fuse(1, "hangs")
    assert result.returncode == 0 and result.stderr == ""
