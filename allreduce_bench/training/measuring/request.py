"""The request to the ranks of a training step, and the fusion of gradients. Without MPI: the requesting process reads
it.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from ...runs.cell import NATIVE
from ...runs.schema import NO_GROUPS

# Algorithm and operation
AVERAGE = "avg"

# Actions that do not compute
BUCKET, TENSOR = "bucket", "tensor"

# Where all-reduces run
BLOCKING, THREAD, IALLREDUCE, BETWEEN = "blocking", "thread", "iallreduce", "between"


class Request(NamedTuple):
    """A measurement. Seconds are those of the computation, the same on every rank."""

    counts: list[int]  # elements of the units handed over in order: buckets, with Horovod gradients, or recorded calls
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
    cycle_s: float = 0.0  # of Horovod; 0: no fusion
    buffer_nbytes: int = 0  # Horovod's fusion buffer
    alone: list[int] | None = None  # elements of Horovod's all-reduces measured alone


def result_of_ranks(op: str, size: int) -> float:
    """Return the sum or the average over `size` ranks, of which rank r contributes r + 1."""
    return (size + 1) / 2 * (1 if op == AVERAGE else size)


def fuse(tensors: Sequence[tuple[int, int, str]], buffer_nbytes: int) -> list[tuple[int, ...]]:
    """Fuse tensors, given as (index, bytes, type): the indices that go together, in the order of their all-reduces.

    The rule is that of `Controller::FuseResponses` in Horovod's controller.cc: of the gradients that a cycle found
    ready on all ranks it fuses what fits into the buffer, in order, one type at a time. A tensor that is longer than
    the buffer goes alone.

    What does not fit is skipped, as long as the skipped tensors would still fit into the buffer together with those
    taken: so tensors of two types that alternate are told apart. Tensors of one type stay in order.
    """
    waiting, fused = deque(tensors), []
    while waiting:
        index, nbytes, dtype = waiting.popleft()
        members, skipped, skipped_nbytes = [index], [], 0
        while waiting:
            _, more, other = waiting[0]
            if other == dtype and nbytes + more <= buffer_nbytes:
                members.append(waiting.popleft()[0])
                nbytes += more
                continue
            skipped_nbytes += more
            if nbytes + skipped_nbytes > buffer_nbytes:
                break
            skipped.append(waiting.popleft())
        waiting.extendleft(reversed(skipped))
        fused.append(tuple(members))
    return fused
