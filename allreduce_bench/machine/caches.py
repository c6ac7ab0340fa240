"""The data caches of this node, and the bytes a rank must touch to evict everything else."""

from typing import NamedTuple

from ..units import format_size, parse_size
from . import kernel

FOLDERS = "sys/devices/system/cpu/cpu[0-9]*/cache/index[0-9]*"
TOUCHED_TIMES = 2  # a rank's share of a cache: caches do not replace the oldest line first


class Cache(NamedTuple):
    """One level of data caches."""

    level: int
    nbytes: int  # of each of them
    number: int  # of them in this node


UNKNOWN = Cache(level=3, nbytes=64 * 1024**2, number=1)  # if the cache sizes are unknown


def caches() -> list[Cache]:
    """The data caches of this node from level 2 on, the last level at the end; empty if unknown."""
    cpus_of_cache: dict[tuple[int, int], set[str]] = {}
    for folder in kernel.matching_paths(FOLDERS):
        level, nbytes = kernel.read_int(f"{folder}/level") or 0, _parsed_nbytes(kernel.read(f"{folder}/size"))
        if level >= 2 and nbytes and kernel.read(f"{folder}/type") != "Instruction":
            cpus_of_cache.setdefault((level, nbytes), set()).add(kernel.read(f"{folder}/shared_cpu_list") or folder)
    return [Cache(level, nbytes, len(cpus)) for (level, nbytes), cpus in sorted(cpus_of_cache.items())]


def cold_region(node_caches: list[Cache], ranks: int) -> int:
    """Bytes that each of `ranks` ranks of a node has to touch: twice its share of whichever level takes most.

    Where `node_caches` is empty, UNKNOWN is supposed.
    """
    return max(TOUCHED_TIMES * cache.nbytes // max(1, ranks // cache.number) for cache in node_caches or [UNKNOWN])


def cache_findings(node_caches: list[Cache]) -> list[dict]:
    """The finding that labels cold calls on a node whose caches are not known; empty where they are."""
    if node_caches:
        return []
    size = format_size(UNKNOWN.nbytes)
    return [
        {
            "code": "caches",
            "level": "caution",
            "text": f"cache sizes are unknown; cold calls assume {size} per node",
            "effect": "if the caches are larger, a cold call may find its vectors in the cache",
            "advice": f"compare cold and warm times at sizes below {size}: cold calls must take longer",
        }
    ]


def _parsed_nbytes(text: str | None) -> int:
    try:
        return parse_size(text or "")
    except ValueError:
        return 0
