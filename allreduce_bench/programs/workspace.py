"""Memory that the all-reduces of one communicator share, and what is bound to it or to buffers of the program.

One all-reduce runs at a time, so all of them share one copy of an input and one scratch, which grow to what the longest
needs. Buffers of the program are bound by address: nothing of theirs is kept alive, and what is bound serves whatever
lies there when it is called. What is bound is bounded by the number of its steps.
"""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from ..executing import Prepared
from ..executing.memory import PAGES, Allocate

COPIED_NBYTES = 16 * 1024  # copying so much twice costs less than a message
MOST_STEPS = 8192  # of all that is bound; a step takes about 2 KiB
EACH = 16  # steps: what a bound all-reduce takes beside its own


class _Kept(NamedTuple):
    call: Prepared
    weight: int  # steps


class Workspace:
    """All memory of ours for one communicator: twice the longest vector that was prepared, and what is bound."""

    def __init__(self) -> None:
        self._scratch, self._input = _Pool(PAGES.scratch), _Pool(PAGES.sendbuf)
        self._short = _Pool(PAGES.sendbuf, COPIED_NBYTES), _Pool(PAGES.recvbuf, COPIED_NBYTES)
        self._bound: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._weight = 0

    def scratch(self, count: int, dtype: Any) -> np.ndarray:
        """As an executor asks for it. All that is bound to a former one that was too short is let go."""
        if self._scratch.is_too_short(count, dtype):
            self.clear()
        return self._scratch.of(count, dtype)

    def input_of(self, vector: np.ndarray) -> np.ndarray:
        """A copy of the input of a call in place."""
        if self._input.is_too_short(vector.size, vector.dtype):
            self.clear()
        copied = self._input.of(vector.size, vector.dtype)
        copied[:] = vector
        return copied

    def short(self, count: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
        """Input and output of vectors up to COPIED_NBYTES, at the same places always."""
        send, recv = self._short
        return send.of(count, dtype), recv.of(count, dtype)

    def find(self, key: Hashable) -> Prepared | None:
        """What is bound under this key, which is now the last one used."""
        kept = self._bound.get(key)
        if kept is None:
            return None
        self._bound.move_to_end(key)
        return kept.call

    def keep(self, key: Hashable, call: Prepared, steps: int) -> None:
        """Keep what was bound; what was not used for longest goes where there are too many steps."""
        self._bound[key] = _Kept(call, steps + EACH)
        self._weight += steps + EACH
        while self._weight > MOST_STEPS and len(self._bound) > 1:
            self.drop(next(iter(self._bound)))

    def drop(self, key: Hashable) -> None:
        """Free what MPI holds for this one, if it is there."""
        if kept := self._bound.pop(key, None):
            self._weight -= kept.weight
            kept.call.close()

    def drop_of(self, owner: object) -> None:
        """The same of all keys that begin with `owner`."""
        for key in [key for key in self._bound if isinstance(key, tuple) and key[0] is owner]:
            self.drop(key)

    def clear(self) -> None:
        """The same of all."""
        for kept in self._bound.values():
            kept.call.close()
        self._bound.clear()
        self._weight = 0


class _Pool:
    """One block that grows to what is asked for."""

    def __init__(self, allocate: Allocate, nbytes: int = 0):
        self._allocate = allocate
        self._block = allocate(nbytes, np.uint8)

    def is_too_short(self, count: int, dtype: Any) -> bool:
        return count * np.dtype(dtype).itemsize > self._block.nbytes

    def of(self, count: int, dtype: Any) -> np.ndarray:
        """Its beginning, as so many elements."""
        nbytes = count * np.dtype(dtype).itemsize
        if nbytes > self._block.nbytes:
            self._block = self._allocate(nbytes, np.uint8)
        return self._block[:nbytes].view(dtype)


def by_address(address: int, vector: np.ndarray) -> np.ndarray:
    """The memory of `vector`, which lies at `address`, without a reference to it."""
    memory: Any = MPI.buffer.fromaddress(address, vector.nbytes)
    return np.frombuffer(memory, vector.dtype)
