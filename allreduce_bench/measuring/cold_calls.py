"""Cold calls: each finds neither its input nor its output in the cache, since the buffers rotate.

A place is an input and an output on pages of their own, and the all-reduce bound to them. The places are used one after
the other; before one comes again, the others have taken more room than the cache has. Small vectors would need too many
places for that: there, a scratch array that fills the cache is read after each turn, and the first place serves only to
bring back the library and the interpreter, which that drove out too. All this happens outside what is timed.
"""

import gc
from collections.abc import Callable
from types import CodeType, ModuleType

import numpy as np

from ..executing import Between, CommonStart, Place, Prepared
from ..executing.memory import Allocate, Memory, page_of
from ..machine import PAGE_NBYTES
from ..watching.whereabouts import doing

MOST_PLACES = 64
MOST_STEPS = 100_000  # bound over all places of a rank: beyond, binding takes longer than measuring
SHARED_TYPES = (type, dict, ModuleType, CodeType)  # objects of these belong to no single call
VECTORS_OF_A_PLACE = 3  # at most: input, output, and the scratch of a schedule


class Rotation:
    """Takes turns over places; every rank makes one with as many places as the others."""

    def __init__(
        self,
        bind: Callable[[np.ndarray, np.ndarray], Prepared],
        memory: Memory,
        vector: np.ndarray,
        region_nbytes: int,
        places: int,
    ):
        """Bind `places` places (see `places_for`) with the contents of `vector`; run each once.

        So no timed call touches a page, or an address that its MPI does not know, for the first time. The ranks call it
        together.
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

    def turn(self) -> Callable[[], object]:
        """The call to time next, in a cold place; to be called before the ranks enter it together."""
        self._current = (self._current + 1) % len(self.places)
        if self._current == 0 and self._scratch is not None:
            self._scratch.max()
            self.places[0].call.run()
            self._current = 1
        for _ in self._objects[self._current]:  # to name an object is to touch it
            pass
        return self.places[self._current].call.run

    @property
    def loop(self) -> Callable[[int, CommonStart | None, Between | None], np.ndarray] | None:
        """As `Prepared.timed_calls`, call by call, since what is between them is Python's."""
        return self._timed_calls if self.places[0].call.timed_calls else None

    @doing("in the common start of a call", counts="call")
    def _timed_calls(self, calls: int, start: CommonStart | None, between: Between | None = None) -> np.ndarray:
        blocks = [np.empty((3, 0))]
        for call in range(calls):
            if between:
                between.before(call)
            self.turn()
            timed_calls = self.places[self._current].call.timed_calls
            assert timed_calls is not None
            blocks.append(timed_calls(1, start, None))
            if between:
                between.after(call)
        return np.hstack(blocks)

    def used(self) -> int:
        """The number of the place of the last call."""
        return self._current

    def start_over(self) -> None:
        """The inputs were written, from the first place to the last: the next call is that of a new round."""
        self._current = len(self.places) - 1

    def close(self) -> None:
        """Free what MPI holds for the places."""
        for place in self.places:
            place.call.close()


def places_for(nbytes: int, region_nbytes: int, steps: int) -> int:
    """The places of vectors of `nbytes` that it takes to touch `region_nbytes` between two uses of one; at least two.

    At most MOST_PLACES, and no more than make MOST_STEPS of `steps` each.
    """
    enough = 1 + -(-region_nbytes // (2 * max(1, nbytes)))
    return max(2, min(enough, MOST_PLACES, MOST_STEPS // max(1, steps)))


def memory_for(nbytes: int, region_nbytes: int) -> int:
    """Bytes that the rotation of a rank takes at most."""
    places = places_for(nbytes, region_nbytes, 1)
    return places * VECTORS_OF_A_PLACE * (max(nbytes, PAGE_NBYTES) + 2 * PAGE_NBYTES) + region_nbytes


def _copy(vector: np.ndarray, allocate: Allocate) -> np.ndarray:
    """A copy that shares no page's beginning with another one.

    Allocated one by one as the buffers of warm calls are: numpy asks for huge pages for a large block, with which some
    MPIs exchange several times as fast.
    """
    copy = allocate(max(vector.size, page_of(vector.dtype)), vector.dtype)[: vector.size]
    copy[:] = vector
    return copy


def _objects_read_by(run: Callable[[], object]) -> list[object]:
    """What the interpreter reads to make the call `run`: not the vectors, but the objects that name them."""
    objects: dict[int, object] = {}
    fresh: list[object] = [run]
    while fresh:
        objects |= {id(item): item for item in fresh}
        referents = gc.get_referents(*fresh)
        fresh = [item for item in referents if id(item) not in objects and not isinstance(item, SHARED_TYPES)]
    return list(objects.values())


def _needs_scratch(nbytes: int, region_nbytes: int, places: int) -> bool:
    """Whether so many places of vectors of `nbytes` are too few to touch `region_nbytes` between two uses of one."""
    return 2 * nbytes * (places - 1) < region_nbytes
