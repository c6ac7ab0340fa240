"""`Allreduce` as programs call it, on vectors whose result is known exactly.

exact: lengths, types, operations, ways to name buffers, all algorithms. refusing: what is wrong on one rank or on all.
choosing: what is settled, by a clock that takes the place of those of the modules.
"""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from math import inf
from pathlib import Path
from unittest.mock import patch

import numpy as np
from mpi4py import MPI

from allreduce_bench import Allreduce
from allreduce_bench.executing import OPERATIONS
from allreduce_bench.measuring.vectors import Check, exact_inputs, poison
from allreduce_bench.programs import bound, settling
from allreduce_bench.programs.agreement import NotTogether, Shape, refuse_different
from allreduce_bench.programs.allreduce import list_prepared
from allreduce_bench.programs.prepared import PreparedAllreduces
from allreduce_bench.programs.settling import MOST_CALLS
from allreduce_bench.runs.dtypes import DTYPES, is_float, teach_numpy

PYTHON = "sendrecv"  # an executor that loads no compiler
LATE_S = 1e-3  # that others wait for the rank that comes last


def check(holds: bool, *words: object) -> None:
    """Raise AssertionError where it does not hold."""
    if not holds:
        raise AssertionError(*words)


def is_exact(
    comm: MPI.Comm, allreduce, count: int, dtype: str, op: str, in_place: bool = False, calls: int = 2
) -> bool:
    """Call it and compare every element; the input must stay as it is."""
    operand, correct = (
        np.resize(period, count) for period in exact_inputs(Check(comm.size, count, dtype, op), comm.rank)
    )
    named = "avg" if op == "avg" else OPERATIONS[op]
    sendbuf, recvbuf = operand.copy(), np.empty(count, dtype)
    for _ in range(calls):
        recvbuf[:] = operand if in_place else poison(dtype, op)
        allreduce(MPI.IN_PLACE if in_place else sendbuf, recvbuf, named)
        if (recvbuf != correct).any() or (sendbuf != operand).any():
            return False
    return True


