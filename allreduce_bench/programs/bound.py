"""A candidate at one shape: proved, and bound to the buffers of calls.

Short vectors are copied through private buffers, to which it is bound once. Longer ones are bound in place, and the
most recent bindings are cached in the workspace, so that a program that reuses its buffers binds nothing anew.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from mpi4py import MPI

from ..executing import EXECUTORS, OPERATIONS, Prepared, Unsupported, native_datatype
from ..executing.memory import PAGES, Allocate
from ..runs.competitor import NATIVE
from ..runs.dtypes import is_float
from ..schedule import Step
from ..schedule.algorithm import PROVED_UP_TO, Algorithm, AlgorithmError, Topology
from .agreement import Shape
from .candidates import Candidate

COPIED_NBYTES = 16 * 1024  # copying so much twice costs less than a message

# Limits of the cache of bindings
MOST_STEPS = 8192  # of all bindings; a step takes about 2 KiB
STEPS_OF_EACH = 16  # overhead of a binding, in steps


class _Kept(NamedTuple):
    call: Prepared
    weight: int  # steps


class Workspace:
    """All private memory for one communicator: twice the longest vector prepared so far, and a cache of bindings.

    One all-reduce runs at a time, so all share one copy of an input and one scratch buffer, which grow to the longest.
    Buffers of the program are bound by address: nothing of theirs is kept alive, and a binding serves whatever lies
    there when it is called. The cache is bounded by its total number of steps.
    """

    def __init__(self) -> None:
        self._scratch, self._input = _Pool(PAGES.scratch, self.clear), _Pool(PAGES.sendbuf, self.clear)
        self._short = PAGES.sendbuf(COPIED_NBYTES, np.uint8), PAGES.recvbuf(COPIED_NBYTES, np.uint8)
        self._bound: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._weight = 0

    def scratch(self, count: int, dtype: Any) -> np.ndarray:
        """Return scratch memory as an executor asks for it. Growing it drops all bindings to the former block."""
        return self._scratch.take(count, dtype)

    def copy_input(self, vector: np.ndarray) -> np.ndarray:
        """Return a copy of `vector`, the input of an in-place call."""
        copied = self._input.take(vector.size, vector.dtype)
        copied[:] = vector
        return copied

    def short(self, count: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the input and output buffers, at fixed addresses, of vectors up to COPIED_NBYTES."""
        send, recv = (block[: count * np.dtype(dtype).itemsize].view(dtype) for block in self._short)
        return send, recv

    def find(self, key: Hashable) -> Prepared | None:
        """Return the binding under this key, and mark it as used last; None if there is none."""
        kept = self._bound.get(key)
        if kept is None:
            return None
        self._bound.move_to_end(key)
        return kept.call

    def keep(self, key: Hashable, call: Prepared, steps: int) -> None:
        """Cache a binding; evict the least recently used while there are too many steps."""
        self._bound[key] = _Kept(call, steps + STEPS_OF_EACH)
        self._weight += steps + STEPS_OF_EACH
        while self._weight > MOST_STEPS and len(self._bound) > 1:
            self.drop(next(iter(self._bound)))

    def drop(self, key: Hashable) -> None:
        """Drop the binding under `key`, if any, and free what MPI holds for it."""
        if kept := self._bound.pop(key, None):
            self._weight -= kept.weight
            kept.call.close()

    def drop_of(self, owner: object) -> None:
        """Drop the bindings under all keys that begin with `owner`."""
        for key in [key for key in self._bound if isinstance(key, tuple) and key[0] is owner]:
            self.drop(key)

    def clear(self) -> None:
        """Drop all bindings."""
        for kept in self._bound.values():
            kept.call.close()
        self._bound.clear()
        self._weight = 0


class _Pool:
    """A block of memory that grows on demand; before it does, `drop` gives up what is bound to it."""

    def __init__(self, allocate: Allocate, drop: Callable[[], None]):
        self._allocate, self._drop = allocate, drop
        self._block = allocate(0, np.uint8)

    def take(self, count: int, dtype: Any) -> np.ndarray:
        """Return its first `count` elements as `dtype`, growing it if needed."""
        size_bytes = count * np.dtype(dtype).itemsize
        if size_bytes > self._block.nbytes:
            self._drop()
            self._block = self._allocate(size_bytes, np.uint8)
        return self._block[:size_bytes].view(dtype)


def view_address(address: int, vector: np.ndarray) -> np.ndarray:
    """Return the memory of `vector`, which lies at `address`, without a reference to it."""
    memory: Any = MPI.buffer.fromaddress(address, vector.nbytes)
    return np.frombuffer(memory, vector.dtype)


class Site(NamedTuple):
    """The private communicator on which all calls run, and its nodes."""

    comm: MPI.Comm
    topology: Topology


class _Proved(NamedTuple):
    """The proof of a candidate on rank 0: why it does not run, or the fingerprints of the steps of all ranks."""

    reason: str = ""
    is_cut: bool = False
    fingerprints: tuple[int, ...] = ()


