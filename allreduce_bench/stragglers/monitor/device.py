"""On which device a rank computes, as far as its environment and torch say without being asked to load anything."""

import sys
from collections.abc import Mapping
from typing import Any

VISIBLE = {"CUDA": "CUDA_VISIBLE_DEVICES", "ROCm": "ROCR_VISIBLE_DEVICES", "HIP": "HIP_VISIBLE_DEVICES"}
LOCAL_RANK = "LOCAL_RANK"  # of torchrun: by custom the number of the device among those that are visible
LONGEST = 64  # characters that are kept of a name


def device_of(environ: Mapping[str, str], modules: Mapping[str, Any] = sys.modules) -> str:
    """Such as `CUDA 3`, `cuda:0 5fd4...`, `ROCm GPU-ab12...`; empty: nothing says it.

    The device that torch has already begun to use comes first; then the visible device that LOCAL_RANK counts to. Of
    the environment no more than these variables are read.
    """
    if found := _of_torch(modules.get("torch")):
        return found
    local = environ.get(LOCAL_RANK, "")
    for kind, variable in VISIBLE.items():
        visible = [name.strip() for name in environ.get(variable, "").split(",") if name.strip()]
        if len(visible) == 1:
            return printable(f"{kind} {visible[0]}")
        if local.isdecimal() and int(local) < len(visible):
            return printable(f"{kind} {visible[int(local)]}")
    return ""


def printable(text: str) -> str:
    """One short line that every terminal shows."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:LONGEST])


def _of_torch(torch: Any) -> str:
    cuda = getattr(torch, "cuda", None)
    try:
        if cuda is None or not cuda.is_initialized():
            return ""
        index = cuda.current_device()
        identity = getattr(cuda.get_device_properties(index), "uuid", "")
        return printable(f"cuda:{index} {identity}".strip())
    except (AttributeError, RuntimeError, AssertionError):  # another torch, or a device that does not answer
        return ""
