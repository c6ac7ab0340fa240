"""What a rank says when it fails."""

import pytest
from interpreters import interpreters

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")


def test_an_error_is_said_in_one_line():
    from allreduce_bench.measuring.rank import _one_line

    assert _one_line(KeyboardInterrupt()) == "interrupted"
    assert _one_line(ValueError("no such type")) == "ValueError: no such type"
    assert _one_line(RuntimeError("MPI_ERR_OTHER\n\n  known error\n  not in list\n")) == (
        "RuntimeError: known error; not in list"
    )
