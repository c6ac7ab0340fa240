"""`Allreduce`: one call, as mpi4py's; `wrap`: a communicator of mpi4py whose `Allreduce` is ours.

What a call prepares is kept with the communicator, and freed with it.
"""

import atexit
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakSet

from mpi4py import MPI

from .candidates import AUTO, words_of
from .own_comm import Attribute
from .prepared import PreparedAllreduces, check_comm, kind_of, ndarray
from .surviving import Surviving, check_on_failure

# State
_kept: "WeakSet[PreparedAllreduces | Surviving]" = WeakSet()  # of all communicators
_recent: list[Any] = [(None, None, None)]  # of the last call: communicator, arguments, prepared

IN_PLACE = MPI.IN_PLACE  # a module global is found sooner
OF_OWN_KIND = ("Clone", "Dup", "Dup_with_info", "Idup", "Idup_with_info")  # methods that copy the class


def Allreduce(
    sendbuf: Any,
    recvbuf: Any,
    op: Any = MPI.SUM,
    comm: MPI.Comm | None = None,
    *,
    algorithm: "str | Sequence[str]" = AUTO,
    executor: str = AUTO,
    choice: "str | Path | None" = None,
    check: bool = False,
    on_failure: str | None = None,
) -> None:
    """Reduce `sendbuf` of all ranks into `recvbuf` of all ranks, as `comm.Allreduce(sendbuf, recvbuf, op)` does.

    The communicator is COMM_WORLD where none is given. The first call with a communicator, and the first of each
    length, type and operation, prepare: all ranks make them in the same order. The rest is as of PreparedAllreduces.

    `on_failure`, under ULFM: where ranks are lost, "shrink" does the call again with those left, "raise" raises
    RankLost on all of them; either way later calls are of those left. Each call then ends with an agreement.
    """
    around = MPI.COMM_WORLD if comm is None else comm
    how = algorithm, executor, choice, check, on_failure
    known, known_how, prepared = _recent[0]  # at once: another thread may put another one there
    if around is not known or how != known_how or not around:
        prepared = find_prepared(around, *how)
        own = list(algorithm) if isinstance(algorithm, list) else algorithm  # the program's list may change
        _recent[0] = around, (own, executor, choice, check, on_failure), prepared
    prepared(sendbuf, recvbuf, op)


def find_prepared(
    around: MPI.Comm,
    algorithm: "str | Sequence[str]",
    executor: str,
    choice: "str | Path | None",
    check: bool,
    on_failure: str | None = None,
) -> "PreparedAllreduces | Surviving":
    """Return what is kept for a communicator and a way to call it; make it, on all ranks together, where needed."""
    around = check_comm(around)
    if on_failure is not None:
        executor = check_on_failure(on_failure, executor)
    prepared_of = _of_comm.find(around)
    if prepared_of is None:
        prepared_of = _of_comm.keep(around, {})
    words = words_of(algorithm)
    key = *words, str(executor), str(choice), check, on_failure
    if key not in prepared_of:

        def make(comm: MPI.Comm) -> PreparedAllreduces:
            return PreparedAllreduces(comm, words, executor, choice=choice, check=check)

        prepared_of[key] = Surviving(around, make, on_failure) if on_failure else make(around)
        _kept.add(prepared_of[key])
    return prepared_of[key]


def survivors(comm: MPI.Comm) -> MPI.Comm:
    """Return the communicator of those left of `comm`, over which `Allreduce(…, on_failure=…)` goes on; else `comm`."""
    wrapped = getattr(comm, "prepared", None)
    if isinstance(wrapped, Surviving):
        return wrapped.around
    found = [one for one in list_prepared(check_comm(comm)) if isinstance(one, Surviving)]
    return min((one.around for one in found), key=lambda one: one.size, default=comm)


def list_prepared(comm: MPI.Comm) -> "list[PreparedAllreduces | Surviving]":
    """Return what `Allreduce` keeps for a communicator, one for each way in which it was called."""
    return list((_of_comm.find(comm) or {}).values())


