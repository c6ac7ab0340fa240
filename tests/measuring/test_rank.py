"""What a rank says when it fails."""

import pytest
from interpreters import interpreters

NO_TYPE = "no such type"
LAST_LINES = ("known error", "not in list")
MPI_ERROR = "MPI_ERR_OTHER\n\n  {}\n  {}\n".format(*LAST_LINES)

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")


def test_an_error_is_said_in_one_line():
    from allreduce_bench.measuring.rank import _one_line

    assert _one_line(KeyboardInterrupt()) == "interrupted"
    assert _one_line(ValueError(NO_TYPE)) == f"ValueError: {NO_TYPE}"
    assert _one_line(RuntimeError(MPI_ERROR)) == f"RuntimeError: {'; '.join(LAST_LINES)}"
