"""Cold calls: each finds neither its input nor its output in the cache, since the buffers rotate.

A place is an input and an output on pages of their own, and the all-reduce bound to them. The places are used one after
the other; before one comes again, the others have taken more room than the cache has. Small vectors would need too many
places for that: there, a scratch array that fills the cache is read after each turn, and the first place serves only to
bring back the library and the interpreter, which that drove out too. All this happens outside what is timed.
"""

import gc
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import NamedTuple

import numpy as np

from .execute import Prepared

MOST_PLACES = 64
MOST_STEPS = 100_000  # bound over all places of a rank: beyond, binding takes longer than measuring
ELSEWHERE = (type, dict, ModuleType, CodeType)  # objects that every call shares
PAGE = 4096
VECTORS_OF_A_PLACE = 3  # at most: input, output, and the scratch of a schedule


class BufferSet(NamedTuple):
    """An all-reduce bound to buffers of its own."""

    call: Prepared
    sendbuf: np.ndarray
    recvbuf: np.ndarray


class Rotation:
    """Takes turns over places; every rank makes one with as many places as the others."""

    def __init__(
        self,
        bind: Callable[[np.ndarray, np.ndarray], Prepared],
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
            sendbuf, recvbuf = _alike(vector), _alike(vector)
            self.places.append(BufferSet(bind(sendbuf, recvbuf), sendbuf, recvbuf))
        self._objects = [_objects(place.call.run) for place in self.places]
        self._scratch = np.ones(region_nbytes // 8) if _too_few(vector.nbytes, region_nbytes, places) else None
        for place in self.places:
            place.call.run()
        self._at = places - 1

    def turn(self) -> Callable[[], None]:
        """The call to time next, in a cold place; to be called before the ranks enter it together."""
        self._at = (self._at + 1) % len(self.places)
        if self._at == 0 and self._scratch is not None:
            self._scratch.max()
            self.places[0].call.run()
            self._at = 1
        for _ in self._objects[self._at]:  # to name an object is to touch it
            pass
        return self.places[self._at].call.run

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
    return places * VECTORS_OF_A_PLACE * max(nbytes, PAGE) + region_nbytes


def _alike(vector: np.ndarray) -> np.ndarray:
    """A copy that shares no page's beginning with another one.

    Allocated one by one as the buffers of warm calls are: numpy asks for huge pages for a large block, with which some
    MPIs exchange several times as fast.
    """
    copy = np.empty(max(vector.size, PAGE // vector.itemsize), vector.dtype)[: vector.size]
    copy[:] = vector
    return copy


def _objects(run: Callable[[], None]) -> list[object]:
    """What the interpreter reads to make the call `run`: not the vectors, but the objects that name them."""
    found: dict[int, object] = {}
    fresh: list[object] = [run]
    while fresh:
        found |= {id(one): one for one in fresh}
        fresh = [one for one in gc.get_referents(*fresh) if id(one) not in found and not isinstance(one, ELSEWHERE)]
    return list(found.values())


def _too_few(nbytes: int, region_nbytes: int, places: int) -> bool:
    return 2 * nbytes * (places - 1) < region_nbytes
