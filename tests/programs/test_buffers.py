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
        [np.arange(6.0), MPI.DOUBLE],
        (np.arange(9.0), 6),
        [np.arange(9.0), 6, MPI.DOUBLE],
        [np.arange(6.0), "d"],
        array("d", range(6)),
        memoryview(np.arange(6.0)),
        [bytearray(48), 6, MPI.DOUBLE],
    ],
)
def test_they_are_taken_without_a_copy(vectors_of, buffer):
    total = np.zeros(6)
    send, recv = vectors_of(buffer, total)
    assert send.dtype == np.float64 and send.shape == (6,) and np.shares_memory(recv, total)
    raw = buffer[0] if isinstance(buffer, (list, tuple)) else buffer
    assert np.shares_memory(send, np.asarray(raw) if not isinstance(raw, bytearray) else np.frombuffer(raw, "d"))


@pytest.mark.parametrize("kind", [np.ma.masked_array, np.asmatrix, lambda array: array.view(np.recarray)])
def test_of_subclasses_the_memory_is_taken(vectors_of, kind):
    total = np.zeros(6)
    send, recv = vectors_of([kind(np.ones(6)), 3, MPI.DOUBLE], [kind(total), 3, MPI.DOUBLE])
    assert type(send) is type(recv) is np.ndarray and send.shape == recv.shape == (3,)
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
    ("buffer", "sent"),
    [
        ([np.arange(6.0), 2, 3, MPI.DOUBLE], [3, 4]),
        ([np.arange(6.0), (2, 1)], [1, 2]),
        ([np.arange(6.0), (2, 4), "d"], [4, 5]),
        ([np.arange(6.0), None, MPI.DOUBLE], [0, 1, 2, 3, 4, 5]),
        ([None, MPI.DOUBLE], []),
        ([np.arange(6.0).view(np.uint8), MPI.DOUBLE], [0, 1, 2, 3, 4, 5]),
        ([np.arange(6.0).view("c16"), 2, 1, MPI.DOUBLE], [1, 2]),
    ],
)
def test_lists_are_read_as_mpi4py_reads_them(vectors_of, buffer, sent):
    total = np.zeros(len(sent))
    vectors = vectors_of(buffer, total)
    assert vectors.send.dtype == np.float64 and vectors.send.tolist() == sent


@pytest.mark.parametrize(
    "buffer",
    [
        np.zeros(2, "i1"), np.zeros(2, "u4"), np.zeros(2, "c8"), np.zeros(2, "?"), np.zeros(2, object), bytearray(8),
        [np.zeros(2), MPI.FLOAT_INT], [np.zeros(2), 1, MPI.BYTE], [np.zeros(2), "u2"],
        array("h", [1, 2]), memoryview(b"ab"),
    ],
)  # fmt: skip
def test_other_types_are_left_to_mpi4py(vectors_of, buffer):
    assert vectors_of(MPI.IN_PLACE, buffer) is vectors_of(buffer, buffer) is None


class OnlyOfCuda:
    """Memory that may be on a device: nobody but mpi4py and MPI may look at it."""

    __cuda_array_interface__ = {"data": (1, False), "typestr": "<f4", "shape": (2,), "version": 0}  # noqa: RUF012


class OnlyOfDLPack:
    """A producer of DLPack, which mpi4py takes over itself."""

    def __dlpack__(self, **named):
        return np.zeros(2, "f4").__dlpack__(**named)


@pytest.mark.parametrize(
    "buffer", [OnlyOfCuda(), [OnlyOfCuda(), MPI.FLOAT], [OnlyOfCuda(), 2, MPI.FLOAT], OnlyOfDLPack()]
)
def test_memory_that_cuda_or_dlpack_alone_describes_is_left_to_mpi4py(vectors_of, buffer):
    assert vectors_of(MPI.IN_PLACE, buffer) is None


