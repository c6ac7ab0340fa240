"""What ranks do: `python -m allreduce_bench.survive.rank REQUEST`, all-reduces of known results while some are lost.

Each call stands for the step of a training: its result is checked exactly, every few of them rank 0 writes a
checkpoint, and at the calls that the request names ranks lose themselves. With ULFM those that are left shrink the
communicator, make, verify and bind the schedule anew and do the call again, all under an agreement; without it the
starter ends them. What happens, and when by the clock, is told to the starter.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from mpi4py import MPI

from ..algorithms import find
from ..executing import Prepared
from ..executing.memory import PAGES
from ..executing.native import native
from ..executing.recovery import agreed, shrunk, why_unavailable
from ..executing.sendrecv import sendrecv
from ..machine.interfaces import LOOPBACK, interfaces
from ..machine.shared_memory import drop_names_of_mpich
from ..measuring.context import nodes_of
from ..measuring.startup import rank_of
from ..measuring.vectors import Check, exact_inputs
from ..medians import median, median_interval
from ..runs.competitor import NATIVE
from ..runs.plan import DEFAULT_SEGMENT_NBYTES
from ..schedule.algorithm import Algorithm, AlgorithmError
from ..schedule.verify import Refusal, verify
from ..watching.lifeline import MONITOR_VARIABLE
from ..watching.watch import Watch
from . import BY_ULFM, HOST, LINK, ON_HOSTS, STOP, Failure, Request
from .checkpoint import write

DTYPE, OP, ITEMSIZE = "float32", "sum", 4
WARMUPS, REPETITIONS = 10, 20  # calls before the timed ones, and these
CONNECTED_S = 30.0
TOLD_S = 0.1  # until what this rank said has left, before its host or its link may go
VARIANTS = 3  # inputs that follow each other, so that no old result is right

Say = Callable[..., None]


class Rank:
    """One rank from its first call to the last, on a communicator that gets smaller."""

    def __init__(self, request: Request, comm: MPI.Intracomm, say: Say):
        self.request, self.comm, self.say = request, comm, say
        self.whole = comm.rank, comm.size  # before any rank was lost
        self.members = list(range(comm.size))  # of these, those that are left
        self.algorithm: Algorithm | None = None
        if request.algorithm != NATIVE:
            (self.algorithm,) = find([request.algorithm]).values()
        self.sendbuf, self.recvbuf = PAGES.sendbuf(request.elements, DTYPE), PAGES.recvbuf(request.elements, DTYPE)
        self.call: Prepared | None = None
        self.marks: dict[str, float] = {}  # ends of phases until the next right result
        self.lacks_result = True
        drop_names_of_mpich()
        self.losing: threading.Timer | None = None  # when this rank is to be lost some time after a call began

    def run(self) -> None:
        """Do all that the request asks for. Raises AlgorithmError or Refusal on all ranks where nothing can run."""
        self._survive(self._prepare)
        if not self.request.first:
            self._survive(self._measure)
        for number in range(self.request.first + 1, self.request.calls + 1):
            self._survive(partial(self._step, number))
            if self.lacks_result:
                self._tell_result(number)
        if self.comm.size < self.request.ranks:
            self._survive(self._measure)
        self.say("finished")

    def _tell_result(self, number: int) -> None:
        """Tell that a result is there, the first of these ranks, and when each phase on the way ended."""
        self.marks["result"] = time.time()
        self.say("result", step=number, size=self.comm.size, members=self.members, marks=self.marks)
        self.marks, self.lacks_result = {}, False

    # The way through a loss

    def _survive(self, work: Callable[[], None]) -> None:
        """Do `work` on all ranks together, again on those that are left as long as some are lost meanwhile."""
        while not self._together(work):
            while True:
                self._shrink()
                if self._together(self._prepare):
                    break

    def _together(self, work: Callable[[], None]) -> bool:
        if self.request.by_ulfm:
            return agreed(self.comm, work, mark=self._mark)
        work()
        return True

    def _shrink(self) -> None:
        self.comm, lost = shrunk(self.comm, self._mark)
        self.members = [member for rank, member in enumerate(self.members) if rank not in lost]
        self.lacks_result = True

    def _mark(self, phase: str) -> None:
        """Note the end of a phase; a rank that shall be lost in the next one is."""
        if phase != "notice":
            self.marks[phase] = time.time()
        else:
            self.marks.setdefault(phase, time.time())
        if phase == "revoke":
            self.say("noticed")
        if "notice" in self.marks or self.comm.size < self.request.ranks:
            following = BY_ULFM[BY_ULFM.index(phase) + 1]
            self._fail([one for one in self.request.failures if one.phase == following])

    # Work that all do together

    def _prepare(self) -> None:
        """Make the schedule of these ranks, verified, and bind it."""
        comm, request = self.comm, self.request
        steps = None
        if self.algorithm is not None:
            nodes, segment = nodes_of(comm), DEFAULT_SEGMENT_NBYTES // ITEMSIZE
            refusal = ""
            if comm.rank == 0:
                try:
                    verify(self.algorithm.schedules(comm.size, nodes, request.elements, segment), request.elements)
                except (AlgorithmError, Refusal) as error:
                    refusal = str(error)
            if refusal := comm.bcast(refusal):
                raise AlgorithmError(refusal)
            steps = self.algorithm.schedule(comm.rank, comm.size, nodes, request.elements, segment)
        self._mark("schedule")
        if steps is None:
            self.call = native(self.sendbuf, self.recvbuf, comm, OP)
        else:
            self.call = sendrecv(steps, self.sendbuf, self.recvbuf, comm, OP)
        self._mark("binding")

    def _step(self, number: int) -> None:
        """Do one call whose result is known; tell the first right one, and any that is wrong."""
        check = Check(self.comm.size, self.request.elements, DTYPE, OP, number=number % VARIANTS)
        own, result = exact_inputs(check, self.comm.rank)
        self.sendbuf[:] = np.resize(own, self.request.elements)
        self.recvbuf[:] = np.nan
        self._fail([one for one in self.request.failures if one.call == number])
        assert self.call is not None
        self.call.run()
        if self.losing is not None:
            self.say("done", step=number)
            self.losing.join()  # so that the loss is at this call, however short that is
        wrong = int(np.count_nonzero(self.recvbuf != np.resize(result, self.request.elements)))
        if wrong:
            self.say("wrong", step=number, elements=wrong, of=self.request.elements, size=self.comm.size)
        if number % self.request.every == 0 and self.comm.rank == 0:
            of = {"algorithm": self.request.algorithm, "count": self.request.elements}
            write(Path(self.request.checkpoint), number, of)

    def _measure(self) -> None:
        """Time calls, alone and with the agreement after each, as the slowest rank sees them."""
        comm, by_ulfm = self.comm, self.request.by_ulfm
        assert self.call is not None
        self.sendbuf[:] = 1
        times = np.zeros((2, REPETITIONS))
        for number in range(-WARMUPS, REPETITIONS):
            comm.Barrier()
            begun = time.perf_counter()
            self.call.run()
            called = time.perf_counter()
            if by_ulfm:
                comm.Agree(1)
            times[:, max(0, number)] = called - begun, time.perf_counter() - begun
        comm.Allreduce(MPI.IN_PLACE, times, MPI.MAX)
        if comm.rank == 0:
            call, guarded = ([median(list(one)), *median_interval(list(one))] for one in times)
            self.say("measured", size=comm.size, call_s=call, guarded_s=guarded if by_ulfm else None)
            time.sleep(TOLD_S)  # else it may still be here when a lost rank ends this one

    # Losses

    def _fail(self, failures: list[Failure]) -> None:
        """Be lost, if one of these failures is of this rank or its host."""
        rank, _ = self.whole
        for failure in failures:
            if self.losing is None and failure.is_of(rank, socket.gethostname()):
                told_s = TOLD_S if failure.kind in ON_HOSTS else 0.0  # the others wait for this rank in the call
                self.say("failing", rank=rank, what=failure.kind, at=time.time() + told_s + failure.delay_s)
                time.sleep(told_s)
                if failure.delay_s:
                    self.losing = threading.Timer(failure.delay_s, lose, [failure.kind])
                    self.losing.start()
                else:
                    lose(failure.kind)


def lose(kind: str) -> None:
    """Take this rank, its host or its link away from the others."""
    if kind == LINK:
        for port in interfaces():
            if port.up and port.name != LOOPBACK:
                subprocess.run(["ip", "link", "set", port.name, "down"], check=False, capture_output=True)
        return
    if kind == HOST:  # with the daemon that started this rank
        os.kill(os.getppid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGSTOP if kind == STOP else signal.SIGKILL)


def main() -> None:
    """Run what the last argument asks for, watched by the starter."""
    request = Request.from_json(sys.argv[-1])
    watch = Watch(os.environ[MONITOR_VARIABLE], rank_of(os.environ))
    if not watch.connected.wait(CONNECTED_S):
        sys.exit(1)
    try:
        if request.by_ulfm and (reason := why_unavailable(os.environ)):
            watch.say("refused", reason=reason)
        else:
            rank = Rank(request, MPI.COMM_WORLD.Dup(), watch.say)
            rank.marks["start"] = time.time()
            rank.run()
    except (AlgorithmError, Refusal) as error:  # on all ranks
        watch.say("refused", reason=str(error))
    except Exception as error:  # whatever it is, the other ranks must not wait for this one
        watch.say("crashed", reason=" ".join(f"{type(error).__name__}: {error}".split()))
        MPI.COMM_WORLD.Abort(1)
    watch.close()


if __name__ == "__main__":
    main()
