"""Which carrier a communicator has."""

import pytest

from allreduce_bench.programs.carrier import transport_of


@pytest.mark.parametrize("comm", [0, "world", object()])
def test_what_is_no_communicator_is_refused(comm):
    with pytest.raises(TypeError, match=f"expected a communicator .*, found {type(comm).__name__}$"):
        transport_of(comm)
