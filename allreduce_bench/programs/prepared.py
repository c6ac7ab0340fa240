"""The state of one communicator: for each shape the bound candidate and its choice; for each size class its trial."""

import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

from ..algorithms import builtin_of
from ..executing import native_datatype
from ..runs.competitor import COMPILED, NATIVE
from ..runs.dtypes import is_float, teach_numpy
from ..schedule.algorithm import Algorithm, AlgorithmError, Topology
from .agreement import (
    PATIENCE_S,
    NotTogether,
    Shape,
    end_with_errors,
    refuse_different,
    refuse_different_arguments,
    refuse_together,
)
from .bound import Bound, Native, Site, Workspace
from .buffers import NAME_OF_ID, Vectors, operation_of, pass_on, vectors_of
from .candidates import AUTO, Candidate, algorithms_of, candidates, find_executors, words_of
from .choices import Choice, ChoiceFile, write_choices
from .own_comm import OwnComm, find_own_comm, leave, watch
from .settling import SHARE, Preparing, Settling, SizeClass

# Errors
FREED = "Allreduce: the communicator was freed"
NO_COMM = "this MPI has no communicator left to prepare anything on"

# Limits of the cache of shapes
MOST_SHAPES = 1024  # shapes known; beyond, the one known for longest is forgotten
MOST_STEPS = 16384  # of one rank, over all prepared shapes: a step takes about 300 bytes

QUICK = frozenset(map(np.dtype, ("float32", "float64", "int32", "int64")))  # those that mpi4py takes as arrays
ndarray = np.ndarray  # a module global is found sooner


def check_comm(comm: Any) -> MPI.Comm:
    """Return `comm`, if all-reduces can be prepared for it; the plain one, if its class overrides `Allreduce`.

    Raises TypeError, ValueError.
    """
    if not isinstance(comm, MPI.Comm):
        raise TypeError(f"Allreduce: comm is of type {type(comm).__name__}; expected a communicator of mpi4py")
    wrapped = getattr(comm, "prepared", None)
    if comm == MPI.COMM_NULL or (wrapped is not None and not wrapped.around):
        raise ValueError(f"{FREED}; expected one that is in use")
    if comm.Is_inter():
        raise ValueError("Allreduce: an intercommunicator; expected an intracommunicator: call mpi4py's own Allreduce")
    if wrapped is not None:
        return wrapped.around
    return comm if type(comm).Allreduce is MPI.Comm.Allreduce else kind_of(comm)(comm)


def kind_of(comm: MPI.Comm) -> Any:
    """Return the mpi4py class of `comm`; one with a topology has its own class."""
    return next(kind for kind in type(comm).__mro__ if kind.__module__ == MPI.__name__)


def _format_arguments(words: Sequence[str], executor: str, choice: "str | Path | None", check: bool) -> str:
    """Format the arguments that all ranks must share; `choice` and `check` only if not the default."""
    named = f"algorithm={','.join(words)} executor={executor}"
    return f"{named}{'' if choice is None else f' choice={choice}'}{' check=True' if check else ''}"


