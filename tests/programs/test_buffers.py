"""Buffers as mpi4py takes them."""

from array import array

import numpy as np
import pytest

pytest.importorskip("mpi4py.MPI", exc_type=ImportError)

from mpi4py import MPI  # noqa: E402

from allreduce_bench.programs.buffers import operation_of, vectors_of  # noqa: E402


@pytest.mark.parametrize(
    "buffer",
    [
        np.arange(6.0),
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        [np.arange(6.0), MPI.DOUBLE],
        (np.arange(9.0), 6),
        [np.arange(9.0), 6, MPI.DOUBLE],
        [np.arange(6.0), "d"],
        array("d", range(6)),
        memoryview(np.arange(6.0)),
        [bytearray(48), 6, MPI.DOUBLE],
    ],
)
def test_they_are_taken_without_a_copy(buffer):
    total = np.zeros(6)
    send, recv = vectors_of(buffer, total)
    assert send.dtype == np.float64 and send.shape == (6,) and np.shares_memory(recv, total)
    raw = buffer[0] if isinstance(buffer, (list, tuple)) else buffer
    assert np.shares_memory(send, np.asarray(raw) if not isinstance(raw, bytearray) else np.frombuffer(raw, "d"))


def test_in_place_is_one_vector():
    total = np.zeros(3)
    send, recv = vectors_of(MPI.IN_PLACE, total)
    assert np.shares_memory(send, total) and np.shares_memory(recv, total)


def test_operations_have_names():
    assert [operation_of(op) for op in (MPI.SUM, MPI.PROD, MPI.MAX, MPI.MIN, "avg", "sum")] == [
        "sum", "prod", "max", "min", "avg", "sum",
    ]  # fmt: skip
    for op in (MPI.LAND, "median", None):
        with pytest.raises(ValueError, match="operation .* is not known; expected MPI.SUM"):
            operation_of(op)


class CopiedByNumpy:
    """A result in what numpy makes of it would never come back."""

    def __array__(self, *arguments, **named) -> np.ndarray:
        return np.zeros(2)


@pytest.mark.parametrize(
    ("sendbuf", "recvbuf", "words"),
    [
        (3, np.zeros(1), "sendbuf is of type int"),
        (np.zeros(1), None, "recvbuf is of type NoneType"),
        (np.zeros(2), np.zeros(3), "sendbuf has 2 elements, recvbuf 3"),
        (np.zeros(2), np.zeros(2, "f4"), "sendbuf is float64, recvbuf float32"),
        (np.zeros(2, "c8"), np.zeros(2, "c8"), "complex64; expected one of"),
        ([np.zeros(2), 3], np.zeros(3), "a count of 3 does not fit"),
        ([np.zeros(3), "x y"], np.zeros(3), "its type 'x y' does not fit"),
        ([1.0, 2.0, 3.0], np.zeros(3), "expected \\[array, count, type\\]"),
        (np.zeros(6)[::2], np.zeros(3), "not contiguous"),
        (np.zeros(3, ">f8"), np.zeros(3, ">f8"), "recvbuf has another byte order than this machine"),
        ([np.zeros(3), ">f8"], np.zeros(3), "sendbuf has another byte order"),
        (np.zeros(1), np.float64(0), "recvbuf is of type float64, of which numpy makes a copy"),
        (np.zeros(2), CopiedByNumpy(), "recvbuf is of type CopiedByNumpy, of which numpy makes a copy"),
    ],
)
def test_what_is_none_is_refused_in_one_sentence(sendbuf, recvbuf, words):
    with pytest.raises((ValueError, TypeError), match=words):
        vectors_of(sendbuf, recvbuf)


def test_overlap_and_read_only_are_refused():
    total = np.zeros(8)
    with pytest.raises(ValueError, match="overlap; to reduce in place, pass MPI.IN_PLACE"):
        vectors_of(total[:4], total[2:6])
    with pytest.raises(ValueError, match="overlap"):
        vectors_of(total, total)
    assert vectors_of(total[:4], total[4:]).send.size == 4
    total.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        vectors_of(np.zeros(8), total)
