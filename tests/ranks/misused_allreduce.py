"""Programs that use `Allreduce` roughly, and go on afterwards."""

import os
import tempfile
import weakref
from math import inf
from pathlib import Path

import numpy as np
from called_allreduce import PYTHON, check, refusal
from mpi4py import MPI

from allreduce_bench import Allreduce, algorithms
from allreduce_bench.programs.prepared import PreparedAllreduces


def changed_in_place(comm: MPI.Comm) -> None:
    """Arrays of the call before, of another shape, of another type and then read-only."""
    ones, total = np.ones(8000), np.zeros(8000)
    with PreparedAllreduces(comm, "ring", PYTHON) as allreduce:
        allreduce(ones, total)
        for array in (ones, total):
            array.dtype = "f4"
        ones[:], total[:] = 1, 0
        allreduce(ones, total)
        check((total == comm.size).all(), "of another type")
        total.flags.writeable = False
        refusal("read-only", lambda: allreduce(ones, total))
        check({shape.count for shape in allreduce.calls_of_trials()} == {8000, 16000}, "lengths")


def changed_in_shape(comm: MPI.Comm) -> None:
    """Arrays of the call before that have rows now; masked ones, of which all elements are reduced."""
    with PreparedAllreduces(comm, "ring", PYTHON) as allreduce:
        ones, total = np.ones(8), np.zeros(8)
        allreduce(ones, total)
        for array in (ones, total):
            array.shape = 2, 4
            array[:] = 1
            allreduce(ones, total)
            check((total == comm.size).all(), "with rows")
        masked = np.ma.array(np.ones(3), mask=[0, 1, 0], hard_mask=True)
        allreduce(None, masked)  # in place, as in mpi4py
        check((masked.data == comm.size).all() and masked.mask.tolist() == [False, True, False], "masked")


def left_by_one_rank(comm: MPI.Comm) -> None:
    """One rank leaves by an exception, the others close: the next ones are made anew on all."""
    vector, total = np.ones(2), np.empty(2)
    for _ in range(3):
        try:
            with PreparedAllreduces(comm, "ring", PYTHON) as allreduce:
                allreduce(vector, total)
                check((total == comm.size).all(), "after an exception of one rank")
                if comm.rank == 0:
                    raise KeyError
        except KeyError:
            pass


class Adopting(MPI.Intracomm):
    """A communicator of a program, whose `Allreduce` is ours."""

    def Allreduce(self, sendbuf: object, recvbuf: object, op: object = MPI.SUM) -> None:
        """As that of MPI."""
        Allreduce(sendbuf, recvbuf, op, self)


def adopted_by_a_class(comm: MPI.Comm) -> None:
    """What is left to the library does not come back."""
    own = Adopting(comm.Dup())
    for dtype in ("f8", "i2"):
        ones, total = np.ones(4, dtype), np.zeros(4, dtype)
        for _ in range(20):
            own.Allreduce(ones, total)
        check((total == comm.size).all(), dtype)
    own.Free()
    refusal("the communicator was freed", lambda: own.Allreduce(ones, total))


def different_arguments(comm: MPI.Comm) -> None:
    """All ranks refuse what one of them asks for differently, and no communicator is left of it."""
    is_last = comm.rank == comm.size - 1
    asked = [
        ({"algorithm": ["native", "ring"]}, "algorithm=native,ring"),
        ({"algorithm": "rign"}, "algorithm=rign"),
        ({"executor": "pipelined"}, "executor=pipelined"),
        ({"choice": "./absent"}, "choice=./absent"),
        ({"check": True}, "check=True"),
    ]
    for arguments, words in asked if comm.size > 1 else []:
        named = {"algorithm": "ring", "executor": PYTHON, **(arguments if is_last else {})}
        sentence = refusal("with different arguments: rank 0", lambda named=named: PreparedAllreduces(comm, **named))
        check(f"rank {comm.size - 1}: " in sentence and words in sentence, sentence)
    for arguments in ({"algorithm": []}, {"algorithm": 3}, {"comm": "world"}, {"executor": [PYTHON]}):
        refusal("; ", lambda arguments=arguments: Allreduce(np.ones(2), np.zeros(2), **{"comm": comm, **arguments}))


