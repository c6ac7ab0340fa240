"""Shared memory for the messages between the ranks of this node: its room, and its names."""

import os
import re
from contextlib import suppress

from ..units import format_size
from . import finding, kernel

MPICH_NAME = re.compile(r" (/dev/shm/mpich_shm_\w+)$", re.MULTILINE)
NEEDED_NBYTES = 7 << 20  # of /dev/shm for each rank, and once: MPICH 5 dies with less, others take less


def small_shared_memory(ranks: int) -> dict | None:
    """Return the finding that /dev/shm has too little room for so many ranks of this node; None: enough, or unknown."""
    try:
        stat = os.statvfs(kernel.ROOT / "dev/shm")
    except OSError:
        return None
    free_nbytes, needed_nbytes = stat.f_bavail * stat.f_frsize, (ranks + 1) * NEEDED_NBYTES
    if free_nbytes >= needed_nbytes:
        return None
    return finding(
        "shared memory",
        "caution",
        f"/dev/shm has {format_size(free_nbytes)} of {format_size(stat.f_blocks * stat.f_frsize)} free",
        "ranks of one node exchange messages there: without room they die, or their messages take TCP",
        f"give the container more, at least {format_size(needed_nbytes)} for {ranks} ranks (docker run --shm-size=1g), "
        "or remove what ended ranks have left there",
    )


def drop_names_of_mpich() -> None:
    """Remove the names of the memory that MPICH shares, once all ranks have it: a rank that is killed leaves none."""
    for path in set(MPICH_NAME.findall(kernel.read("proc/self/maps") or "")):
        with suppress(OSError):  # another rank of this node was first
            os.unlink(path)
