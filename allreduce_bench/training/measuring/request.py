"""The request to the ranks of a training step. Without MPI: the requesting process reads it."""

from typing import NamedTuple

from ...runs.competitor import NATIVE

BUCKET = "bucket"  # the action that does not compute
SPIN, SLEEP = "spin", "sleep"  # the computation


class Request(NamedTuple):
    """A measurement. Every rank computes for the same seconds."""

    counts: list[int]  # elements of the buckets, handed over in order
    actions: list[tuple[str, float]]  # compute for so long; bucket: hand the next one over
    dtype: str = "float32"
    competitor: str = NATIVE  # or an algorithm of ours, and perhaps its way
    work: str = SPIN  # or sleep
    steps: int = 5
