"""Facts of this node: processor, memory, network, container, clock, versions."""

import os
import platform
import re
import sys
from contextlib import suppress
from itertools import pairwise
from time import perf_counter

from .. import __version__
from . import kernel
from .container import container, cpu_quota, memory_left
from .interfaces import interfaces, port_rates

SIBLINGS = "sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list"
POLICIES = "sys/devices/system/cpu/cpufreq/policy*"  # one for the processors that change their frequency together
READINGS = 1000  # of the clock


def host() -> str:
    """Return the name of this node."""
    return platform.node()


def node_facts() -> dict:
    """Return the facts of this node as JSON values; None: unknown."""
    return {
        "host": host(),
        **_processor(),
        "cores": cores(),
        "threads": os.cpu_count(),
        "governors": governors(),
        "cpu_quota": cpu_quota(),
        "container": container(os.environ),
        "memory_nbytes": memory(),
        "transparent_huge_pages": _transparent_huge_pages(),
        "clock_step_s": clock_step(),
        "port_rates_bytes_per_s": port_rates(),
        "interfaces": [way._asdict() for way in interfaces() if way.address or not way.virtual],
        "kernel": f"{platform.system()} {platform.release()}",
        "libc": _libc(),
        "python": platform.python_version(),
        "packages": {name: sys.modules[name].__version__ for name in ("mpi4py", "numpy") if name in sys.modules},
        "allreduce_bench": __version__,
    }


def _processor() -> dict[str, str | None]:
    """Return its name, and `family 25, model 1, stepping 1` on x86, which names like `AMD EPYC` omit."""
    text = kernel.read("proc/cpuinfo") or ""

    def value(key: str) -> str | None:
        match = re.search(rf"^{key}\s*:\s*(.+)", text, re.MULTILINE)
        return match[1].strip() if match else None

    numbers = {"family": value("cpu family"), "model": value("model"), "stepping": value("stepping")}
    family = ", ".join(f"{word} {number}" for word, number in numbers.items() if number)
    name = value("model name") or platform.processor() or platform.machine()
    return {"processor": name, "processor_family": family or None}


def cores() -> int:
    """Return the cores of this node, regardless of affinity; hardware threads of one core count once."""
    siblings = {kernel.read(path) for path in kernel.matching_paths(SIBLINGS)}
    return len(siblings - {None}) or os.cpu_count() or 1


def affinity() -> frozenset[int] | None:
    """Return the hardware threads that this process may use; None: unknown."""
    with suppress(AttributeError, OSError):
        return frozenset(os.sched_getaffinity(0))
    return None


def governors() -> list[str]:
    """Return the distinct frequency governors of the processors; empty: unknown."""
    kinds = {kernel.read(f"{policy}/scaling_governor") for policy in kernel.matching_paths(POLICIES)}
    return sorted(filter(None, kinds))


def memory() -> int | None:
    """Return the memory of this node in bytes; None: unknown."""
    return _meminfo_nbytes("MemTotal")


def free_memory() -> int | None:
    """Return the bytes available to new buffers without swapping and within the control group; None: unknown."""
    limits_nbytes = (_meminfo_nbytes("MemAvailable"), memory_left())
    return min((size_bytes for size_bytes in limits_nbytes if size_bytes is not None), default=None)


def _meminfo_nbytes(key: str) -> int | None:
    match = re.search(rf"{key}:\s*(\d+) kB", kernel.read("proc/meminfo") or "")
    return int(match[1]) * 1024 if match else None


def _transparent_huge_pages() -> str | None:
    """Return whether the kernel gives them: `always`, `madvise` (if a process asks) or `never`; None: unknown."""
    chosen = re.search(r"\[(\w+)\]", kernel.read("sys/kernel/mm/transparent_hugepage/enabled") or "")
    return chosen and chosen[1]


def _libc() -> str | None:
    """Return the C library, which copies memory, such as `glibc 2.36`; None: unknown."""
    with suppress(AttributeError, ValueError, OSError):
        return os.confstr("CS_GNU_LIBC_VERSION")
    return None


def clock_step() -> float | None:
    """Return the smallest step between readings of perf_counter, seconds: its resolution, or what a reading costs.

    None: it did not advance during READINGS calls.
    """
    readings = [perf_counter() for _ in range(READINGS)]
    return min((later - earlier for earlier, later in pairwise(readings) if later > earlier), default=None)
