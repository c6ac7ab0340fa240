"""The memory of this node: how much there is, how much of it new buffers may take, and in which pages."""

import re

from . import enclosure, kernel


def memory() -> int | None:
    """Bytes of this node; None where the system does not tell."""
    return _meminfo("MemTotal")


def free_memory() -> int | None:
    """Bytes that new buffers can take without swapping and within the control group; None where nothing tells."""
    told = [nbytes for nbytes in (_meminfo("MemAvailable"), enclosure.memory_left()) if nbytes is not None]
    return min(told, default=None)


def huge_pages() -> dict | None:
    """{"transparent": `always`, `madvise` or `never`, "reserved": number of pages}; None where nothing tells."""
    chosen = re.search(r"\[(\w+)\]", kernel.read("sys/kernel/mm/transparent_hugepage/enabled") or "")
    reserved = re.search(r"HugePages_Total:\s*(\d+)", kernel.read("proc/meminfo") or "")
    if not chosen and not reserved:
        return None
    return {"transparent": chosen and chosen[1], "reserved": reserved and int(reserved[1])}


def _meminfo(key: str) -> int | None:
    match = re.search(rf"{key}:\s*(\d+) kB", kernel.read("proc/meminfo") or "")
    return int(match[1]) * 1024 if match else None
