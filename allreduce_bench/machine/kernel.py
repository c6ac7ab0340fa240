"""Readers of the kernel's files: any file, the container and its limits, the data caches.

A missing file gives None: no machine has them all. Thousands of ranks read them at their start, so with as few system
calls as possible.
"""

import os
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ..units import format_size, parse_size

# Files
ROOT = Path("/")  # parent of proc/ and sys/; looked up at every call, so that tests can replace it
AT_ONCE = 1 << 16  # bytes of one read


# Containers
ENGINE_FILES = {".dockerenv": "docker", "run/.containerenv": "podman"}  # files that container engines create
ENGINE_VARIABLES = {
    "APPTAINER_CONTAINER": "apptainer",
    "SINGULARITY_CONTAINER": "singularity",
    "CH_RUNNING": "charliecloud",
}
CONTROL_GROUP_OF_CONTAINER = re.compile(r"docker|kubepods|containerd|libpod|lxc")
MOUNTED = "sys/fs/cgroup"
# Version 2 and version 1: the limit, then the usage or the period
MEMORY_FILES = ("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")
CPU_FILES = ("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")
UNLIMITED = 2**60  # this and above: no limit in version 1


# Caches
CACHE_FOLDERS = "sys/devices/system/cpu/cpu[0-9]*/cache/index[0-9]*"
TOUCHED_TIMES = 2  # multiple of a rank's share of a cache: caches do not evict the oldest line first


def read(path: str) -> str | None:
    """Return the text of `path` (such as `proc/meminfo`), stripped; None if it cannot be read."""
    try:
        file = os.open(ROOT / path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        parts = []
        while part := os.read(file, AT_ONCE):
            parts.append(part)
        return b"".join(parts).decode(errors="replace").strip()
    except OSError:
        return None
    finally:
        os.close(file)


def read_lasting(path: str) -> str | None:
    """Return `read(path)`, cached: for files that do not change while a process lives."""
    return kept(ROOT, path)


@lru_cache(maxsize=16)
def kept(root: Path, path: str) -> str | None:
    """Read `path` below `root`, once per process."""
    return read(path)


def read_int(path: str) -> int | None:
    """Return the integer in `path`; None if there is none."""
    try:
        return int(read(path) or "")
    except ValueError:
        return None


def matching_paths(pattern: str) -> list[str]:
    """Return the paths that match, such as `sys/class/net/*`, in alphabetical order."""
    paths = [""]
    for part in pattern.split("/"):
        wild = any(letter in part for letter in "*?[")
        paths = [f"{path}{name}/" for path in paths for name in (_names(path, part) if wild else [part])]
    return sorted(path[:-1] for path in paths if wild or exists(path[:-1]))


def _names(folder: str, pattern: str) -> list[str]:
    try:
        return [name for name in os.listdir(ROOT / folder) if fnmatchcase(name, pattern)]
    except OSError:
        return []


def exists(path: str) -> bool:
    """Return whether the file or folder exists, and is visible to this process."""
    return os.path.exists(ROOT / path)


def container(environ: Mapping[str, str]) -> str | None:
    """Return the kind of container around this process, such as `docker`; None: no sign of one."""
    kinds = [kind for mark, kind in ENGINE_FILES.items() if exists(mark)]
    kinds += [kind for name, kind in ENGINE_VARIABLES.items() if environ.get(name)]
    match = CONTROL_GROUP_OF_CONTAINER.search(read_lasting("proc/self/cgroup") or "")
    return kinds[0] if kinds else match and match[0]


def memory_left() -> int | None:
    """Return the bytes that the control groups still allow, including reclaimable memory; None: no limit."""
    left_nbytes = []
    for folder, files in _control_groups("memory", *MEMORY_FILES):
        limit, used = (read_int(f"{folder}/{file}") for file in files)
        if limit is not None and limit < UNLIMITED and used is not None:
            left_nbytes.append(max(0, limit - used + _reclaimable(folder)))
    return min(left_nbytes, default=None)


def cpu_quota() -> float | None:
    """Return the cores' worth of time that the control groups allow, such as 1.5; None: no limit."""
    quotas = []
    for folder, files in _control_groups("cpu", *CPU_FILES):
        numbers = " ".join(read(f"{folder}/{file}") or "" for file in files).split()
        if len(numbers) == 2 and all(number.isdigit() for number in numbers) and int(numbers[1]):  # excludes max and -1
            quotas.append(int(numbers[0]) / int(numbers[1]))
    return min(quotas, default=None)


def _control_groups(controller: str, unified: tuple, separate: tuple) -> Iterator[tuple[str, tuple]]:
    """Yield (folder, names of its files) of this process's control group and all its parents, in versions 2 and 1."""
    for line in (read_lasting("proc/self/cgroup") or "").splitlines():
        controllers, _, path = line.partition(":")[2].partition(":")
        if not controllers:
            mounted, files = [MOUNTED, f"{MOUNTED}/unified"], unified
        elif controller in controllers.split(","):
            mounted, files = [f"{MOUNTED}/{controller}"], separate
        else:
            continue
        parts = [part for part in path.split("/") if part and part != ".."]
        for root in mounted:
            for depth in range(len(parts), -1, -1):
                yield "/".join([root, *parts[:depth]]), files


def _reclaimable(folder: str) -> int:
    """Return the bytes of cached files, which the kernel frees when memory is needed."""
    match = re.search(r"^(?:total_)?inactive_file (\d+)", read(f"{folder}/memory.stat") or "", re.MULTILINE)
    return int(match[1]) if match else 0


class Cache(NamedTuple):
    """Data caches of one level."""

    level: int
    size_bytes: int  # of each
    number: int  # count in this node


UNKNOWN = Cache(level=3, size_bytes=64 * 1024**2, number=1)  # if the cache sizes are unknown


def caches() -> list[Cache]:
    """Return the data caches of this node from level 2 up, the last level at the end; empty if unknown."""
    cpus_of_cache: dict[tuple[int, int], set[str]] = {}
    for folder in matching_paths(CACHE_FOLDERS):
        level, size_bytes = read_int(f"{folder}/level") or 0, _parsed_nbytes(read(f"{folder}/size"))
        if level >= 2 and size_bytes and read(f"{folder}/type") != "Instruction":
            cpus_of_cache.setdefault((level, size_bytes), set()).add(read(f"{folder}/shared_cpu_list") or folder)
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


def cache_findings(node_caches: list[Cache]) -> list[dict]:
    """Return the finding for cold calls on a node with unknown caches; empty if they are known."""
    if node_caches:
        return []
    size = format_size(UNKNOWN.size_bytes)
    return [
        {
            "code": "caches",
            "level": "caution",
            "text": f"cache sizes are unknown; cold calls assume {size} per node",
            "effect": "if the caches are larger, a cold call may find its vectors in the cache",
            "advice": f"compare cold and warm times at sizes below {size}: cold calls must take longer",
        }
    ]
