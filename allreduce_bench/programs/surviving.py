"""All-reduces of a program that outlive lost ranks, by ULFM: done again by those that are left, or refused on all.

After each call all ranks agree whether it succeeded everywhere, so no survivor keeps a result that others do not have.
Where it did not, the program's communicator is revoked, and further calls with it go to a communicator of those left.
"""

import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from mpi4py import MPI

from ..executing.recovery import agreed, shrunk, why_unavailable
from ..units import format_ranges
from .buffers import is_in_place, vectors_of
from .candidates import AUTO
from .prepared import PreparedAllreduces

SHRINK, RAISE = "shrink", "raise"
EXECUTOR = "sendrecv"  # the others have several messages under way when a rank is lost, or ignore errors


class RankLost(RuntimeError):
    """Ranks are gone; `ranks` are those of the program's communicator that all its calls so far have lost."""

    def __init__(self, sentence: str, ranks: Sequence[int] = ()):
        super().__init__(sentence)
        self.ranks = tuple(ranks)


class Surviving:
    """What `Allreduce` keeps for a communicator whose calls outlive lost ranks."""

    def __init__(self, around: MPI.Comm, make: Callable[[MPI.Comm], PreparedAllreduces], on_failure: str):
        """`make` prepares all-reduces on a communicator, with all its ranks. Raises ValueError."""
        if reason := why_unavailable(os.environ):
            raise ValueError(
                f"Allreduce: on_failure is unavailable: {reason}; without it, start again from the last checkpoint"
            )
        self.around: Any = around  # the communicator of those left
        self.left = list(range(around.size))  # their ranks in the program's communicator
        self._make, self._on_failure = make, on_failure
        self._size = around.size
        self._prepared: PreparedAllreduces | None = None

    def __call__(self, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM) -> None:
        """All-reduce, as PreparedAllreduces does; if ranks are lost, again, or raise RankLost on all that are left."""
        restore = _keep_input(sendbuf, recvbuf)

        def call() -> None:
            if self._prepared is None:
                self._prepared = self._make(self.around)
            self._prepared(sendbuf, recvbuf, op)

        while not agreed(self.around, call, self._other_comms):
            self._shrink()
            restore()
            if self._on_failure == RAISE:
                lost = sorted({*range(self._size)}.difference(self.left))
                sentence = (
                    f"Allreduce: of {self._size} ranks these are gone: {format_ranges(lost)}; {len(self.left)} go on, "
                    "and later calls are of them"
                )
                raise RankLost(sentence, lost)

    def _other_comms(self) -> list[MPI.Comm]:
        own = self._prepared.private_comm() if self._prepared else None
        return [] if own is None else [own]

    def _shrink(self) -> None:
        if self._prepared is not None:
            self._prepared.abandon()
            self._prepared = None
        self.around, lost = shrunk(self.around)
        self.left = [rank for number, rank in enumerate(self.left) if number not in lost]

    def let_go(self) -> None:
        """Free what this rank alone holds."""
        if self._prepared is not None:
            self._prepared.let_go()

    def end_with_communicator(self) -> None:
        """Close when the program's communicator is being freed."""
        if self._prepared is not None:
            self._prepared.end_with_communicator()


def _keep_input(sendbuf: Any, recvbuf: Any) -> Callable[[], object]:
    """Return what restores the input of a call in place, of which a copy is made. Raises ValueError for odd buffers."""
    if not is_in_place(sendbuf):
        return lambda: None
    vectors = vectors_of(sendbuf, recvbuf)
    if vectors is None:
        raise ValueError(
            "Allreduce: on_failure keeps a copy of what is reduced in place, and does not know this type; pass a "
            "sendbuf"
        )
    vector = vectors[1]
    kept = vector.copy()

    def restore() -> None:
        vector[:] = kept

    return restore


@cache
def check_on_failure(on_failure: str, executor: str) -> str:
    """Return the executor of calls that outlive lost ranks. Raises ValueError for another word or executor."""
    if on_failure not in (SHRINK, RAISE):
        raise ValueError(f"Allreduce: on_failure={on_failure!r:.40}; expected 'shrink' or 'raise'")
    if executor not in (AUTO, EXECUTOR):
        raise ValueError(
            f"Allreduce: on_failure with the executor {executor}; expected 'auto' or {EXECUTOR!r}, whose calls end "
            "when a rank is lost"
        )
    return EXECUTOR