def test_types_are_those_of_mpi_whatever_language_names_them(vectors_of):
    named = {
        name: array_of(vectors_of, name).dtype.name
        for name in ("LONG", "LONG_LONG", "INT64_T", "INT", "DOUBLE", "FLOAT")
    }
    assert named == {
        "LONG": "int64", "LONG_LONG": "int64", "INT64_T": "int64", "INT": "int32", "DOUBLE": "float64",
        "FLOAT": "float32",
    }  # fmt: skip


def array_of(vectors_of, name: str) -> np.ndarray:
    return vectors_of(MPI.IN_PLACE, [bytearray(16), getattr(MPI, name)]).recv


def test_tensors_of_pytorch_share_their_memory_and_others_are_refused(vectors_of):
    torch = pytest.importorskip("torch")
    for name in ("float16", "float32", "float64", "int32", "int64", "bfloat16"):
        tensor = torch.zeros(3, dtype=getattr(torch, name))
        vectors_of(MPI.IN_PLACE, tensor).recv[:] = 2
        assert tensor.tolist() == [2, 2, 2], name
    assert vectors_of(MPI.IN_PLACE, torch.zeros(3, dtype=torch.int8)) is None
    with pytest.raises(ValueError, match="sendbuf is in the order of Fortran"):
        vectors_of(torch.zeros(2, 3).t(), torch.zeros(3, 2))
    values = torch.zeros(8, dtype=torch.uint8)
    assert vectors_of(MPI.IN_PLACE, [values, MPI.FLOAT]).recv.tolist() == [0, 0]
    for tensor, words in (
        (torch.zeros(3, device="meta"), "recvbuf is on meta; expected memory of the processor"),
        (torch.zeros(6)[::2], "recvbuf is not contiguous"),
        (torch.zeros(3, requires_grad=True), "requires grad.* Expected a dense, detached tensor"),
        (torch.zeros(3).to_sparse(), "Expected a dense"),
        (torch.zeros(3, dtype=torch.float8_e4m3fn), "of float8_e4m3fn, which neither this package nor mpi4py"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            vectors_of(MPI.IN_PLACE, tensor)


class CopiedByNumpy:
    """A result in what numpy makes of it would never come back."""

    def __array__(self, *arguments, **named) -> np.ndarray:
        return np.zeros(2)


@pytest.mark.parametrize(
    ("sendbuf", "recvbuf", "words"),
    [
        (3, np.zeros(1), r"array or \[array"),
        (np.zeros(1), None, "recvbuf is of type NoneType"),
        (np.zeros(2), np.zeros(3), "sendbuf has 2 elements, recvbuf 3"),
        (np.zeros(2), np.zeros(2, "f4"), "sendbuf is float64, recvbuf float32"),
        ([np.zeros(2), 3], np.zeros(3), "a count of 3 does not fit"),
        ([np.zeros(3), "x y"], np.zeros(3), "no type"),
        ([bytearray(9), MPI.DOUBLE], np.zeros(1), "its type float64 does not"),
        (
            [np.zeros(3), 1, 4, "d"],
            np.zeros(1),
            "3 elements.*4 does not",
        ),
        ([np.zeros(3), 2, 2, "d"], np.zeros(2), "a count of 2 from element 2 on does not fit"),
        ([1.0, 2.0, 3.0], np.zeros(3), "expected \\[array, count, type\\]"),
        (np.zeros(6)[::2], np.zeros(3), "not contiguous"),
        (np.zeros((2, 3), order="F"), np.zeros((2, 3)), "sendbuf is in the order of Fortran"),
        ([np.zeros((2, 3)), MPI.DOUBLE], np.zeros((2, 3), order="F"), "recvbuf in that of Fortran"),
        (np.zeros(3, ">f8"), np.zeros(3, ">f8"), "another byte"),
        ([np.zeros(3), ">f8"], np.zeros(3), "no type"),
        (np.zeros(1), np.float64(0), "type float64.*numpy makes"),
        (np.zeros(2), CopiedByNumpy(), "type CopiedByNumpy.*numpy makes"),
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
