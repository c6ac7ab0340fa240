"""Calls `Allreduce` and wrapped communicators with what is mpi4py's own, beside mpi4py itself. Run it with

    mpirun -n 4 python left_to_mpi4py.py [types] [wrapped] [tensors]

types: elements, operations and buffers of all kinds, other ones on other ranks. wrapped: what `wrap` gives. tensors: of
PyTorch. Prints `NAME: N checks, 0 failed` of each; a failed one ends all ranks with status 1.
"""

import array
import os
import pickle
import sys
import traceback

import called_allreduce
import numpy as np
from called_allreduce import COMM, PYTHON, check, refusal
from mpi4py import MPI

from allreduce_bench import Allreduce, wrap

SIZE, RANK = COMM.size, COMM.rank


def ours(sendbuf, recvbuf, op=MPI.SUM) -> None:
    """Our algorithms, where they have the type and the operation."""
    Allreduce(sendbuf, recvbuf, op, COMM, algorithm="ring", executor=PYTHON)


def result(call, sendbuf, make_recvbuf, op: MPI.Op):
    """What arrives, or the error."""
    recvbuf = make_recvbuf()
    named = recvbuf if isinstance(recvbuf, list) else [recvbuf]
    try:
        call(sendbuf, recvbuf, op)
    except Exception as error:
        return type(error), str(error)
    return None if named[0] is None else bytes(memoryview(named[0]).cast("B"))


def other_types() -> None:
    """Results and errors are mpi4py's own."""
    values = np.arange(6) + RANK
    codes = ("i1", "u1", "i2", "u2", "u4", "u8", "c8", "c16", "g")
    cases = [(values.astype(code), op) for code in codes for op in (MPI.SUM, MPI.PROD)]
    cases += [(values.astype("i4"), op) for op in (MPI.BAND, MPI.BOR, MPI.BXOR, MPI.LAND, MPI.LOR)]
    cases += [(values > 2, op) for op in (MPI.LOR, MPI.LAND, MPI.SUM)]
    cases += [
        (array.array("h", [1, 2, 3]), MPI.MAX),
        (values.astype("f8"), MPI.BAND),
        (values.astype("f8"), MPI.OP_NULL),
    ]
    for operand, op in cases:
        same(operand, lambda operand=operand: np.zeros_like(np.asarray(operand)), op)
    pairs = np.zeros(3, [("value", "f4"), ("place", "i4")])
    pairs["value"], pairs["place"] = [3, 1 + RANK, -RANK], RANK
    same([pairs, 3, MPI.FLOAT_INT], lambda: [np.zeros_like(pairs), 3, MPI.FLOAT_INT], MPI.MINLOC)
    for commute in (True, False):
        own = MPI.Op.Create(left_most, commute)
        same(values.astype("f8"), lambda: np.zeros(6), own)
        every_other = MPI.DOUBLE.Create_vector(3, 1, 2).Commit()
        same([values.astype("f8"), 1, every_other], lambda kind=every_other: [np.zeros(6), 1, kind], own)
        every_other.Free()
        own.Free()


def left_most(former: MPI.buffer, total: MPI.buffer, datatype: MPI.Datatype) -> None:
    """An operation of a program's own, which does not commute: what the lowest rank has, without the gaps of a type.

    In the gaps MPI's own buffers hold anything.
    """
    step = 2 if datatype.Get_extent()[1] > datatype.Get_size() else 1
    np.frombuffer(total)[::step] = np.frombuffer(former)[::step]


def same(sendbuf, make_recvbuf, op: MPI.Op) -> None:
    """As mpi4py's own call."""
    expected, found = (result(call, sendbuf, make_recvbuf, op) for call in (COMM.Allreduce, ours))
    check(found == expected, sendbuf, op, expected, found)


def other_buffers() -> None:
    """One call, with another way to name the same elements on each rank."""
    numbers = np.arange(4.0) + 1
    padded = np.concatenate([[7.0], numbers, [7.0]])
    ways = [
        numbers,
        [numbers, MPI.DOUBLE],
        [padded, 4, 1, MPI.DOUBLE],
        [padded.tobytes(), (4, 1), "d"],
        array.array("d", numbers),
        [numbers.view("c16"), 4, MPI.DOUBLE],
    ]
    for shift in range(len(ways)):
        total = np.zeros(6)
        ours(ways[(RANK + shift) % len(ways)], [total, 4, 2, MPI.DOUBLE] if RANK % 2 else total[2:], MPI.SUM)
        check((total == [0, 0, *(SIZE * numbers)]).all(), shift, total)
    ours([None, MPI.INT], np.zeros(0, "i4") if RANK else [None, 0, MPI.INT])
    for sendbuf, recvbuf, words in (
        (np.ones(2, object), np.ones(2, object), "neither this package nor mpi4py reduces these buffers"),
        (np.ones(2, "U3"), np.ones(2, "U3"), "neither this package nor mpi4py"),
        (np.ones(2, "i1"), np.ones(2), "mismatch in send and receive MPI datatypes"),
        (np.ones(2), None, "recvbuf is of type NoneType"),
        ([numbers, "x y"], np.ones(4), "'x y' is no type of MPI"),
    ):
        refusal(words, lambda sendbuf=sendbuf, recvbuf=recvbuf: ours(sendbuf, recvbuf))
    refusal("'avg' is of types of floating point", lambda: ours(np.ones(2, "i1"), np.ones(2, "i1"), "avg"))