def exact(comm: MPI.Comm) -> None:
    """Every type with every operation, lengths around what is copied, all algorithms and executors."""
    kinds = [(dtype, op) for dtype in DTYPES for op in OPERATIONS if op != "avg" or is_float(dtype)]
    with PreparedAllreduces(comm, ["ring", "native", "rabenseifner"], PYTHON, trial_share=inf) as allreduce:
        for number, (dtype, op) in enumerate(kinds):
            if comm.size > 3 and number % 5 != comm.size % 5:  # a sample: preparing takes long on busy cores
                continue
            teach_numpy(dtype)
            count = (0, 1, 7, 1000, 20_011)[number // 5 % 5]
            check(
                is_exact(comm, allreduce, count, dtype, op, number % 3 == 0, calls=40 if count == 1000 else 2),
                dtype,
                op,
            )
    with PreparedAllreduces(comm, executor="auto" if comm.size == 2 else PYTHON, trial_share=inf) as allreduce:
        for count in (3, 5_000):
            check(
                is_exact(comm, allreduce, count, "float32", "sum", count == 5_000, calls=2 * MOST_CALLS), "auto", count
            )
        check({shape.size_bytes for shape in allreduce.calls_of_trials()} == {12, 20_000}, "prepared once each")
    compiled = [("ring", "compiled")] if comm.size == 2 else []
    for word, executor in (("ring", "pipelined"), ("tree", "pipelined"), ("two_tree", "sendrecv"), *compiled):
        with PreparedAllreduces(comm, word, executor) as allreduce:
            check(is_exact(comm, allreduce, 100_000, "float64", "sum"), word, executor)
            check(allreduce.choices()[0].candidate.name == f"{word}@{executor}".replace("@sendrecv", ""), word)
    ways_to_name_buffers(comm)


def ways_to_name_buffers(comm: MPI.Comm) -> None:
    """As mpi4py takes them; different buffers at each call; what is kept goes with the communicator."""
    total, size = np.zeros((2, 3), "f4"), comm.size
    ones = np.ones((2, 3), "f4")
    if comm.size == MPI.COMM_WORLD.size:
        Allreduce(ones, total, algorithm="ring", executor=PYTHON)
        check((total == size).all(), "of all ranks where no communicator is named")
    for _ in range(8):
        long = np.ones(bound.COPIED_NBYTES), np.zeros(bound.COPIED_NBYTES)
        Allreduce(*long, comm=comm, algorithm="ring", executor=PYTHON)
        check((long[1] == size).all(), "at new places")
    own = comm.Dup()
    Allreduce(ones, total, MPI.MAX, own, algorithm="ring", executor=PYTHON)
    (kept,) = list_prepared(own)
    own.Free()
    try:
        kept(ones, total)
        check(False, "after the communicator")
    except ValueError as error:
        check("was closed" in str(error) or "was freed" in str(error), error)


class PlayedTime:
    """A clock for all times that are taken: a call takes what is said of its algorithm, on a rank that is not late.

    The others wait for the one that comes last, which changes from call to call; not after the barrier of a trial.
    """

    def __init__(self, comm: MPI.Comm) -> None:
        self.comm = comm
        self.now_s, self.calls, self.on_trial, self.of = 0.0, 0, False, dict[str, float]()

    def playing(self, run):
        def played(bound_, send, recv) -> None:
            run(bound_, send, recv)
            self.calls += 1
            waits = not self.on_trial and self.calls % self.comm.size != self.comm.rank
            self.now_s += self.of[bound_.candidate.algorithm] * (1 + 0.1 * (self.calls % 3)) + waits * LATE_S

        return played

    @contextmanager
    def rules(self) -> Iterator[None]:
        """Enter before any all-reduce is bound."""
        call_on_trial = settling.Settling._call_on_trial

        def noted(*arguments) -> None:
            self.on_trial = True
            call_on_trial(*arguments)
            self.on_trial = False

        with ExitStack() as patches:
            for kind in (bound.Bound, bound.Native):
                patches.enter_context(patch.object(kind, "run", self.playing(kind.run)))
            patches.enter_context(patch.object(settling.Settling, "_call_on_trial", noted))
            patches.enter_context(patch.object(settling, "perf_counter", lambda: self.now_s))
            yield


def choosing(comm: MPI.Comm) -> None:
    """The fastest is settled for good within the stated calls; a saved choice is taken without a trial."""
    played = PlayedTime(comm)
    with played.rules():
        choose(comm, played)


def choose(comm: MPI.Comm, played: PlayedTime) -> None:
    """Hold what is chosen against the times that are played."""
    vector, total = np.ones(100), np.empty(100)
    words = ["ring", "recursive_doubling", "native"]
    played.of = {"ring": 30e-6, "native": 50e-6, "recursive_doubling": 20e-6}
    with PreparedAllreduces(comm, words, PYTHON, trial_share=inf) as allreduce:
        calls = calls_until(comm, allreduce, bool)
        check(calls <= 1 + MOST_CALLS, "a trial without an end")
        check(same_everywhere(comm, allreduce) == ["recursive_doubling"], "a slow one was chosen")
        saved(comm, allreduce)
        tried = allreduce.calls_of_trials()[Shape(100, "float64", "sum")]
        played.of["recursive_doubling"] = 50e-6
        for _ in range(100):
            allreduce(vector, total)
        check(tried == allreduce.calls_of_trials()[Shape(100, "float64", "sum")] <= MOST_CALLS, "tried anew")


def calls_until(comm: MPI.Comm, allreduce: PreparedAllreduces, is_there) -> int:
    """The number of calls until its settled algorithms are so."""
    vector, total = np.ones(100), np.empty(100)
    for calls in range(1, 2000):
        allreduce(vector, total)
        check((total == comm.size).all(), "wrong result")
        if is_there(same_everywhere(comm, allreduce)):
            return calls
    check(False, "never settled")
    return 0


def saved(comm: MPI.Comm, allreduce: PreparedAllreduces) -> None:
    """What was saved is taken up again, without a trial."""
    vector, total = np.ones(100), np.empty(100)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(comm.bcast(folder)) / "choices.json"
        allreduce.save(path)
        comm.Barrier()
        with PreparedAllreduces(comm, choice=path) as chosen:
            chosen(vector, total)
            check(same_everywhere(comm, chosen) == same_everywhere(comm, allreduce), "saved")
            check([*chosen.calls_of_trials().values()] == [0], "tried what was chosen")
        comm.Barrier()


def same_everywhere(comm: MPI.Comm, allreduce: PreparedAllreduces) -> list[str]:
    """The algorithms that are settled; all ranks must have the same."""
    settled = [choice.algorithm for choice in allreduce.choices()]
    check(len(set(comm.allgather(tuple(settled)))) == 1, "ranks settled on different ones")
    return settled


def refusal(words: str, call, kind=(ValueError, TypeError)) -> str:
    """The sentence with which `call` is refused; it holds `words`."""
    try:
        call()
    except kind as error:
        check(words in str(error) and "\n" not in str(error), words, "not in", error)
        return str(error)
    check(False, "not refused:", words)
    return ""


def refusing(comm: MPI.Comm) -> None:
    """One sentence each."""
    ones, total, rank = np.ones(10), np.zeros(10), comm.rank
    with PreparedAllreduces(comm, "ring", PYTHON, check=True, patience_s=60) as allreduce:
        if comm.size > 1:
            last = rank == comm.size - 1
            sentence = refusal(
                "different lengths", lambda: allreduce(ones[: 9 if last else 10], total[: 9 if last else 10])
            )
            check(f"rank {comm.size - 1}: 9 float64 sum" in sentence, sentence)
            other = "f4" if last else "f8"
            refusal("float32 sum", lambda: allreduce(ones.astype(other), total.astype(other)))
            refusal("float64 max", lambda: allreduce(ones, total, MPI.MAX if last else MPI.SUM))
            allreduce(ones, total)
            allreduce(ones, total, MPI.MAX)
            refusal("float64 max", lambda: allreduce(ones, total, MPI.MAX if last else MPI.SUM))
            allreduce._patience_s = 0.5
            if rank == 0:
                refusal("not all ranks came", lambda: allreduce(ones[:3], total[:3]), NotTogether)
            comm.Barrier()
            if rank != 0:  # it has given up
                refuse_different(allreduce._site().comm, Shape(3, "float64", "sum"))
        refusal("overlap", lambda: allreduce(ones, ones))
        refusal("overlap", lambda: allreduce(ones[:5], ones[2:7]))
        refusal("not contiguous", lambda: allreduce(ones[::2], total[::2]))
        refusal("10 elements, recvbuf 9", lambda: allreduce(ones, total[:9]))
        refusal("sendbuf is float64, recvbuf float32", lambda: allreduce(ones, total.astype("f4")))
        refusal("operation", lambda: allreduce(ones, total, "median"))
        total.flags.writeable = False
        refusal("read-only", lambda: allreduce(ones, total))
    refusal("was closed", lambda: allreduce(ones, np.zeros(10)))
    refusal("avg of int32", lambda: Allreduce(np.ones(3, "i4"), np.zeros(3, "i4"), "avg", comm, executor=PYTHON))
    refusal("neither this package nor mpi4py", lambda: Allreduce(ones.astype(object), total.astype(object), comm=comm))
    refusal("unknown algorithm", lambda: PreparedAllreduces(comm, "rign"))
    refusal("unknown executor", lambda: PreparedAllreduces(comm, executor="fast"))
    refusal("expected saved choices", lambda: PreparedAllreduces(comm, choice="./absent"))
    refusal("intracommunicator" if comm.size > 1 else "freed", lambda: between_halves(comm))
    freed = comm.Dup()
    kept = PreparedAllreduces(freed, "ring", PYTHON)
    freed.Free()
    refusal("the communicator was freed", lambda: Allreduce(ones, np.zeros(10), MPI.SUM, freed))
    refusal("the communicator was freed", lambda: kept(ones, np.zeros(10)))


def between_halves(comm: MPI.Comm) -> None:
    if comm.size == 1:
        PreparedAllreduces(MPI.COMM_NULL)
    half = comm.Split(comm.rank % 2)
    inter = half.Create_intercomm(0, comm, 1 - comm.rank % 2)
    PreparedAllreduces(inter)