def _close_all(prepared_of: dict) -> None:
    """Close what was prepared for a communicator that is freed, on all ranks; at the end of MPI, only forget it."""
    for prepared in prepared_of.values():
        prepared.end_with_communicator()


_of_comm = Attribute(_close_all)  # what is prepared for a communicator, by the ways to call it


@atexit.register  # before MPI_Finalize, which mpi4py calls later
def _let_all_go() -> None:
    """Free at the end of the program what needs no other ranks, which may be elsewhere."""
    for prepared in list(_kept):
        prepared.let_go()


def wrap(
    comm: MPI.Intracomm,
    *,
    algorithm: "str | Sequence[str]" = AUTO,
    executor: str = AUTO,
    choice: "str | Path | None" = None,
    check: bool = False,
    on_failure: str | None = None,
) -> Any:
    """Return `comm` as an instance of a subclass of its class, whose `Allreduce` is that of this package.

    Calls in place (MPI.IN_PLACE, None) are mpi4py's, as are types and operations that this package does not have.

    It shares the handle of `comm`: messages, attributes and ranks are the same, and freeing one frees the other.
    Communicators derived from it by `Dup`, `Split` and the like are plain.

    All ranks of `comm` wrap it together, with the same arguments, those of `Allreduce`. Raises as it does:
    TypeError for what is no communicator, ValueError for one that was freed, or is an intercommunicator.
    """
    prepared = find_prepared(comm, algorithm, executor, choice, check, on_failure)
    wrapped = _class_for(kind_of(comm))(comm)
    wrapped.plain, wrapped.prepared = prepared.around, prepared
    wrapped.Allreduce = prepared if isinstance(prepared, Surviving) else _make_call(prepared)
    return wrapped


def _make_call(prepared: PreparedAllreduces) -> Callable:
    """Return the `Allreduce` of a wrapped communicator, in which a call that is the library's own costs little more."""
    settling_of, native, call, in_place = prepared.quick.get, prepared.native, prepared.call, prepared.pass_on

    def Allreduce(sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM) -> None:
        """Reduce plain arrays by this package; in place, and other types and operations, by mpi4py.

        Raises as PreparedAllreduces, and ValueError where the communicator was freed.
        """
        if type(sendbuf) is ndarray is type(recvbuf):
            settling = settling_of((recvbuf.size, recvbuf.dtype, id(op)))
            if settling is not None and settling.untimed:
                settling.untimed -= 1
                native(sendbuf, recvbuf, op)
                return
        elif (sendbuf is IN_PLACE or sendbuf is None) and not isinstance(op, str):  # mpi4py has no 'avg'
            in_place(sendbuf, recvbuf, op)
            return
        call(sendbuf, recvbuf, op)

    return Allreduce


class Wrapped(MPI.Intracomm):
    """An intracommunicator with the `Allreduce` of this package."""

    plain: MPI.Comm  # of mpi4py, with the same handle
    prepared: PreparedAllreduces | Surviving
    Allreduce: Callable  # found sooner than a method

    def __reduce__(self) -> Any:
        """Pickle as a plain communicator, if mpi4py pickles it."""
        return kind_of(self), (self.plain,)


@cache
def _class_for(kind: Any) -> type[Wrapped]:
    """Return `Wrapped` with the methods of `kind`, where those that copy the class return plain communicators."""
    bases = (Wrapped,) if kind is MPI.Intracomm else (Wrapped, kind)
    methods = {name: _call_plain(kind, name) for name in OF_OWN_KIND}
    return type(f"Wrapped{kind.__name__}", bases, methods)


def _call_plain(kind: Any, name: str) -> Callable:
    method = getattr(kind, name)

    def call_plain(self: MPI.Comm, *arguments: Any, **named: Any) -> Any:
        return method(kind(self), *arguments, **named)

    call_plain.__name__, call_plain.__doc__ = name, method.__doc__
    return call_plain
