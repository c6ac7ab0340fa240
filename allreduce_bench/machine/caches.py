"""Data caches of this node, and how much a rank touches to evict its vectors from them."""

from typing import NamedTuple

from ..units import format_size, parse_size
from . import finding, kernel

FOLDERS = "sys/devices/system/cpu/cpu[0-9]*/cache/index[0-9]*"
TOUCHED_TIMES = 2  # multiple of a rank's share of a cache: caches do not evict the oldest line first


class Cache(NamedTuple):
    """Data caches of one level."""

    level: int
    size_bytes: int  # of each
    number: int  # count in this node


UNKNOWN = Cache(level=3, size_bytes=64 * 1024**2, number=1)  # if the cache sizes are unknown


def caches() -> list[Cache]:
    """Return the data caches of this node from level 2 up, the last level at the end; empty if unknown."""
    cpus_of_cache: dict[tuple[int, int], set[str]] = {}
    for folder in kernel.matching_paths(FOLDERS):
        level, size_bytes = kernel.read_int(f"{folder}/level") or 0, _parsed_nbytes(kernel.read(f"{folder}/size"))
        if level >= 2 and size_bytes and kernel.read(f"{folder}/type") != "Instruction":
            cpus = kernel.read(f"{folder}/shared_cpu_list") or folder
            cpus_of_cache.setdefault((level, size_bytes), set()).add(cpus)
    return [Cache(level, size_bytes, len(cpus)) for (level, size_bytes), cpus in sorted(cpus_of_cache.items())]


def _parsed_nbytes(text: str | None) -> int:
    try:
        return parse_size(text or "")
    except ValueError:
        return 0


def cold_region(node_caches: list[Cache], ranks: int) -> int:
    """Return the bytes that each of a node's `ranks` has to touch to evict its vectors: twice its share of a level.

    The level with the largest share counts. If `node_caches` is empty, UNKNOWN is assumed.
    """
    return max(TOUCHED_TIMES * cache.size_bytes // max(1, ranks // cache.number) for cache in node_caches or [UNKNOWN])


def unknown_caches() -> dict:
    """Return the finding that cold calls assume the caches of UNKNOWN."""
    size = format_size(UNKNOWN.size_bytes)
    return finding(
        "caches",
        "caution",
        f"cache sizes are unknown; cold calls assume {size} per node",
        "if the caches are larger, a cold call may find its vectors in the cache",
        f"compare cold and warm times at sizes below {size}: cold calls must take longer",
    )
