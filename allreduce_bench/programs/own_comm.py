"""The private communicator beside each of the program's.

There is one for each of the program's, however many ways there are to call it. A library has some thousand
communicators, and each takes memory: it is made when the first all-reduce is prepared; native needs none. It is freed
with the program's, or with its last user.
"""

from contextlib import suppress
from typing import Any
from weakref import WeakSet

import numpy as np
from mpi4py import MPI

from ..measuring.context import nodes_of
from .bound import Site

# Keys of attributes of communicators; empty until created
_comm_keyval: list[int] = []  # the private communicator
_watch_keyval: list[int] = []  # the objects that `watch` it


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


def own_comm(around: MPI.Comm) -> OwnComm:
    """Return the private communicator of `around`; create it, on all ranks together, if any rank has none.

    A rank that left by an exception did not deregister, and still has what the others freed. If MPI has no
    communicators left, which its ranks detect together, `site` is None from then on.
    """
    kept: Any = around.Get_attr(_find_key())
    is_kept = np.array([kept is not None], np.int32)
    around.Allreduce(MPI.IN_PLACE, is_kept, MPI.MIN)
    if not is_kept[0]:
        if kept is not None:
            around.Delete_attr(_find_key())  # which frees it
        kept = OwnComm(_duplicate(around))
        around.Set_attr(_find_key(), kept)
    return kept


def watch(around: MPI.Comm, user: Any) -> None:
    """Call `user.end_with_communicator()` when `around` is freed, by whatever object of its handle."""
    if not _watch_keyval:
        _watch_keyval.append(MPI.Comm.Create_keyval(delete_fn=_end_users))
    users: Any = around.Get_attr(_watch_keyval[0])
    if users is None:
        users = WeakSet()
        around.Set_attr(_watch_keyval[0], users)
    users.add(user)


def leave(around: MPI.Comm) -> None:
    """Deregister one user, on all ranks together; the last one frees it."""
    kept: Any = around.Get_attr(_find_key()) if around else None
    if kept is None:
        return
    kept.users -= 1
    if not kept.users and kept.site is not None:
        around.Delete_attr(_find_key())  # which frees it


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


def _find_key() -> int:
    if not _comm_keyval:
        _comm_keyval.append(MPI.Comm.Create_keyval(delete_fn=_free_own))
    return _comm_keyval[0]


def _end_users(comm: MPI.Comm, keyval: int, users: "WeakSet[Any]") -> None:
    for user in list(users):
        user.end_with_communicator()


def _free_own(comm: MPI.Comm, keyval: int, kept: OwnComm) -> None:
    """Free the private one when the program's is being freed, on all ranks; a no-op after MPI_Finalize."""
    kept.free()
