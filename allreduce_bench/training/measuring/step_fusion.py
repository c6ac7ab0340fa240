"""Which gradients Horovod sends together. What ranks run, and what models of a step take: standard library only.

The rule is that of `Controller::FuseResponses` in Horovod's controller.cc: of the gradients that a cycle found ready on
all ranks it fuses what fits into the buffer, in order, one type at a time. A tensor that is longer than the buffer goes
alone.
"""

from collections import deque
from collections.abc import Sequence


def fuse(tensors: Sequence[tuple[int, int, str]], buffer_nbytes: int) -> list[tuple[int, ...]]:
    """The indices of tensors, given as (index, bytes, type), that go together, in the order of their all-reduces.

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
