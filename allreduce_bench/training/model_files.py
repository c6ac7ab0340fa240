"""The tensors of files that hold the weights of a model: safetensors, and state dicts of torch.

Only names, shapes and types are read, and nothing in a file is run. Buffers and integers have no gradient, and are left
out. A safetensors file is sorted by names, so its order is not the order of registration.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from zipfile import is_zipfile

from ..runs.files import open_given
from .tensors import ModelError

LONGEST_HEADER = 16 * 2**20  # bytes: of a hundred thousand tensors
TYPES = {"F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64"}  # of safetensors
INTEGER = re.compile(r"[IU]\d+|BOOL")
BUFFER = re.compile(r"(?:.*\.)?running_(?:mean|var)")  # of a batch norm

Tensor = tuple[str, str, str]  # name, shape such as 64x3x7x7, type


def read_safetensors(path: Path) -> Iterator[Tensor]:
    """Yield the tensors in the header of the file: 8 bytes with its length, little-endian, then JSON.

    Raises ModelError, OSError.
    """
    with open_given(path) as file:
        length = int.from_bytes(file.read(8), "little")
        header = file.read(length) if length <= LONGEST_HEADER else b""
    try:
        entries = json.loads(header) if length == len(header) else None
    except (ValueError, RecursionError):
        entries = None
    if not isinstance(entries, dict):
        raise ModelError(f"{path}: damaged, or no safetensors file: expected the length of a JSON header in 8 bytes")
    for name, entry in entries.items():
        if name == "__metadata__":
            continue
        if not isinstance(entry, dict) or not isinstance(entry.get("shape"), list):
            raise ModelError(f"{path}, tensor {name[:40]!r}: expected an object with dtype and shape")
        dtype = str(entry.get("dtype"))
        if not (INTEGER.fullmatch(dtype) or BUFFER.fullmatch(name)):
            yield name, _shape(entry["shape"]), TYPES.get(dtype, dtype)


def read_state_dict(path: Path) -> Iterator[Tensor]:
    """Yield the tensors of a state dict that torch.save wrote, alone or in a dictionary; shared ones once.

    Raises ModelError, also without torch; OSError.
    """
    try:
        import torch  # late: it takes seconds, and few need it
    except ImportError as error:
        raise ModelError(f"{path}: torch reads it, and is not installed; write 'NAME 64x3x7x7' in each line") from error
    try:
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=is_zipfile(path))
    except OSError:
        raise
    except Exception as error:  # whatever a damaged file, or one with code in it, makes torch raise
        raise ModelError(
            f"{path}: torch cannot read it without running code in it (weights_only); expected what "
            "torch.save(model.state_dict(), FILE) writes"
        ) from error
    dictionaries = [content, *content.values()] if isinstance(content, dict) else []
    found = [each for each in dictionaries if isinstance(each, dict) and any(map(torch.is_tensor, each.values()))]
    seen = set()
    for name, tensor in found[0].items() if found else ():
        if not torch.is_tensor(tensor) or not tensor.is_floating_point() or BUFFER.fullmatch(str(name)):
            continue
        place = tensor.data_ptr(), tensor.shape, tensor.stride()
        if place not in seen:
            seen.add(place)
            yield str(name), _shape(tensor.shape), str(tensor.dtype)


def _shape(lengths: Iterable[object]) -> str:
    return "x".join(map(str, lengths))


READERS = {".safetensors": read_safetensors, ".pt": read_state_dict, ".pth": read_state_dict, ".bin": read_state_dict}
