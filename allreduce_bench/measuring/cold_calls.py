"""Cold calls: the buffers rotate, so that each call finds neither its input nor its output in the cache.

A place is an input and an output on pages of their own, and the all-reduce bound to them. Places are used in turn;
before one is used again, the others have filled more than the cache. Small vectors would need too many places: there, a
scratch array that fills the cache is read after each round, and the first place serves only to reload the library and
the interpreter, which that evicted, too. All this happens outside the timed calls.
"""

import gc
from collections.abc import Callable
from functools import partial
from types import CodeType, ModuleType

import numpy as np

from ..executing import Place, Prepared
from ..executing.memory import Allocate, Memory, page_of
from ..machine import PAGE_NBYTES
from .calls import TimedLoop, call_by_call

MOST_PLACES = 64
MOST_STEPS = 100_000  # over all places of a rank: with more, binding takes longer than measuring
SHARED_TYPES = (type, dict, ModuleType, CodeType)  # types whose objects do not belong to a single call
VECTORS_OF_A_PLACE = 3  # at most: input, output, and a schedule's scratch


class Rotation:
    """Rotation over places; every rank makes one with equally many."""

    def __init__(
        self,
        bind: Callable[[np.ndarray, np.ndarray], Prepared],
        memory: Memory,
        vector: np.ndarray,
        region_nbytes: int,
        places: int,
    ):
        """Bind `places` places (see `places_for`) with the contents of `vector`; run each once. Collective.

        So no timed call touches a page, or an address unknown to its MPI, for the first time.
        """
        self.places = []
        for _ in range(places):
            sendbuf, recvbuf = _copy(vector, memory.sendbuf), _copy(vector, memory.recvbuf)
            self.places.append(Place(bind(sendbuf, recvbuf), sendbuf, recvbuf))
        self._objects = [_objects_read_by(place.call.run) for place in self.places]
        self._scratch = np.ones(region_nbytes // 8) if _needs_scratch(vector.nbytes, region_nbytes, places) else None
        for place in self.places:
            place.call.run()
        self._current = places - 1

    def prepare_call(self) -> Callable[[], object]:
        """Return the next call to time, in a cold place; call this before the common start."""
        self._current = (self._current + 1) % len(self.places)
        if self._current == 0 and self._scratch is not None:
            self._scratch.max()
            self.places[0].call.run()
            self._current = 1
        for _ in self._objects[self._current]:  # iterating over the objects touches them
            pass
        return self.places[self._current].call.run

    @property
    def loop(self) -> TimedLoop | None:
        """Return a loop like `Prepared.timed_calls`, but call by call, because Python works between them; or None."""
        return partial(call_by_call, self._next_loop) if self.places[0].call.timed_calls else None

    def _next_loop(self) -> TimedLoop:
        self.prepare_call()
        timed_calls = self.places[self._current].call.timed_calls
        assert timed_calls is not None
        return timed_calls

    def used(self) -> int:
        """Return the number of the place of the last call."""
        return self._current

    def start_over(self) -> None:
        """Begin a new round, after the inputs were written from the first place to the last."""
        self._current = len(self.places) - 1

    def close(self) -> None:
        """Free MPI's resources of the places."""
        for place in self.places:
            place.call.close()


def places_for(size_bytes: int, region_nbytes: int, steps: int) -> int:
    """Return the number of places of vectors that touch `region_nbytes` between two uses of one; at least two.

    At most MOST_PLACES, and at most MOST_STEPS in total at `steps` each.
    """
    enough = 1 + -(-region_nbytes // (2 * max(1, size_bytes)))
    return max(2, min(enough, MOST_PLACES, MOST_STEPS // max(1, steps)))


def memory_for(size_bytes: int, region_nbytes: int) -> int:
    """Return the most bytes that the rotation of a rank takes."""
    places = places_for(size_bytes, region_nbytes, 1)
    return places * VECTORS_OF_A_PLACE * (max(size_bytes, PAGE_NBYTES) + 2 * PAGE_NBYTES) + region_nbytes


def _copy(vector: np.ndarray, allocate: Allocate) -> np.ndarray:
    """Copy `vector` to pages of its own.

    Allocated one by one, as buffers of warm calls are: numpy requests huge pages for a large block, with which some
    MPIs communicate several times as fast.
    """
    copy = allocate(max(vector.size, page_of(vector.dtype)), vector.dtype)[: vector.size]
    copy[:] = vector
    return copy


def _objects_read_by(run: Callable[[], object]) -> list[object]:
    """Return the objects that the interpreter reads to make the call `run`: references to vectors, not their data."""
    objects: dict[int, object] = {}
    fresh: list[object] = [run]
    while fresh:
        objects |= {id(item): item for item in fresh}
        referents = gc.get_referents(*fresh)
        fresh = [item for item in referents if id(item) not in objects and not isinstance(item, SHARED_TYPES)]
    return list(objects.values())


def _needs_scratch(size_bytes: int, region_nbytes: int, places: int) -> bool:
    """Return whether `places` places of vectors touch less than `region_nbytes` between two uses of one."""
    return 2 * size_bytes * (places - 1) < region_nbytes