class Native:
    """The library's own all-reduce, on the program's communicator: nothing is prepared and nothing kept."""

    candidate = Candidate(NATIVE, NATIVE)
    steps = digest = 0

    def __init__(self, comm: MPI.Comm, shape: Shape):
        """Bind to `comm` the type and operation of `shape`; the library has the type."""
        self._allreduce, self._op = comm.Allreduce, OPERATIONS[shape.op]
        self._size = comm.size if shape.op == "avg" else 0
        self._datatype = native_datatype(shape.dtype)

    def run(self, send: np.ndarray, recv: np.ndarray) -> None:
        """All-reduce once; in place, `send` is `recv`."""
        datatype = self._datatype
        sendbuf = MPI.IN_PLACE if send is recv else [send, datatype]
        self._allreduce(sendbuf, [recv, datatype], self._op)
        if self._size:
            np.divide(recv, self._size, recv)

    def close(self) -> None:
        """Do nothing: there is nothing to free."""


class Bound:
    """A candidate that runs on any buffers of its shape; constructed on all ranks together. Raises AlgorithmError."""

    def __init__(
        self,
        site: Site,
        workspace: Workspace,
        candidate: Candidate,
        algorithm: Algorithm | None,
        shape: Shape,
        needs_bits: bool,
    ):
        """Prove and bind; `needs_bits`: refuse a schedule that does not give all ranks the same bits."""
        self.candidate, self._site, self._workspace, self._shape = candidate, site, workspace, shape
        self._steps, self.digest = list[Step](), 0  # of the steps of all ranks; 0: unknown
        if algorithm is not None:
            self._steps, self.digest = _make_steps(site, candidate, algorithm, shape, needs_bits)
        is_short = shape.size_bytes <= COPIED_NBYTES
        self._short = workspace.short(shape.count, shape.dtype) if is_short else None
        self._key = (self,)  # of the binding to the short buffers
        reason = ""
        try:
            self._bind(np.empty(shape.count, shape.dtype), np.empty(shape.count, shape.dtype)).close()
        except Unsupported as error:
            reason = str(error)
        reasons, lengths = zip(*site.comm.allgather((reason, len(self._steps))))
        if any(reasons):
            raise AlgorithmError(f"{candidate.name}: {next(filter(None, reasons))}")
        self.steps: int = max(lengths)  # of a rank

    def run(self, send: np.ndarray, recv: np.ndarray) -> None:
        """All-reduce once; in place, `send` is `recv`."""
        if self._short is not None:
            own_send, own_recv = self._short
            own_send[:] = send
            (self._workspace.find(self._key) or self._keep_binding(self._key, own_send, own_recv)).run()
            recv[:] = own_recv
            return
        if send is recv:
            send = self._workspace.copy_input(recv)
        self._find_binding(send, recv).run()

    def close(self) -> None:
        """Free what MPI holds for it; a later call binds anew."""
        self._workspace.drop_of(self)

    def _find_binding(self, send: np.ndarray, recv: np.ndarray) -> Prepared:
        sent_at, received_at = MPI.Get_address(send), MPI.Get_address(recv)
        key = self, sent_at, received_at
        found = self._workspace.find(key)
        return found or self._keep_binding(key, view_address(sent_at, send), view_address(received_at, recv))

    def _keep_binding(self, key: tuple, send: np.ndarray, recv: np.ndarray) -> Prepared:
        call = self._bind(send, recv)
        self._workspace.keep(key, call, len(self._steps))
        return call

    def _bind(self, send: np.ndarray, recv: np.ndarray) -> Prepared:
        window = () if self.candidate.window is None else (self.candidate.window,)
        bind = EXECUTORS[self.candidate.executor]
        op, scratch = self._shape.op, self._workspace.scratch
        return bind(self._steps, send, recv, self._site.comm, op, *window, scratch=scratch)


def _make_steps(
    site: Site, candidate: Candidate, algorithm: Algorithm, shape: Shape, needs_bits: bool
) -> tuple[list[Step], int]:
    """Return the steps of this rank, and the digest of those of all, proved on rank 0. Raises AlgorithmError on all
    ranks.
    """
    comm, size, segment = site.comm, site.comm.size, candidate.segment or 1
    steps, failure = list[Step](), ""
    try:
        steps = algorithm.schedule(comm.rank, size, site.topology, shape.count, segment)
    except AlgorithmError as error:
        failure = str(error)
    proved = comm.bcast(_prove(site, candidate, algorithm, shape, needs_bits) if comm.rank == 0 else None)
    if proved.is_cut:
        from ..schedule.cut import cut  # late: few are cut

        steps = cut(steps, segment)
    if not failure and proved.fingerprints and _fingerprint(steps) != proved.fingerprints[comm.rank]:
        failure = f"rank {comm.rank} made other steps than were verified; an algorithm may use only its arguments"
    if failures := [reason for reason in (proved.reason, *comm.allgather(failure)) if reason]:
        raise AlgorithmError(failures[0])
    return steps, crc32(repr(proved.fingerprints).encode()) if proved.fingerprints else 0


def _prove(site: Site, candidate: Candidate, algorithm: Algorithm, shape: Shape, needs_bits: bool) -> _Proved:
    """Prove the schedules of all ranks, cut if the candidate is cut; rank 0 only."""
    from ..schedule.cut import cut_schedules  # late, as the next: rank 0 only
    from ..schedule.verify import Refusal, verify

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
