"""The communicator of ours that belongs to one of the program's, and what messages cost on it.

There is one beside each of the program's, however many ways there are to call it. A library has some thousand
communicators, and each takes memory. So ours is made where the first all-reduce is prepared, not before; what native
runs takes none. It is freed with the program's, or with the last that uses it.

Over slow links one call of an algorithm that does not fit costs more than all that is gained later. So where ranks lie
on several nodes, the first long call goes by a model: alpha for each message, beta for each byte, from a few exchanges.
"""

import time
from contextlib import suppress
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np
from mpi4py import MPI

from ..measuring.context import nodes_of
from ..schedule.algorithm import Cost
from .bound import Site

# Links: how they are measured, and which are slow
LONG_NBYTES = 256 * 1024  # a vector: of shorter ones a wrong guess costs less than the exchanges
PROBE_NBYTES = 64 * 1024
PROBE_TAG = 1
SLOW_LINK_S_PER_BYTE = 1e-9  # a link of less than 1 GB/s: what is sent over it is cut into short segments

# Attributes of a communicator, once there are any
_comm_keyval: list[int] = []  # ours beside it
_watch_keyval: list[int] = []  # those that `watch` it


class Links(NamedTuple):
    """What a message costs on the slowest link, the same on all ranks."""

    alpha_s: float
    s_per_byte: float

    @property
    def are_slow(self) -> bool:
        """Whether the bytes are what takes the time."""
        return self.s_per_byte > SLOW_LINK_S_PER_BYTE


class OwnComm:
    """Ours beside one of the program's, and its nodes; `site` None: MPI could not make one, or it was freed."""

    def __init__(self, site: Site | None):
        self.site = site
        self.users = 0  # that did not leave; the same on all ranks
        self._held_by: WeakSet[Any] = WeakSet()

    def join(self, user: Any) -> None:
        """`user` has a `let_go`, which frees what it holds."""
        self.users += 1
        self._held_by.add(user)

    def free(self) -> None:
        """Free it, all ranks together: what its users hold goes first."""
        for user in list(self._held_by):
            user.let_go()
        if self.site is not None and not MPI.Is_finalized():
            self.site.comm.Free()
        self.site = None


def own_comm(around: MPI.Comm) -> OwnComm:
    """Return what is kept with `around`; make it, on all ranks together, where one of them has nothing.

    A rank that left by an exception did not count itself out, and still has what the others freed. Where MPI has no
    communicators left, which its ranks find together, there is none from then on.
    """
    kept: Any = around.Get_attr(_key())
    is_kept = np.array([kept is not None], np.int32)
    around.Allreduce(MPI.IN_PLACE, is_kept, MPI.MIN)
    if not is_kept[0]:
        if kept is not None:
            around.Delete_attr(_key())  # which frees it
        kept = OwnComm(_duplicate(around))
        around.Set_attr(_key(), kept)
    return kept


def watch(around: MPI.Comm, user: Any) -> None:
    """Call `user.end_with_communicator()` when `around` is freed, by whatever object of its handle."""
    if not _watch_keyval:
        _watch_keyval.append(MPI.Comm.Create_keyval(delete_fn=_end))
    users: Any = around.Get_attr(_watch_keyval[0])
    if users is None:
        users = WeakSet()
        around.Set_attr(_watch_keyval[0], users)
    users.add(user)


def leave(around: MPI.Comm) -> None:
    """Leave it, all ranks together: one that joined needs it no longer; the last one frees it."""
    kept: Any = around.Get_attr(_key()) if around else None
    if kept is None:
        return
    kept.users -= 1
    if not kept.users and kept.site is not None:
        around.Delete_attr(_key())  # which frees it


def _duplicate(around: MPI.Comm) -> Site | None:
    own = made = None
    with suppress(MPI.Exception):
        own = around.Dup()
        made = Site(own, nodes_of(own))
    is_made = np.array([made is not None], np.int32)
    around.Allreduce(MPI.IN_PLACE, is_made, MPI.MIN)
    if is_made[0]:
        return made
    if own is not None:  # the last one that there was: to look at the nodes takes another one
        own.Free()
    return None


def _key() -> int:
    if not _comm_keyval:
        _comm_keyval.append(MPI.Comm.Create_keyval(delete_fn=_freed))
    return _comm_keyval[0]


def _end(comm: MPI.Comm, keyval: int, users: "WeakSet[Any]") -> None:
    for user in list(users):
        user.end_with_communicator()


def _freed(comm: MPI.Comm, keyval: int, kept: OwnComm) -> None:
    """The program's communicator is being freed, on all ranks; at the end of MPI nothing is left to be freed."""
    kept.free()


def measured_links(comm: MPI.Comm) -> Links:
    """Measure exchanges of all ranks of `comm` around a ring: 8 bytes, then PROBE_NBYTES."""
    rank, size = comm.rank, comm.size
    times = np.empty(3)
    for number, nbytes in enumerate((8, 8, PROBE_NBYTES)):  # the first one connects
        sent, received = np.zeros(nbytes, np.uint8), np.empty(nbytes, np.uint8)
        comm.Barrier()
        begun = time.perf_counter()
        comm.Sendrecv(sent, (rank + 1) % size, PROBE_TAG, received, (rank - 1) % size, PROBE_TAG)
        times[number] = time.perf_counter() - begun
    comm.Allreduce(MPI.IN_PLACE, times, MPI.MAX)
    _, alpha_s, long_s = times.tolist()
    return Links(alpha_s, max(0.0, long_s - alpha_s) / PROBE_NBYTES)


def price_s(cost: Cost, itemsize: int, links: Links) -> float:
    """Predict the seconds of what an algorithm declares: its messages one after the other."""
    return cost.messages * links.alpha_s + cost.elements * itemsize * links.s_per_byte
