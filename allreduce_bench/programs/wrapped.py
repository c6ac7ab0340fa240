"""`wrap`: a communicator of mpi4py whose `Allreduce` is ours; all else of it is mpi4py's.

It has the handle of the communicator that it wraps: messages, attributes and ranks are the same, and the one is freed
with the other. What is made of it by `Dup`, `Split` and the like are plain communicators.
"""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from mpi4py import MPI

from .allreduce import kept_for
from .candidates import AUTO
from .prepared import PreparedAllreduces, kind_of

OF_OWN_KIND = ("Clone", "Dup", "Dup_with_info", "Idup", "Idup_with_info")  # make others of their class


def wrap(
    comm: MPI.Intracomm,
    *,
    algorithm: "str | Sequence[str]" = AUTO,
    executor: str = AUTO,
    choice: "str | Path | None" = None,
    check: bool = False,
) -> Any:
    """`comm` as an instance of a subclass of its class, whose `Allreduce` is that of this package.

    All ranks of `comm` wrap it together, with the same arguments, which are as of PreparedAllreduces. Raises as it:
    TypeError for what is no communicator, ValueError for one that was freed, or is between groups.
    """
    prepared = kept_for(comm, algorithm, executor, choice, check)
    wrapped = _class_for(kind_of(comm))(comm)
    wrapped.plain, wrapped.prepared = prepared.around, prepared
    return wrapped


class Wrapped(MPI.Intracomm):
    """An intracommunicator with an `Allreduce` of ours."""

    plain: MPI.Comm  # of mpi4py, with the same handle
    prepared: PreparedAllreduces

    def Allreduce(self, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM) -> None:
        """As PreparedAllreduces is called. Raises as it, and ValueError where the communicator was freed."""
        self.prepared(sendbuf, recvbuf, op)

    def __reduce__(self) -> Any:
        """Pickled as a plain one, where mpi4py pickles it."""
        return kind_of(self), (self.plain,)


@cache
def _class_for(kind: Any) -> type[Wrapped]:
    """`Wrapped` with the methods of `kind`, of which those that copy the class give plain ones."""
    bases = (Wrapped,) if kind is MPI.Intracomm else (Wrapped, kind)
    methods = {name: _of_plain(kind, name) for name in OF_OWN_KIND}
    return type(f"Wrapped{kind.__name__}", bases, methods)


def _of_plain(kind: Any, name: str) -> Callable:
    method = getattr(kind, name)

    def of_plain(self: MPI.Comm, *arguments: Any, **named: Any) -> Any:
        return method(kind(self), *arguments, **named)

    of_plain.__name__, of_plain.__doc__ = name, method.__doc__
    return of_plain
