"""`Allreduce` and wrapped communicators with what is mpi4py's own, beside mpi4py itself.

types: elements, operations and buffers of all kinds. wrapped: what `wrap` gives. tensors:
those of PyTorch, whose threads stay in a process; `hooked_ddp.py` has them.
"""

import array
import pickle
from functools import partial

import numpy as np
from called_allreduce import PYTHON, check, refusal
from mpi4py import MPI

from allreduce_bench import Allreduce, wrap


def ours(comm: MPI.Comm, sendbuf, recvbuf, op=MPI.SUM) -> None:
    """Our algorithms, where they have the type and the operation."""
    Allreduce(sendbuf, recvbuf, op, comm, algorithm="ring", executor=PYTHON)


def result(call, sendbuf, make_recvbuf, op: MPI.Op):
    """What arrives, or the error."""
    recvbuf = make_recvbuf()
    named = recvbuf if isinstance(recvbuf, list) else [recvbuf]
    try:
        call(sendbuf, recvbuf, op)
    except Exception as error:
        return type(error), str(error)
    return None if named[0] is None else bytes(memoryview(named[0]).cast("B"))


def other_types(comm: MPI.Comm) -> None:
    """Results and errors are mpi4py's own."""
    values = np.arange(6) + comm.rank
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
        same(comm, operand, lambda operand=operand: np.zeros_like(np.asarray(operand)), op)
    pairs = np.zeros(3, [("value", "f4"), ("place", "i4")])
    pairs["value"], pairs["place"] = [3, 1 + comm.rank, -comm.rank], comm.rank
    same(comm, [pairs, 3, MPI.FLOAT_INT], lambda: [np.zeros_like(pairs), 3, MPI.FLOAT_INT], MPI.MINLOC)
    for commute in (True, False):
        own = MPI.Op.Create(left_most, commute)
        same(comm, values.astype("f8"), lambda: np.zeros(6), own)
        every_other = MPI.DOUBLE.Create_vector(3, 1, 2).Commit()
        same(comm, [values.astype("f8"), 1, every_other], lambda kind=every_other: [np.zeros(6), 1, kind], own)
        every_other.Free()
        own.Free()


def left_most(former: MPI.buffer, total: MPI.buffer, datatype: MPI.Datatype) -> None:
    """An operation of a program's own, which does not commute: what the lowest rank has, without the gaps of a type.

    In the gaps MPI's own buffers hold anything.
    """
    step = 2 if datatype.Get_extent()[1] > datatype.Get_size() else 1
    np.frombuffer(total)[::step] = np.frombuffer(former)[::step]


def same(comm: MPI.Comm, sendbuf, make_recvbuf, op: MPI.Op) -> None:
    """As mpi4py's own call."""
    expected, found = (result(call, sendbuf, make_recvbuf, op) for call in (comm.Allreduce, partial(ours, comm)))
    check(found == expected, sendbuf, op, expected, found)


def other_buffers(comm: MPI.Comm) -> None:
    """Lists and memory are mpi4py's, and errors in one sentence."""
    numbers = np.arange(4.0) + 1
    padded, total = np.concatenate([[7.0], numbers, [7.0]]), np.zeros(6)
    for sendbuf in ([padded, 4, 1, MPI.DOUBLE], array.array("d", numbers), [numbers, "d"]):
        ours(comm, sendbuf, [total, 4, 2, MPI.DOUBLE])
        check((total == [0, 0, *(comm.size * numbers)]).all(), sendbuf, total)
    for sendbuf, recvbuf, words in (
        (np.ones(2, object), np.ones(2, object), "neither this package nor mpi4py reduces these buffers"),
        (np.ones(2, "U3"), np.ones(2, "U3"), "neither this package nor mpi4py"),
        (np.ones(2, "i1"), np.ones(2), "mismatch in send and receive MPI datatypes"),
    ):
        refusal(words, lambda sendbuf=sendbuf, recvbuf=recvbuf: ours(comm, sendbuf, recvbuf))
    refusal("'avg' is of arrays of floating point", lambda: ours(comm, np.ones(2, "i1"), np.ones(2, "i1"), "avg"))


def types(comm: MPI.Comm) -> None:
    """All of it."""
    other_types(comm)
    other_buffers(comm)


