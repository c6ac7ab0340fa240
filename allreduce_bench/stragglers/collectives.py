"""Collective calls that no rank can leave before every rank has entered, by the names that PyTorch gives them."""

BEGINNINGS = {  # of the letters of a name -> our name
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "reducescatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "barrier": "barrier",
}
SYMMETRIC = ("all_reduce",)  # every rank gives a vector of the same length


def meeting_of(name: str) -> str:
    """`all_reduce` of `c10d::allreduce_`, `gloo:all_reduce` or `ALLREDUCE_coalesced`; empty: ranks do not all meet."""
    letters = name.rpartition(":")[2].lower().replace("_", "")
    return next((ours for beginning, ours in BEGINNINGS.items() if letters.startswith(beginning)), "")
