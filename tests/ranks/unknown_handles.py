"""An MPI whose handles are of sizes that compiled code does not know."""

from unittest.mock import patch

from mpi4py import MPI

from allreduce_bench.executing import symbols
from allreduce_bench.measuring import schedules


def reason_not_ready(comm: MPI.Comm) -> str | None:
    """Return why a rank has no compiled code."""
    with patch.object(symbols, "HANDLE_NBYTES", {8, 16}):
        return schedules._reason_not_ready("float32")
