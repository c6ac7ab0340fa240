"""What the ranks of a training step are asked for. What asks them takes its words from here: no MPI in it."""

from typing import NamedTuple

from ...runs.schema import NO_GROUPS

NATIVE, AVERAGE = "native", "avg"
BUCKET, TENSOR = "bucket", "tensor"  # actions that do not compute
BLOCKING, THREAD, IALLREDUCE, BETWEEN = "blocking", "thread", "iallreduce", "between"  # where all-reduces run


class Request(NamedTuple):
    """What is measured. Seconds are those of the computation, which every rank does."""

    counts: list[int]  # elements of what is handed over in turn: buckets, with Horovod gradients, or recorded calls
    actions: list[tuple[str, float]]  # compute for so long; bucket: hand the next one over; tensor: add activations
    dtype: str = "float32"
    algorithm: str = NATIVE
    executor: str = NATIVE  # of `executing.EXECUTORS`, or native
    segment: int = 16384  # elements of a segment, where messages are cut
    window: int = 2
    op: str = AVERAGE  # or sum
    work: str = "spin"  # or matmul, sleep
    overlap: str = THREAD
    steps: int = 5
    groups: str = NO_GROUPS  # of tensor parallelism, as `runs.groups` has it
    tensor_count: int = 0  # elements of its all-reduces
    cycle_s: float = 0.0  # of Horovod; 0: what is handed over goes as it is
    buffer_nbytes: int = 0  # Horovod's fusion buffer
    alone: list[int] | None = None  # elements of what Horovod all-reduces alone


def result_of_ranks(op: str, size: int) -> float:
    """The sum or the average over `size` ranks, of which rank r contributes r + 1."""
    return (size + 1) / 2 * (1 if op == AVERAGE else size)
