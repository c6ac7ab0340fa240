"""Steps that were not proved are named with their rank."""

import pytest
from interpreters import interpreters

pytestmark = pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")


def test_a_rank_with_other_steps_than_were_proved_is_named():
    import mpi4py

    mpi4py.rc.initialize = False
    from allreduce_bench.measuring.schedules import ranks_with_other_steps

    assert ranks_with_other_steps([1, 2, 3], [1, 2, 3]) is None
    assert ranks_with_other_steps([1, 2, 4], [1, 2, 3]).startswith("rank 2 made other steps than were proved for it")
