"""One candidate at a shape: proved, and bound to the buffers of calls.

Short vectors are copied through buffers of our own, to which it is bound once. Longer ones are bound where they lie,
and the last places are kept, so that a program that calls with the same buffers binds nothing anew.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple
from zlib import crc32

import numpy as np
from mpi4py import MPI

from ..executing import EXECUTORS, Place, Prepared, Unsupported, native
from ..executing.memory import PAGES
from ..runs.cell import COMPILED, NATIVE
from ..runs.dtypes import is_float
from ..schedule import Step
from ..schedule.algorithm import Algorithm, AlgorithmError
from ..schedule.topology import Topology
from .agreement import Shape
from .buffers import Vectors
from .candidates import Candidate

COPIED_NBYTES = 16 * 1024  # copying so much twice costs less than a message
PLACES = 4  # of longer vectors: so many pairs of buffers are held at a time
PROVED_UP_TO = 256  # ranks: beyond, a proof takes longer than the calls to come


class Site(NamedTuple):
    """Where all calls run: a communicator of its own, and its nodes."""

    comm: MPI.Comm
    topology: Topology


class _Proved(NamedTuple):
    """What rank 0 found of a candidate: why it does not run, or the fingerprints of the steps of all ranks."""

    reason: str = ""
    is_cut: bool = False
    fingerprints: tuple[int, ...] = ()


class Bound:
    """A candidate that runs on any buffers of its shape; all ranks make it together. Raises AlgorithmError."""

    def __init__(self, site: Site, candidate: Candidate, algorithm: Algorithm | None, shape: Shape, needs_bits: bool):
        """`needs_bits`: refuse a schedule that does not give all ranks the same bits."""
        self.candidate, self._site, self._shape = candidate, site, shape
        self._steps, self.digest = list[Step](), 0  # of the steps of all ranks; 0: unknown
        if algorithm is not None:
            self._steps, self.digest = _steps(site, candidate, algorithm, shape, needs_bits)
        self._own: Place | None = None
        self._input: np.ndarray | None = None  # of calls in place
        self._places: OrderedDict[tuple[int, int], Prepared] = OrderedDict()
        reason = ""
        try:
            self._bind(*self._own_vectors()).close()
        except Unsupported as error:
            reason = str(error)
        if reasons := [reason for reason in site.comm.allgather(reason) if reason]:
            raise AlgorithmError(f"{candidate.name}: {reasons[0]}")

    def run(self, vectors: Vectors) -> None:
        """All-reduce once."""
        if vectors.recv.nbytes <= COPIED_NBYTES:
            call, send, recv = self._own or self._own_place()
            send[:] = vectors.send
            call.run()
            vectors.recv[:] = recv
            return
        send, recv = vectors
        if send is recv:
            self._input = PAGES.sendbuf(recv.size, recv.dtype) if self._input is None else self._input
            self._input[:] = recv
            send = self._input
        self._place_of(send, recv).run()

    def close(self) -> None:
        """Free what MPI holds for it, and let go of all buffers; a later call binds anew."""
        for call in [*self._places.values(), *([self._own.call] if self._own else [])]:
            call.close()
        self._places.clear()
        self._own = self._input = None

    def _own_place(self) -> Place:
        send, recv = self._own_vectors()
        self._own = Place(self._bind(send, recv), send, recv)
        return self._own

    def _own_vectors(self) -> tuple[np.ndarray, np.ndarray]:
        shape = self._shape.count, self._shape.dtype
        return PAGES.sendbuf(*shape), PAGES.recvbuf(*shape)

    def _place_of(self, send: np.ndarray, recv: np.ndarray) -> Prepared:
        key = MPI.Get_address(send), MPI.Get_address(recv)
        call = self._places.get(key)
        if call is None:
            if len(self._places) == PLACES:
                self._places.popitem(last=False)[1].close()
            call = self._places[key] = self._bind(send, recv)
        self._places.move_to_end(key)
        return call

    def _bind(self, send: np.ndarray, recv: np.ndarray) -> Prepared:
        if self.candidate.executor == NATIVE:
            return native(send, recv, self._site.comm, self._shape.op)
        window = () if self.candidate.window is None else (self.candidate.window,)
        bind = EXECUTORS[self.candidate.executor]
        return bind(self._steps, send, recv, self._site.comm, self._shape.op, *window)


def refuse_without_compiler(site: Site, executors: Sequence[str], dtype: str) -> str | None:
    """Make compiled code ready for `dtype` on all ranks; why that cannot be, if any of the executors needs it."""
    if not any(executor in COMPILED for executor in executors):
        return None
    from ..measuring.compiling import compile_in_turns  # late: it takes a second

    return compile_in_turns(site.comm, site.topology, dtype)


def _steps(
    site: Site, candidate: Candidate, algorithm: Algorithm, shape: Shape, needs_bits: bool
) -> tuple[list[Step], int]:
    """The steps of this rank, and the digest of those of all, proved on rank 0. Raises AlgorithmError on all ranks."""
    comm, size, segment = site.comm, site.comm.size, candidate.segment or 1
    steps, failure = list[Step](), ""
    try:
        steps = algorithm.schedule(comm.rank, size, site.topology, shape.count, segment)
    except AlgorithmError as error:
        failure = str(error)
    proved = comm.bcast(_proof(site, candidate, algorithm, shape, needs_bits) if comm.rank == 0 else None)
    if proved.is_cut:
        from ..schedule.cut import cut  # late: few are cut

        steps = cut(steps, segment)
    if not failure and proved.fingerprints and _fingerprint(steps) != proved.fingerprints[comm.rank]:
        failure = f"rank {comm.rank} made other steps than were verified; an algorithm may use only its arguments"
    if failures := [reason for reason in (proved.reason, *comm.allgather(failure)) if reason]:
        raise AlgorithmError(failures[0])
    return steps, crc32(repr(proved.fingerprints).encode()) if proved.fingerprints else 0


def _proof(site: Site, candidate: Candidate, algorithm: Algorithm, shape: Shape, needs_bits: bool) -> _Proved:
    """Prove the schedules of all ranks, cut where the candidate is; rank 0 only."""
    from ..schedule.cut import cut_schedules  # late, as the next: rank 0 only
    from ..schedule.rendezvous import Refusal
    from ..schedule.verify import verify

    if site.comm.size > PROVED_UP_TO:
        return _Proved()
    is_cut = candidate.window is not None and not algorithm.segmented and candidate.segment is not None
    try:
        whole = algorithm.schedules(site.comm.size, site.topology, shape.count, candidate.segment or 1)
        if is_cut:
            schedules, why_not, proof = cut_schedules(whole, shape.count, candidate.segment or 1)
            if why_not:
                return _Proved(f"{candidate.name}: {why_not}")
        else:
            schedules, proof = whole, verify(whole, shape.count)
    except (AlgorithmError, Refusal) as refusal:
        return _Proved(f"{candidate.name}: {refusal}")
    if needs_bits and is_float(shape.dtype) and not proof.same_bits:
        return _Proved(f"{candidate.name}: not all ranks get the same bits")
    return _Proved("", is_cut, tuple(map(_fingerprint, schedules)))


def _fingerprint(steps: Sequence[Step]) -> int:
    return crc32(repr(list(steps)).encode())
