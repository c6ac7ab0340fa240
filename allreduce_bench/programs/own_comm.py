"""The private communicator beside each of the program's.

There is one for each of the program's, however many ways there are to call it. A library has some thousand
communicators, and each takes memory: it is made when the first all-reduce is prepared; native needs none. It is freed
with the program's, or with its last user.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Any
from weakref import WeakSet

import numpy as np
from mpi4py import MPI

from ..measuring.context import nodes_of
from .bound import Site


class Attribute:
    """What this package keeps with a communicator; when that is freed, by whatever object of its handle, `on_free`
    gets it.
    """

    def __init__(self, on_free: Callable[[Any], object]):
        self._on_free = on_free

    @cached_property
    def _key(self) -> int:
        """The key of the attribute, created once MPI has started."""

        def free(comm: MPI.Comm, key: int, kept: Any) -> None:
            self._on_free(kept)

        return MPI.Comm.Create_keyval(delete_fn=free)

    def find(self, comm: MPI.Comm) -> Any:
        """Return what is kept; None: nothing."""
        return comm.Get_attr(self._key)

    def keep(self, comm: MPI.Comm, kept: Any) -> Any:
        """Keep it, and return it."""
        comm.Set_attr(self._key, kept)
        return kept

    def drop(self, comm: MPI.Comm) -> None:
        """Keep it no longer, as if the communicator were freed."""
        comm.Delete_attr(self._key)


class OwnComm:
    """The private communicator and its nodes; `site` is None if MPI could not make one, or it was freed."""

    def __init__(self, site: Site | None):
        self.site = site
        self.users = 0  # the same on all ranks
        self._held_by: WeakSet[Any] = WeakSet()

    def join(self, user: Any) -> None:
        """Register a user; its `let_go` frees what it holds."""
        self.users += 1
        self._held_by.add(user)

    def free(self) -> None:
        """Free it, on all ranks together, after what its users hold."""
        for user in list(self._held_by):
            user.let_go()
        if self.site is not None and not MPI.Is_finalized():
            self.site.comm.Free()
        self.site = None


def find_own_comm(around: MPI.Comm) -> OwnComm:
    """Return the private communicator of `around`; create it, on all ranks together, if any rank has none.

    A rank that left by an exception did not deregister, and still has what the others freed. If MPI has no
    communicators left, which its ranks detect together, `site` is None from then on.
    """
    kept = _own.find(around)
    is_kept = np.array([kept is not None], np.int32)
    around.Allreduce(MPI.IN_PLACE, is_kept, MPI.MIN)
    if not is_kept[0]:
        if kept is not None:
            _own.drop(around)  # which frees it
        kept = _own.keep(around, OwnComm(_duplicate(around)))
    return kept


def watch(around: MPI.Comm, user: Any) -> None:
    """Call `user.end_with_communicator()` when `around` is freed."""
    users = _users.find(around)
    (_users.keep(around, WeakSet()) if users is None else users).add(user)


def leave(around: MPI.Comm) -> None:
    """Deregister one user, on all ranks together; the last one frees it."""
    kept = _own.find(around) if around else None
    if kept is None:
        return
    kept.users -= 1
    if not kept.users and kept.site is not None:
        _own.drop(around)  # which frees it


def _duplicate(around: MPI.Comm) -> Site | None:
    own = made = None
    with suppress(MPI.Exception):
        own = around.Dup()
        made = Site(own, nodes_of(own))
    is_made = np.array([made is not None], np.int32)
    around.Allreduce(MPI.IN_PLACE, is_made, MPI.MIN)
    if is_made[0]:
        return made
    if own is not None:  # it was the last available: `nodes_of` needs one more
        own.Free()
    return None


def _end_users(users: "WeakSet[Any]") -> None:
    for user in list(users):
        user.end_with_communicator()


_own = Attribute(OwnComm.free)  # the private communicator; after MPI_Finalize nothing is freed
_users = Attribute(_end_users)  # the objects that `watch` it