def types() -> None:
    """All of it."""
    other_types()
    other_buffers()


def wrapped() -> None:
    """It is mpi4py's but for one method, and what is made of it is mpi4py's."""
    base, ones, total = COMM.Dup(), np.ones(3), np.zeros(3)
    comm = wrap(base, algorithm="ring", executor=PYTHON)
    check(isinstance(comm, MPI.Intracomm) and comm == base and comm.handle == base.handle, "handle")
    comm.Allreduce(ones, total)
    comm.Allreduce(MPI.IN_PLACE, total, op=MPI.MAX)
    check((total == SIZE).all(), total)
    check(len(comm.prepared.choices()) == 2, "by our algorithms")
    comm.Allreduce(ones.astype("i1"), small := np.zeros(3, "i1"))
    check(
        (small == SIZE).all() and comm.allreduce({RANK: 1}, op=lambda a, b: a | b) == dict.fromkeys(range(SIZE), 1), ""
    )
    again, request = comm.Idup()
    request.Wait()
    made = [
        comm.Dup(),
        comm.Clone(),
        again,
        comm.Split(0),
        comm.Create(comm.group),
        comm.Split_type(MPI.COMM_TYPE_SHARED),
    ]
    made.append(comm.Dup_with_info(MPI.INFO_NULL))
    for one in made:
        check(type(one) is MPI.Intracomm, type(one))
        one.Allreduce(ones, total)
        one.Free()
    ring = comm.Create_cart([SIZE], periods=[True])
    with_neighbours = wrap(ring, algorithm="ring", executor=PYTHON)
    with_neighbours.Allreduce(ones, total)
    check(with_neighbours.Shift(0, 1)[1] == (RANK + 1) % SIZE and isinstance(with_neighbours, MPI.Cartcomm), "topology")
    ring.Free()
    twice = wrap(comm, algorithm="ring", executor=PYTHON)
    Allreduce(ones, total, comm=twice, algorithm="ring", executor=PYTHON)
    twice.Allreduce(ones, total)
    check((total == SIZE).all() and type(twice.Dup()) is MPI.Intracomm, "wrapped twice")
    comm.Free()
    for freed in (comm, twice):
        for dtype in ("f8", "i1"):
            refusal(
                "the communicator was freed", lambda freed=freed, dtype=dtype: freed.Allreduce(*np.ones((2, 3), dtype))
            )
    base = COMM.Dup()
    comm = wrap(base, algorithm="ring", executor=PYTHON)
    comm.Allreduce(ones, total)
    base.Free()
    refusal("the communicator was freed", lambda: comm.Allreduce(ones, total))
    for freed in (base, comm):
        refusal("the communicator was freed", lambda freed=freed: wrap(freed))
        refusal("the communicator was freed", lambda freed=freed: Allreduce(ones, total, comm=freed))
    loaded = pickle.loads(pickle.dumps(wrap(MPI.COMM_WORLD)))
    check(type(loaded) is MPI.Intracomm and loaded == MPI.COMM_WORLD, "pickled")
    refusal("of type int; expected a communicator", lambda: wrap(3))
    if SIZE > 1:
        half = COMM.Split(RANK % 2)
        between = half.Create_intercomm(0, COMM, 1 - RANK % 2)
        refusal("an intercommunicator; expected an intracommunicator: call mpi4py's own", lambda: wrap(between))


def tensors() -> None:
    """Their memory is reduced, whatever the other ranks have."""
    import torch

    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32, torch.int64, torch.int8):
        for count in (5, 20_000):
            total = torch.zeros(count, dtype=dtype)
            ours(torch.ones(count, dtype=dtype), total)
            check(bool((total == SIZE).all()), dtype)
            ours(MPI.IN_PLACE, total)
            check(bool((total == SIZE * SIZE).all()), dtype, "in place")
    total = torch.zeros(4, 2)
    for sendbuf in (torch.ones(4, 2), torch.nn.Parameter(torch.ones(4, 2)).detach()):
        ours(sendbuf if RANK else np.ones(8, "f4"), [total, 8, MPI.FLOAT] if RANK == 1 else total)
        check(bool((total == SIZE).all()), "kinds")
    comm = wrap(COMM, algorithm="ring", executor=PYTHON)
    refusal(
        "sendbuf is on meta; expected memory of the processor",
        lambda: comm.Allreduce(torch.ones(8, device="meta"), total),
    )
    refusal("Expected a dense, detached tensor", lambda: ours(torch.ones(8, requires_grad=True), total))


def main() -> None:
    """The parts that are named."""
    for name in sys.argv[1:]:
        before = called_allreduce.checked
        {"types": types, "wrapped": wrapped, "tensors": tensors}[name]()
        COMM.Barrier()
        if RANK == 0:
            print(f"{name}: {called_allreduce.checked - before} checks, 0 failed", flush=True)


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
        COMM.Abort(1)
        os._exit(1)