def wrapped(comm: MPI.Comm) -> None:
    """It is mpi4py's but for one method, and what is made of it is mpi4py's."""
    base, ones, total = comm.Dup(), np.ones(3), np.zeros(3)
    mine = wrap(base, algorithm="ring", executor=PYTHON)
    check(isinstance(mine, MPI.Intracomm) and mine == base and mine.handle == base.handle, "handle")
    mine.Allreduce(ones, total)
    mine.Allreduce(MPI.IN_PLACE, total, op=MPI.MAX)
    check((total == comm.size).all(), total)
    check([one.op for one in mine.prepared.choices()] == ["sum"], "plain arrays by ours, in place by mpi4py")
    mine.Allreduce(None, total, op=MPI.MAX)
    mine.Allreduce(MPI.IN_PLACE, total, "avg")  # which mpi4py has not
    check((total == comm.size).all(), "in place")
    mine.Allreduce(ones.astype("i1"), small := np.zeros(3, "i1"))
    check(
        (small == comm.size).all()
        and mine.allreduce({comm.rank: 1}, op=lambda a, b: a | b) == dict.fromkeys(range(comm.size), 1),
        "",
    )
    again, request = mine.Idup()
    request.Wait()
    made = [
        mine.Dup(),
        mine.Clone(),
        again,
        mine.Split(0),
        mine.Create(mine.group),
        mine.Split_type(MPI.COMM_TYPE_SHARED),
    ]
    made.append(mine.Dup_with_info(MPI.INFO_NULL))
    for one in made:
        check(type(one) is MPI.Intracomm, type(one))
        one.Allreduce(ones, total)
        one.Free()
    ring = mine.Create_cart([comm.size], periods=[True])
    with_neighbours = wrap(ring, algorithm="ring", executor=PYTHON)
    with_neighbours.Allreduce(ones, total)
    check(
        with_neighbours.Shift(0, 1)[1] == (comm.rank + 1) % comm.size and isinstance(with_neighbours, MPI.Cartcomm),
        "topology",
    )
    ring.Free()
    twice = wrap(mine, algorithm="ring", executor=PYTHON)
    Allreduce(ones, total, comm=twice, algorithm="ring", executor=PYTHON)
    twice.Allreduce(ones, total)
    check((total == comm.size).all() and type(twice.Dup()) is MPI.Intracomm, "wrapped twice")
    mine.Free()
    for freed in (mine, twice):
        for dtype in ("f8", "i1"):
            refusal(
                "the communicator was freed", lambda freed=freed, dtype=dtype: freed.Allreduce(*np.ones((2, 3), dtype))
            )
    base = comm.Dup()
    mine = wrap(base, algorithm="ring", executor=PYTHON)
    mine.Allreduce(ones, total)
    base.Free()
    refusal("the communicator was freed", lambda: mine.Allreduce(ones, total))
    for freed in (base, mine):
        refusal("the communicator was freed", lambda freed=freed: wrap(freed))
        refusal("the communicator was freed", lambda freed=freed: Allreduce(ones, total, comm=freed))
    loaded = pickle.loads(pickle.dumps(wrap(MPI.COMM_SELF)))  # only what MPI has by itself can be
    check(type(loaded) is MPI.Intracomm and loaded == MPI.COMM_SELF, "pickled")
    refusal("of type int; expected a communicator", lambda: wrap(3))
    if comm.size > 1:
        half = comm.Split(comm.rank % 2)
        between = half.Create_intercomm(0, comm, 1 - comm.rank % 2)
        refusal("an intercommunicator; expected an intracommunicator: call mpi4py's own", lambda: wrap(between))


def tensors(comm: MPI.Comm) -> None:
    """Their memory is reduced, whatever the other ranks have."""
    import torch

    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32, torch.int64, torch.int8):
        for count in (5, 20_000):
            total = torch.zeros(count, dtype=dtype)
            ours(comm, torch.ones(count, dtype=dtype), total)
            check(bool((total == comm.size).all()), dtype)
            ours(comm, MPI.IN_PLACE, total)
            check(bool((total == comm.size * comm.size).all()), dtype, "in place")
    total = torch.zeros(4, 2)
    for sendbuf in (torch.ones(4, 2), torch.nn.Parameter(torch.ones(4, 2)).detach()):
        ours(comm, sendbuf if comm.rank else np.ones((4, 2), "f4"), total)
        check(bool((total == comm.size).all()), "kinds")
    mine = wrap(comm, algorithm="ring", executor=PYTHON)
    refusal(
        "sendbuf: on meta; expected memory of the processor",
        lambda: mine.Allreduce(torch.ones(8, device="meta"), total),
    )
    refusal("Expected a dense, detached tensor", lambda: ours(comm, torch.ones(8, requires_grad=True), total))
