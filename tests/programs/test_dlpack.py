"""Producers of DLPack: the type of their elements, and their memory, of both versions of the protocol."""

import numpy as np
import pytest

pytest.importorskip("mpi4py.MPI", exc_type=ImportError)

from has_message import message_pattern
from mpi4py import MPI  # noqa: E402


class Produced:
    """A producer of DLPack alone, on a device."""

    def __init__(self, values: np.ndarray, device: int = 1):
        self.values, self.device = values, device

    def __dlpack__(self, **named):
        return self.values.__dlpack__(**named)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0


def test_producers_of_dlpack_share_their_memory(vectors_of):
    values = np.zeros(3, "f4")
    assert np.shares_memory(vectors_of(MPI.IN_PLACE, Produced(values)).recv, values)
    assert vectors_of(MPI.IN_PLACE, Produced(np.zeros(3, "i2"))) is None
    with pytest.raises(
        ValueError,
        match=message_pattern(
            "programs.allreduce_expected_memory_processor", name="recvbuf", device="device 2:0 of DLPack"
        ),
    ):
        vectors_of(MPI.IN_PLACE, Produced(values, device=2))


class OfBefore(Produced):
    """One of before version 1 of the protocol."""

    def __dlpack__(self):
        return self.values.__dlpack__()


@pytest.mark.parametrize("kind", [Produced, OfBefore])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64"])
def test_types_are_read_from_the_capsule(dtype_of_dlpack, kind, dtype):
    assert dtype_of_dlpack(kind(np.zeros((2, 3), dtype)), "sendbuf") == dtype
    assert dtype_of_dlpack(kind(np.zeros(2, "c8")), "sendbuf") is None


def test_what_cannot_be_given_away_is_refused_with_its_reason(vectors_of, dtype_of_dlpack):
    values = np.zeros(4, "f4")
    with pytest.raises(
        (TypeError, ValueError),
        match=message_pattern("programs.allreduce_type_does_not", dtype="float32", found="Produced"),
    ):
        vectors_of(MPI.IN_PLACE, Produced(values[::2]))
    torch = pytest.importorskip("torch")
    assert dtype_of_dlpack(torch.zeros(3, dtype=torch.bfloat16), "sendbuf") == "bfloat16"
    with pytest.raises(ValueError, match="recvbuf: .*require gradient, use tensor.detach"):
        dtype_of_dlpack(torch.zeros(3, requires_grad=True), "recvbuf")
    with pytest.raises(TypeError, match=message_pattern("programs.allreduce_elements_code_dlpack", bits=8, lanes=1)):
        dtype_of_dlpack(torch.zeros(3, dtype=torch.float8_e4m3fn), "recvbuf")
