"""The request to the ranks of a training step. Without MPI: the requesting process reads it."""

from typing import NamedTuple

from ...runs.competitor import NATIVE

# Algorithm and operation
AVERAGE = "avg"

BUCKET = "bucket"  # the action that does not compute

# Computation, and where all-reduces run
SPIN, SLEEP = "spin", "sleep"
BLOCKING, THREAD, IALLREDUCE, BETWEEN = "blocking", "thread", "iallreduce", "between"


class Request(NamedTuple):
    """A measurement. Every rank computes for the same seconds."""

    counts: list[int]  # elements of the buckets, or recorded calls, handed over in order
    actions: list[tuple[str, float]]  # compute for so long; bucket: hand the next one over
    dtype: str = "float32"
    competitor: str = NATIVE  # or an algorithm of ours, and perhaps its way
    op: str = AVERAGE  # or sum
    work: str = SPIN  # or sleep
    overlap: str = THREAD
    steps: int = 5


def result_of_ranks(op: str, size: int) -> float:
    """Return the sum or the average over `size` ranks, of which rank r contributes r + 1."""
    return (size + 1) / 2 * (1 if op == AVERAGE else size)
