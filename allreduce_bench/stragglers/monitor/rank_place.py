"""Where a rank runs: the clock that it reads, and its device, as far as its environment and torch tell.

Nothing is loaded for it.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...units import printable

VISIBLE_DEVICES = {"CUDA": "CUDA_VISIBLE_DEVICES", "ROCm": "ROCR_VISIBLE_DEVICES", "HIP": "HIP_VISIBLE_DEVICES"}
LOCAL_RANK = "LOCAL_RANK"  # of torchrun: by convention the index among the visible devices
LONGEST_NAME = 64  # characters that are kept of a name


def read_kernel() -> str:
    """Identify the clock that processes share: the running kernel, and its time namespace."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        time_of = Path("/proc/self/timens_offsets")
        return f"{boot} {time_of.read_text() if time_of.exists() else ''}"
    except OSError:
        return ""


def find_device(environ: Mapping[str, str], modules: Mapping[str, Any] = sys.modules) -> str:
    """Return a device such as `CUDA 3`, `cuda:0 5fd4...`, `ROCm GPU-ab12...`; empty if unknown.

    A device that torch already uses comes first; then the visible device with index LOCAL_RANK. Of the environment only
    these variables are read.
    """
    if found := _torch_device(modules.get("torch")):
        return found
    local = environ.get(LOCAL_RANK, "")
    for kind, variable in VISIBLE_DEVICES.items():
        visible = [name.strip() for name in environ.get(variable, "").split(",") if name.strip()]
        if len(visible) == 1:
            return shorten(f"{kind} {visible[0]}")
        if local.isdecimal() and int(local) < len(visible):
            return shorten(f"{kind} {visible[int(local)]}")
    return ""


def shorten(text: str) -> str:
    """Return so much of a name as is kept, printable."""
    return printable(text[:LONGEST_NAME])


def _torch_device(torch: Any) -> str:
    cuda = getattr(torch, "cuda", None)
    try:
        if cuda is None or not cuda.is_initialized():
            return ""
        index = cuda.current_device()
        identity = getattr(cuda.get_device_properties(index), "uuid", "")
        return shorten(f"cuda:{index} {identity}".strip())
    except (AttributeError, RuntimeError, AssertionError):  # another torch, or an unresponsive device
        return ""
