"""What elements a producer of DLPack has, without taking its memory over: mpi4py then takes it as it does itself.

Its capsule points to a DLTensor { void *data; int32 device_type, device_id, ndim; uint8 code, bits; uint16 lanes; … },
which since version 1 stands behind { uint32 major, minor; void *context, *deleter; uint64 flags } (dlpack.h).
"""

import ctypes
import struct
from typing import Any

from ..runs.dtypes import DTYPES

ON_PROCESSOR = (1, 3, 11, 13)  # devices: the processor, and memory of others that it reaches
KINDS = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}  # by the code of a type
OFFSETS = {b"dltensor": 20, b"dltensor_versioned": 52}  # bytes before the code

_name_of = ctypes.pythonapi.PyCapsule_GetName
_name_of.restype, _name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def dtype_of_dlpack(producer: Any, name: str) -> str | None:
    """The name in DTYPES of the elements of `producer`; None: of another type, left to mpi4py.

    Raises ValueError for memory on a device, or that is not given away; TypeError for a type that mpi4py takes for
    bytes. `name` is that of the argument.
    """
    try:
        device, number = producer.__dlpack_device__()
        if device not in ON_PROCESSOR:
            raise on_device(name, f"device {int(device)}:{number} of DLPack")
        try:
            capsule = producer.__dlpack__(max_version=(1, 0), copy=False)
        except TypeError:  # of before version 1
            capsule = producer.__dlpack__()
    except BufferError as error:
        raise ValueError(f"Allreduce: {name}: {str(error).splitlines()[0]}") from None
    label = _name_of(capsule)
    code, bits, lanes = struct.unpack("=BBH", ctypes.string_at(_pointer_of(capsule, label) + OFFSETS[label], 4))
    if code not in KINDS or lanes != 1:
        raise TypeError(
            f"Allreduce: {name} has elements of code {code} of DLPack, {bits} bits in {lanes} lanes, which "
            "neither this package nor mpi4py reduces"
        )
    return dtype if (dtype := f"{KINDS[code]}{bits}") in DTYPES else None


def on_device(name: str, device: str) -> ValueError:
    """The error for an argument that is on a device."""
    return ValueError(
        f"Allreduce: {name} is on {device}; expected memory of the processor: copy it there, "
        "or call mpi4py's own Allreduce where MPI knows the device"
    )
