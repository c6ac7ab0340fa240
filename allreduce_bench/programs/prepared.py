"""What is kept for one communicator: of each shape the candidates, the choice, and whether it still holds."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from mpi4py import MPI

from ..algorithms import builtin
from ..measuring.context import nodes_of
from ..runs.dtypes import is_float, teach_numpy
from ..schedule.algorithm import Algorithm, AlgorithmError
from .agreement import PATIENCE_S, NotTogether, Shape, refuse_different, refuse_different_arguments, refuse_together
from .bound import Bound, Site, refuse_without_compiler
from .buffers import Vectors, operation_of, vectors_of
from .candidates import AUTO, PYTHON, Candidate, algorithms_of, candidates, executors_here, words_of
from .choice_file import ChoiceFile
from .choices import NO_FILE, PROGRAM, Choice, ChoiceError, own_files, write_choices
from .errors import end_with_errors
from .passing_on import pass_on
from .settling import Settling

FREED = "Allreduce: the communicator was freed"


class _Call(NamedTuple):
    """The last call: one with the same arrays need not be looked at again."""

    sendbuf: Any
    recvbuf: np.ndarray
    op: Any
    vectors: Vectors
    settling: Settling
    sent: np.ndarray  # sendbuf; in place recvbuf
    size: int  # elements, and type, as they were: numpy can change an array in place
    dtype: np.dtype


def usable(comm: Any) -> MPI.Comm:
    """`comm`, if all-reduces can be prepared for it. Raises TypeError, ValueError."""
    if not isinstance(comm, MPI.Comm):
        raise TypeError(f"Allreduce: comm is of type {type(comm).__name__}; expected a communicator of mpi4py")
    if comm == MPI.COMM_NULL:
        raise ValueError(f"{FREED}; expected one that is in use")
    if comm.Is_inter():
        raise ValueError(
            "Allreduce: an intercommunicator; expected an intracommunicator: call comm.Allreduce of mpi4py"
        )
    return comm


def _arguments(words: Sequence[str], executor: str, choice: "str | Path | None", check: bool) -> str:
    """What all ranks have to ask for alike; of those that are not the default, too."""
    named = f"algorithm={','.join(words)} executor={executor}"
    return f"{named}{'' if choice is None else f' choice={choice}'}{' check=True' if check else ''}"


class PreparedAllreduces:
    """All-reduces on one communicator, called as mpi4py's: `allreduce(sendbuf, recvbuf, op)`.

    All ranks make it together, with the same arguments, and close it together; it is for one thread. `algorithm` is
    AUTO, a name, the path of a file, or a list of these, which are tried. See docs/allreduce.md for the cost.
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
    ):
        """`choice` names what the choices are taken from: saved ones, a machine file, the folder of a run.

        `check` compares lengths, types and operations of all ranks at every call. Raises ValueError.
        """
        end_with_errors()
        around = usable(MPI.COMM_WORLD if comm is None else comm)
        self.check, self._around, self._patience_s = check, around, patience_s
        self._words = words_of(algorithm)
        own = around.Dup()
        try:
            refuse_different_arguments(own, _arguments(self._words, executor, choice, check))
            self._algorithms = dict[str, Algorithm]()
            self._find(own, self._words)
            self._site = Site(own, nodes_of(own))
            self._executors = executors_here(own, executor)
            self._choice_file = None if choice is None else ChoiceFile(own, Path(choice), self._own_files)
        except (ValueError, TypeError):  # on all ranks
            own.Free()
            raise
        if choice is not None:
            self._say(f"takes its algorithms from {choice}")
        self._control = own.Dup()  # of comparisons alone: nothing else meets them
        self._placements: dict[Shape, str] = {}  # of vectors, where a file says what runs
        self._shapes: dict[Shape, Settling] = {}
        self._last: _Call | None = None
        self._known: dict[tuple, Settling] = {}  # the same by length, numpy's type and operation: found sooner
        self._is_open = True
        self._pending: tuple[object, ...] = ()  # what MPI may still write to after a comparison that never ended

    def __call__(self, sendbuf: Any, recvbuf: Any, op: Any = MPI.SUM) -> None:
        """All-reduce as `comm.Allreduce` does. `sendbuf` may be MPI.IN_PLACE; `op` may be 'avg'.

        Types and operations that are not ours are passed on to mpi4py, with its errors. Raises ValueError or TypeError
        where buffers, operation or communicator are not fit; ValueError on all ranks where they come with different
        shapes; NotTogether where a shape is prepared and not all ranks come.
        """
        last = self._last
        if last is not None and recvbuf is last.recvbuf and sendbuf is last.sendbuf and op is last.op and self._around:
            is_as_before = recvbuf.size == last.size == last.sent.size and recvbuf.dtype is last.dtype
            if is_as_before and recvbuf.flags.writeable:
                last.settling.call(last.vectors)
                return
        vectors, operation = vectors_of(sendbuf, recvbuf), operation_of(op)
        if vectors is None or operation is None:
            self._refuse_freed()
            pass_on(self._around, sendbuf, recvbuf, op, vectors)
            return
        key = vectors.recv.size, vectors.recv.dtype, operation
        settling = self._known.get(key)
        if settling is None or self.check or not self._around:
            settling = self._known[key] = self._checked(Shape(key[0], key[1].name, operation))
        is_plain = type(recvbuf) is np.ndarray and (type(sendbuf) is np.ndarray or sendbuf is MPI.IN_PLACE)
        sent = recvbuf if sendbuf is MPI.IN_PLACE else sendbuf
        last = _Call(sendbuf, recvbuf, op, vectors, settling, sent, *key[:2]) if is_plain and not self.check else None
        self._last = last
        settling.call(vectors)

    def _checked(self, shape: Shape) -> Settling:
        """What is kept for `shape`, prepared if there is nothing; compared over all ranks. Raises as `__call__`."""
        self._refuse_freed()
        if shape not in self._shapes or self.check:
            try:
                refuse_different(self._control, shape, self._patience_s)
            except NotTogether as late:
                self._pending = late.pending
                self.let_go()  # the other ranks are elsewhere
                raise
        if shape not in self._shapes:
            self._shapes[shape] = self._prepared(shape)
        return self._shapes[shape]

    def _refuse_freed(self) -> None:
        if not self._is_open or self._around == MPI.COMM_NULL:
            reason = FREED if self._around == MPI.COMM_NULL else "Allreduce: it was closed"
            raise ValueError(f"{reason}; make a new one")

    def choices(self) -> list[Choice]:
        """What is settled so far, by size; the same on all ranks."""
        layout, ranks = self._site.topology.describe(), self._site.comm.size
        settled = [(shape, one.settled) for shape, one in sorted(self._shapes.items()) if one.settled is not None]
        return [
            Choice(
                *(ranks, layout),
                **vars(shape),
                **candidate._asdict(),
                placement=self._placements.get(shape, PROGRAM),
                file=self._own_files.get(candidate.algorithm, NO_FILE).path,
                sha256=self._own_files.get(candidate.algorithm, NO_FILE).sha256,
            )
            for shape, candidate in settled
        ]

    def calls_of_trials(self) -> dict[Shape, int]:
        """For each shape the calls that were part of a trial so far, later ones included."""
        return {shape: settling.trial_calls for shape, settling in self._shapes.items()}

    def save(self, path: "str | Path") -> None:
        """Write the choices so far as JSON, on rank 0; `choice=path` takes them up again. Raises OSError."""
        if self._site.comm.rank == 0:
            write_choices(Path(path), self.choices())

    def close(self) -> None:
        """Free the communicators and all that MPI holds, on all ranks together. A second time does nothing."""
        if self._is_open:
            self.let_go()
            if not MPI.Is_finalized():
                self._control.Free()
                self._site.comm.Free()

    def end_with_communicator(self) -> None:
        """The communicator is being freed, by an object of its handle: close, and say so in later calls."""
        self._around = MPI.COMM_NULL
        self.close()

    def let_go(self) -> None:
        """Free what this rank alone holds, without the others: requests, types, buffers."""
        self._is_open = False
        for settling in self._shapes.values():
            settling.close()
        self._shapes.clear()
        self._last = None
        self._known.clear()

    def __enter__(self) -> "PreparedAllreduces":
        return self

    def __exit__(self, *raised: object) -> None:
        if raised[0] is None:
            self.close()
        else:  # the other ranks may be elsewhere
            self.let_go()

    def _prepared(self, shape: Shape) -> Settling:
        """The candidates of a shape, on all ranks. Raises ValueError where none of them runs."""
        if shape.op == "avg" and not is_float(shape.dtype):
            raise ValueError(f"Allreduce: avg of {shape.dtype}; expected a type of floating point")
        teach_numpy(shape.dtype)
        chosen = self._chosen(shape)
        executors = (chosen.executor,) if chosen else self._executors
        if reason := refuse_without_compiler(self._site, executors, shape.dtype):
            if chosen is None and len(self._executors) == 1:
                raise ValueError(f"Allreduce: {reason}")
            executors, chosen = PYTHON, None
        found = [chosen] if chosen else self._candidates(executors, shape)
        bound, refusals, seen = list[Bound](), list[str](), set[tuple]()
        for candidate in found:
            try:
                one = Bound(self._site, candidate, self._algorithm(candidate), shape, len(found) > 1)
            except AlgorithmError as refusal:
                refusals.append(str(refusal))
                continue
            key = candidate.executor, candidate.window, one.digest or candidate.algorithm
            if key not in seen:  # on two ranks several algorithms make the same steps
                seen.add(key)
                bound.append(one)
        if not bound:
            raise ValueError(f"Allreduce of {shape.words}: {(refusals or ['no algorithm fits these ranks'])[0]}")
        return Settling(self._site.comm, bound)

    def _candidates(self, executors: Sequence[str], shape: Shape) -> list[Candidate]:
        return candidates(self._words, self._algorithms.values(), executors, shape, self._site.topology)

    def _chosen(self, shape: Shape) -> Candidate | None:
        """What the file says; None: it says nothing of these ranks, which rank 0 says, or there is none."""
        if self._choice_file is None:
            return None
        chosen = self._choice_file.chosen(self._site.comm, shape, self._site.topology)
        if chosen is None:
            layout = self._site.topology.describe()
            self._say(f"found no choice for {shape.words} on {self._site.comm.size} ranks ({layout}); tries instead")
            return None
        self._placements[shape] = chosen.placement
        return chosen.candidate

    def _algorithm(self, candidate: Candidate) -> Algorithm | None:
        """One that the program names, or a built-in one: a file of choices names no others."""
        if candidate.executor == "native":
            return None
        return self._algorithms.get(candidate.algorithm) or builtin()[candidate.algorithm]

    def _find(self, comm: MPI.Comm, words: Sequence[str]) -> None:
        """Take up the algorithms that `words` name, which may be files that some nodes do not have."""
        reason = ""
        try:
            self._algorithms |= algorithms_of(words)
            self._own_files = own_files(self._algorithms.values())
        except (AlgorithmError, ChoiceError) as refusal:
            reason = str(refusal)
        refuse_together(comm, AlgorithmError, reason)

    def _say(self, words: str) -> None:
        if self._site.comm.rank == 0:
            print(f"Allreduce {words}", file=sys.stderr, flush=True)
