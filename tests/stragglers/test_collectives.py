"""Which names are of collectives that all ranks meet in."""

import pytest

from allreduce_bench.stragglers.kineto import meeting_of


@pytest.mark.parametrize(
    "name, ours",
    [
        ("c10d::allreduce_", "all_reduce"),
        ("gloo:all_reduce", "all_reduce"),
        ("nccl:_all_gather_base", "all_gather"),
        ("c10d::_reduce_scatter_base_", "reduce_scatter"),
        ("ALLGATHER_coalesced", "all_gather"),
        ("all_to_allv", "all_to_all"),
        ("gloo:barrier", "barrier"),
        ("gloo:broadcast", ""),
        ("c10d::reduce_", ""),
        ("nccl:recv 0<-1", ""),
    ],
)
def test_names_of_torch(name, ours):
    assert meeting_of(name) == ours
