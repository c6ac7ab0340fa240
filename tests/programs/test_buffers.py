"""Buffers as mpi4py takes them."""

from array import array

import numpy as np
import pytest

pytest.importorskip("mpi4py.MPI", exc_type=ImportError)

from mpi4py import MPI  # noqa: E402


@pytest.mark.parametrize(
    "buffer",
    [
        np.arange(6.0),
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    ],
)
def test_they_are_taken_without_a_copy(vectors_of, buffer):
    total = np.zeros(6)
    send, recv = vectors_of(buffer, total)
    assert send.dtype == np.float64 and send.shape == (6,) and np.shares_memory(recv, total)
    assert np.shares_memory(send, buffer)


@pytest.mark.parametrize("kind", [np.ma.masked_array, np.asmatrix, lambda array: array.view(np.recarray)])
def test_of_subclasses_the_memory_is_taken(vectors_of, kind):
    total = np.zeros(6)
    send, recv = vectors_of(kind(np.ones(6)), kind(total))
    assert type(send) is type(recv) is np.ndarray and send.shape == recv.shape == (6,)
    assert np.shares_memory(recv, total)


@pytest.mark.parametrize("sendbuf", [MPI.IN_PLACE, None])
def test_in_place_is_one_vector(vectors_of, sendbuf):
    total = np.zeros(3)
    send, recv = vectors_of(sendbuf, total)
    assert np.shares_memory(send, total) and np.shares_memory(recv, total)


def test_operations_have_names(operation_of):
    assert [operation_of(op) for op in (MPI.SUM, MPI.PROD, MPI.MAX, MPI.MIN, "avg", "sum")] == [
        "sum", "prod", "max", "min", "avg", "sum",
    ]  # fmt: skip
    assert operation_of(MPI.LAND) is operation_of(MPI.MINLOC) is None
    for op in ("median", None):
        with pytest.raises(ValueError, match="or 'avg'"):
            operation_of(op)


@pytest.mark.parametrize(
    "buffer",
    [
        np.zeros(2, "i1"), np.zeros(2, "u4"), np.zeros(2, "c8"), np.zeros(2, "?"), np.zeros(2, object), bytearray(8),
        [np.zeros(2), MPI.FLOAT_INT], [np.zeros(2), 1, MPI.BYTE], [np.zeros(2), "u2"],
        [np.zeros(2), MPI.DOUBLE], array("d", [1, 2]), memoryview(np.zeros(2)), np.zeros(3, ">f8"), np.float64(0), 3,
    ],
)  # fmt: skip
def test_other_types_and_buffers_are_left_to_mpi4py(vectors_of, buffer):
    assert vectors_of(MPI.IN_PLACE, buffer) is vectors_of(buffer, buffer) is None


def test_tensors_of_pytorch_share_their_memory_and_others_are_refused(vectors_of):
    torch = pytest.importorskip("torch")
    for name in ("float16", "float32", "float64", "int32", "int64", "bfloat16"):
        tensor = torch.zeros(3, dtype=getattr(torch, name))
        vectors_of(MPI.IN_PLACE, tensor).recv[:] = 2
        assert tensor.tolist() == [2, 2, 2], name
    assert vectors_of(MPI.IN_PLACE, torch.zeros(3, dtype=torch.int8)) is None
    with pytest.raises(ValueError, match="sendbuf is in the order of Fortran"):
        vectors_of(torch.zeros(2, 3).t(), torch.zeros(3, 2))
    for tensor, words in (
        (torch.zeros(3, device="meta"), "recvbuf: on meta; expected memory of the processor"),
        (torch.zeros(6)[::2], "recvbuf is not contiguous"),
        (torch.zeros(3, requires_grad=True), "requires grad.* Expected a dense, detached tensor"),
        (torch.zeros(3).to_sparse(), "Expected a dense"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            vectors_of(MPI.IN_PLACE, tensor)


@pytest.mark.parametrize(
    ("sendbuf", "recvbuf", "words"),
    [
        (np.zeros(2), np.zeros(3), "sendbuf has 2 elements, recvbuf 3"),
        (np.zeros(2), np.zeros(2, "f4"), "sendbuf is float64, recvbuf float32"),
        (np.zeros(6)[::2], np.zeros(3), "not contiguous"),
        (np.zeros((2, 3), order="F"), np.zeros((2, 3)), "sendbuf is in the order of Fortran"),
    ],
)
def test_what_is_none_is_refused_in_one_sentence(vectors_of, sendbuf, recvbuf, words):
    with pytest.raises((ValueError, TypeError), match=words):
        vectors_of(sendbuf, recvbuf)


def test_overlap_and_read_only_are_refused(vectors_of):
    total = np.zeros(8)
    with pytest.raises(ValueError, match="recvbuf overlap"):
        vectors_of(total[:4], total[2:6])
    with pytest.raises(ValueError, match="overlap"):
        vectors_of(total, total)
    assert vectors_of(total[:4], total[4:]).send.size == 4
    total.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        vectors_of(np.zeros(8), total)