def list_of_the_program(comm: MPI.Comm) -> None:
    """It may be changed between calls."""
    ones, total, words = np.ones(2), np.zeros(2), ["ring"]
    Allreduce(ones, total, comm=comm, algorithm=words, executor=PYTHON)
    words[0] = "nonesuch"
    refusal("unknown algorithm", lambda: Allreduce(ones, total, comm=comm, algorithm=words, executor=PYTHON))
    words[0] = f"torus:{comm.size + 1}"
    if comm.size > 1:
        refusal(
            f"needs {comm.size + 1} ranks", lambda: Allreduce(ones, total, comm=comm, algorithm=words, executor=PYTHON)
        )


def file_on_one_node(comm: MPI.Comm) -> None:
    """A file that the last rank does not see is refused by all."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(algorithms.__file__).with_name("ring.py").read_text().replace("from ..", "from allreduce_bench.")
        if comm.rank < comm.size - 1 or comm.size == 1:
            (Path(folder) / "mine.py").write_text(source)
        former = Path.cwd()
        os.chdir(folder)
        if comm.size > 1:
            refusal("mine.py", lambda: PreparedAllreduces(comm, "./mine.py", PYTHON))
        os.chdir(former)


class Counted(MPI.Intracomm):
    """A communicator that counts what is made of it and not freed."""

    in_use = 0

    def Dup(self, info: MPI.Info | None = None) -> "Counted":
        """As that of MPI."""
        Counted.in_use += 1
        return Counted(super().Dup())

    def Free(self) -> None:
        """As that of MPI."""
        Counted.in_use -= 1
        super().Free()


def refused_frees_all(comm: MPI.Comm) -> None:
    """A library has some thousand communicators, and each takes memory."""
    for arguments in ({"choice": "./absent"}, {"executor": "fast"}, {"algorithm": "rign"}):
        refusal("; ", lambda arguments=arguments: PreparedAllreduces(Counted(comm), **arguments))
        check(Counted.in_use == 0, arguments)
    vector, total, fresh = np.ones(2), np.empty(2), comm.Dup()
    with (
        PreparedAllreduces(Counted(fresh), "ring", PYTHON) as ring,
        PreparedAllreduces(Counted(fresh), "naive") as naive,
    ):
        check(Counted.in_use == 0, "none before it is needed")
        for allreduce in (ring, naive, ring):
            allreduce(vector, total)
            check(Counted.in_use == 1 and (total == comm.size).all(), "one for all ways")
    check(Counted.in_use == 0, "closed")
    kept, unprepared = PreparedAllreduces(Counted(fresh), "ring", PYTHON), PreparedAllreduces(Counted(fresh))
    for allreduce in (kept, unprepared):
        allreduce(vector, total)
    fresh.Free()
    check(Counted.in_use == 0, "freed with the program's")
    for allreduce in (kept, unprepared):
        refusal("the communicator was freed", lambda allreduce=allreduce: allreduce(vector, total))


class Exhausted(MPI.Intracomm):
    """A communicator of which no other one can be made."""

    def Dup(self, info: MPI.Info | None = None) -> "Exhausted":
        """As that of MPI when it has none left."""
        raise MPI.Exception(MPI.ERR_OTHER)


def none_left(comm: MPI.Comm) -> None:
    """Native runs from then on, on all ranks; what is asked for by name, too."""
    vector, total = np.ones(5000), np.empty(5000)
    for arguments in ({}, {"trial_share": inf}, {"algorithm": "ring", "executor": PYTHON}):
        with PreparedAllreduces(Exhausted(comm.Dup()), **arguments) as allreduce:
            for _ in range(20):
                total[:] = 0
                allreduce(vector, total)
                check((total == comm.size).all(), "native")
            check(not any(allreduce.calls_of_trials().values()), "on trial")


def nothing_is_kept(comm: MPI.Comm) -> None:
    """Arrays of the program die with it."""
    with PreparedAllreduces(comm, ["ring", "native"], PYTHON, trial_share=inf) as allreduce:
        for _ in range(10):
            vector, total = np.ones(20_000), np.empty(20_000)
            allreduce(vector, total)
            check((total == comm.size).all(), "at a new place")
            died = weakref.ref(vector), weakref.ref(total)
            del vector, total
            check(died[0]() is None is died[1](), "kept alive")


def misuse(comm: MPI.Comm) -> None:
    """All of it."""
    changed_in_place(comm)
    changed_in_shape(comm)
    left_by_one_rank(comm)
    adopted_by_a_class(comm)
    different_arguments(comm)
    list_of_the_program(comm)
    file_on_one_node(comm)
    refused_frees_all(comm)
    none_left(comm)
    nothing_is_kept(comm)