class PreparedAllreduces:
    """All-reduces on one communicator, called as mpi4py's: `allreduce(sendbuf, recvbuf, op)`.

    All ranks construct it together, with the same arguments, and close it together; it is for the one thread in which
    the communicator is used. `algorithm` is AUTO, a name, the path of a file, or a list of these, which are tried. See
    docs/allreduce.md for the cost.
    """

    def __init__(
        self,
        comm: MPI.Comm | None = None,
        algorithm: str | Sequence[str] = AUTO,
        executor: str = AUTO,
        *,
        choice: "str | Path | None" = None,
        check: bool = False,
        patience_s: float = PATIENCE_S,
        trial_share: float = SHARE,
    ):
        """Check the arguments; `choice` names the source of choices: saved ones, the folder of a run.

        `check` compares lengths, types and operations of all ranks at every call. `trial_share` is the share of the
        time of the calls of a size class that preparing its candidates may cost; `math.inf`: it is tried from its first
        call on, whatever that costs. Raises ValueError.
        """
        end_with_errors()
        around = check_comm(MPI.COMM_WORLD if comm is None else comm)
        self.check, self.around, self._patience_s = check, around, patience_s
        self.share, self.preparing = trial_share, Preparing()
        self._words = words_of(algorithm)
        refuse_different_arguments(around, _format_arguments(self._words, executor, choice, check))
        self._algorithms: dict[str, Algorithm] | None = None  # None: not loaded yet
        if self._words != [AUTO]:
            self._algorithms = self._find_algorithms(self._words)
        self.executors = find_executors(executor)
        self._choice_file = None if choice is None else ChoiceFile(around, Path(choice), self._own_names())
        if choice is not None:
            self._say(f"takes its algorithms from {choice}")
        self._nodes_by_name = Topology.from_labels(around.allgather(socket.gethostname()))
        self._own: OwnComm | None = None  # None: not created yet
        self._workspace = Workspace()
        self._compiled: set[str] = set()  # types
        self._natives: dict[tuple[str, str], Native] = {}  # by type and operation
        self._classes: dict[tuple, SizeClass] = {}
        self._known: dict[tuple, Settling] = {}  # by length, numpy's type and operation
        self.native = around.Allreduce
        self.quick: dict[tuple, Settling] = {}  # by length, numpy's type and MPI's operation: what runs native
        self._is_open = True
        watch(around, self)
        self._pending: tuple[object, ...] = ()  # memory that MPI may still write to after a comparison that never ended

    def __call__(self, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM) -> None:
        """All-reduce as `comm.Allreduce` does. `sendbuf` may be MPI.IN_PLACE or None; `op` may be 'avg'.

        Unsupported types and operations are passed on to mpi4py, with its errors. Raises ValueError or TypeError for
        unfit buffers, operation or communicator; ValueError on all ranks if their shapes differ; NotTogether if a shape
        is prepared and not all ranks come.
        """
        if type(sendbuf) is ndarray is type(recvbuf):
            settling = self.quick.get((recvbuf.size, recvbuf.dtype, id(op)))
            if settling is not None and settling.untimed:
                settling.untimed -= 1
                self.native(sendbuf, recvbuf, op)
                return
        self.call(sendbuf, recvbuf, op)

    def call(self, sendbuf: Any, recvbuf: Any, op: Any) -> None:
        """Do the same, looking at all arguments."""
        vectors, operation = vectors_of(sendbuf, recvbuf), operation_of(op)
        if vectors is None or operation is None:
            self.pass_on(sendbuf, recvbuf, op, vectors)
            return
        send, recv = vectors
        key = recv.size, recv.dtype, operation
        settling = self._known.get(key)
        if settling is None or self.check or not self.around:
            settling = self._find_settling(key)
        if not settling.untimed:  # last used last, alike on all ranks however each names its buffers
            self._known[key] = self._known.pop(key)
        settling.call(send, recv)
        if settling.untimed and not self.check and recv.dtype in QUICK and id(op) in NAME_OF_ID:
            self.quick[recv.size, recv.dtype, id(op)] = settling

    def pass_on(self, sendbuf: Any, recvbuf: Any, op: Any, vectors: Vectors | None = None) -> None:
        """Leave a call to mpi4py. Raises ValueError where the communicator was freed."""
        self._refuse_freed()
        pass_on(self.around, sendbuf, recvbuf, op, vectors)

    def _find_settling(self, key: tuple[int, np.dtype, str]) -> Settling:
        """Return the state of a shape, created if new; with `check`, compare the shape over all ranks first.

        Raises as `__call__`.
        """
        self._refuse_freed()
        shape = Shape(key[0], key[1].name, key[2])
        if self.check:
            self.meets(shape)
        if key not in self._known:
            if len(self._known) == MOST_SHAPES:
                self._forget(next(iter(self._known)))
            self._known[key] = self._make_settling(shape)
        return self._known[key]

    def meets(self, shape: Shape) -> bool:
        """Compare `shape` over all ranks; return False if MPI has no communicators left, so that nothing can be
        prepared.

        Raises ValueError on all ranks where they differ, NotTogether where not all ranks come.
        """
        site = self._own_comm().site
        if site is None:
            return False
        try:
            refuse_different(site.comm, shape, self._patience_s)
        except NotTogether as late:
            self._pending = late.pending
            self.let_go()  # the other ranks are elsewhere
            raise
        return True

    def _refuse_freed(self) -> None:
        if not self._is_open or self.around == MPI.COMM_NULL:
            reason = FREED if self.around == MPI.COMM_NULL else "Allreduce: it was closed"
            raise ValueError(f"{reason}; make a new one")

    def choices(self) -> list[Choice]:
        """Return the choices settled so far, by size; the same on all ranks."""
        settled = sorted((one.shape, one.settled) for one in self._known.values() if one.settled is not None)
        site, ranks = self._own.site if self._own else None, self.around.size
        layout = (site.topology if site else self._nodes_by_name).describe()
        return [Choice(ranks, layout, **vars(shape), **candidate._asdict()) for shape, candidate in settled]

    def calls_of_trials(self) -> dict[Shape, int]:
        """Return for each shape the number of calls so far that were part of a trial, repeated trials included."""
        return {settling.shape: settling.trial_calls for settling in self._known.values()}

    def save(self, path: "str | Path") -> None:
        """Write the choices so far as JSON, on rank 0; `choice=path` takes them up again. Raises OSError."""
        if self.around.rank == 0:
            write_choices(Path(path), self.choices())

    def close(self) -> None:
        """Free the communicator and all that MPI holds, on all ranks together. A second time does nothing."""
        if self._is_open:
            self.let_go()
            if self._own is not None and not MPI.Is_finalized():
                leave(self.around)

    def end_with_communicator(self) -> None:
        """Close when the communicator is being freed, through any object of its handle;
        later calls raise ValueError.
        """
        self.around = MPI.COMM_NULL
        self.close()

    def let_go(self) -> None:
        """Free what this rank alone holds, without the others: requests, types, buffers."""
        self._is_open = False
        self._workspace.clear()
        self._known.clear()
        self.quick.clear()

    def private_comm(self) -> "MPI.Comm | None":
        """Return the private communicator beside the program's; None: none was made."""
        return self._own.site.comm if self._own and self._own.site else None

    def abandon(self) -> None:
        """Let go where ranks are lost: the private communicator, which was revoked, is never freed."""
        self.let_go()
        if self._own is not None:
            self._own.site = None

    def __enter__(self) -> "PreparedAllreduces":
        return self

    def __exit__(self, *raised: object) -> None:
        if raised[0] is None:
            self.close()
        else:  # the other ranks may be elsewhere
            self.let_go()

    def size_class_of(self, shape: Shape) -> SizeClass:
        """Return what the lengths of the size class of `shape` share."""
        return self._classes.setdefault((shape.size_bytes.bit_length(), shape.dtype, shape.op), SizeClass())

    def candidates_of(self, shape: Shape) -> list[Candidate]:
        """Return the candidates worth a trial, on all ranks."""
        if self._algorithms is None:
            self._algorithms = self._find_algorithms(self._words)
        if reason := self._why_not_compiled(self.executors, shape.dtype):
            raise ValueError(f"Allreduce: {reason}")
        return candidates(self._words, self._algorithms.values(), self.executors, shape, self._site().topology)

    def bind(self, shape: Shape, candidate: Candidate, needs_bits: bool) -> "Bound | Native":
        """Return a candidate ready to run, on all ranks. Raises AlgorithmError, ValueError."""
        if candidate.is_native and native_datatype(shape.dtype) is not None:
            return self._native(shape)
        if reason := self._why_not_compiled([candidate.executor], shape.dtype):
            raise AlgorithmError(reason)
        self._make_room()
        algorithm = self._algorithm(candidate)
        return Bound(self._site(), self._workspace, candidate, algorithm, shape, needs_bits)

    def _why_not_compiled(self, executors: Sequence[str], dtype: str) -> str | None:
        """Compile once for each type, if an executor needs it; return why that fails, else None."""
        if dtype in self._compiled or {*COMPILED}.isdisjoint(executors):
            return None
        from ..measuring.schedules import compile_in_turns  # late: it takes a second

        site = self._site()
        if (reason := compile_in_turns(site.comm, site.topology, dtype)) is None:
            self._compiled.add(dtype)
        return reason

    def _make_settling(self, shape: Shape) -> Settling:
        """Return the initial state of a shape. Raises ValueError if nothing can run."""
        if shape.op == "avg" and not is_float(shape.dtype):
            raise ValueError(f"Allreduce: avg of {shape.dtype}; expected a type of floating point")
        teach_numpy(shape.dtype)
        has_native = native_datatype(shape.dtype) is not None
        takes_native = has_native and (AUTO in self._words or NATIVE in self._words) and self._choice_file is None
        if takes_native:
            return Settling(self, shape, self._native(shape), self.around.size == 1 or self._words == [NATIVE])
        if not self.meets(shape):
            if not has_native:
                raise ValueError(f"Allreduce: {NO_COMM}, and {shape.dtype} is not reduced by this library itself")
            self._say(f"{NO_COMM}: the library's own all-reduce runs instead")
            return Settling(self, shape, self._native(shape), True)
        chosen = self._find_choice(shape)
        found = [chosen] if chosen and not self._why_not_compiled([chosen.executor], shape.dtype) else []
        found, refusals = found or self.candidates_of(shape), list[str]()
        while found:
            try:
                first = self.bind(shape, found[0], len(found) > 1)
            except AlgorithmError as refusal:
                refusals.append(str(refusal))
                found = found[1:]
                continue
            return Settling(self, shape, first, len(found) == 1)
        by_whom = f"; it was chosen by {self._choice_file.path}" if self._choice_file and chosen else ""
        raise ValueError(f"Allreduce of {shape.words}: {refusals[-1] if refusals else self._why_none_fits()}{by_whom}")

    def _why_none_fits(self) -> str:
        """Return in words what each algorithm lacks on these ranks."""
        size, topology = self.around.size, self._site().topology
        reasons = [algorithm.unmet(size, topology) for algorithm in (self._algorithms or {}).values()]
        return "; ".join(filter(None, reasons)) or "no algorithm fits these ranks"

    def _native(self, shape: Shape) -> Native:
        """Return the native all-reduce, one for all lengths of a type and operation."""
        key = shape.dtype, shape.op
        if key not in self._natives:
            self._natives[key] = Native(self.around, shape)
        return self._natives[key]

    def _make_room(self) -> None:
        """Forget the shapes known for longest while too many steps are prepared."""
        steps = sum(one.steps for one in self._known.values())
        for key in list(self._known)[:-1]:
            if steps <= MOST_STEPS:
                break
            if self._known[key].steps:
                steps -= self._known[key].steps
                self._forget(key)

    def _forget(self, key: tuple) -> None:
        self._known.pop(key).close()
        self.quick.clear()  # else a rank that names its buffers as lists would count otherwise

    def _own_comm(self) -> OwnComm:
        if self._own is None:
            self._own = find_own_comm(self.around)
            self._own.join(self)
        return self._own

    def _site(self) -> Site:
        site = self._own_comm().site
        assert site is not None  # `meets` came before
        return site

    def _find_choice(self, shape: Shape) -> Candidate | None:
        """Return the choice of the file; None if no file exists, or it has no entry for these ranks (rank 0 warns)."""
        if self._choice_file is None:
            return None
        topology = self._site().topology
        chosen = self._choice_file.find(self.around, shape, topology)
        if chosen is None:
            self._say(
                f"found no choice for {shape.words} on {self.around.size} ranks ({topology.describe()}); tries instead"
            )
        return chosen

    def _algorithm(self, candidate: Candidate) -> Algorithm:
        """Return an algorithm that the program names, or a built-in one: a file of choices names no others."""
        return (self._algorithms or {}).get(candidate.algorithm) or builtin_of(candidate.algorithm)

    def _find_algorithms(self, words: Sequence[str]) -> dict[str, Algorithm]:
        """Return the algorithms that `words` name; some nodes may lack their files."""
        found, reason = dict[str, Algorithm](), ""
        try:
            found = algorithms_of(words)
        except AlgorithmError as refusal:
            reason = str(refusal)
        refuse_together(self.around, AlgorithmError, reason)
        return found

    def _own_names(self) -> list[str]:
        """Return the algorithms of files that the program names."""
        return [one.name for one in (self._algorithms or {}).values() if one.file]

    def _say(self, words: str) -> None:
        if self.around.rank == 0:
            print(f"Allreduce {words}", file=sys.stderr, flush=True)
