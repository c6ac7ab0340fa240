"""The container of this process, and the control groups that limit memory and CPU time."""

import re
from collections.abc import Iterator, Mapping

from . import kernel

MARKS = {".dockerenv": "docker", "run/.containerenv": "podman"}  # files that container engines create
VARIABLES = {"APPTAINER_CONTAINER": "apptainer", "SINGULARITY_CONTAINER": "singularity", "CH_RUNNING": "charliecloud"}
CONTROL_GROUP_OF_CONTAINER = re.compile(r"docker|kubepods|containerd|libpod|lxc")
MOUNTED = "sys/fs/cgroup"
# in version 2 and in version 1: the limit, then what is used or the period
MEMORY_FILES = ("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")
CPU_FILES = ("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")
UNLIMITED = 2**60  # and above: what version 1 says for no limit


def container(environ: Mapping[str, str]) -> str | None:
    """The kind of container around this process, such as `docker`; None: no sign of one."""
    kinds = [kind for mark, kind in MARKS.items() if kernel.exists(mark)]
    kinds += [kind for name, kind in VARIABLES.items() if environ.get(name)]
    match = CONTROL_GROUP_OF_CONTAINER.search(kernel.read_lasting("proc/self/cgroup") or "")
    return kinds[0] if kinds else match and match[0]


def memory_left() -> int | None:
    """Bytes that the control groups still allow, including reclaimable memory; None: no limit."""
    left_nbytes = []
    for folder, files in _control_groups("memory", *MEMORY_FILES):
        limit, used = (kernel.read_int(f"{folder}/{file}") for file in files)
        if limit is not None and limit < UNLIMITED and used is not None:
            left_nbytes.append(max(0, limit - used + _reclaimable(folder)))
    return min(left_nbytes, default=None)


def cpu_quota() -> float | None:
    """Cores' worth of time that the control groups allow, such as 1.5; None: no limit."""
    quotas = []
    for folder, files in _control_groups("cpu", *CPU_FILES):
        numbers = " ".join(kernel.read(f"{folder}/{file}") or "" for file in files).split()
        if len(numbers) == 2 and all(number.isdigit() for number in numbers) and int(numbers[1]):  # not: max, -1
            quotas.append(int(numbers[0]) / int(numbers[1]))
    return min(quotas, default=None)


def _control_groups(controller: str, unified: tuple, separate: tuple) -> Iterator[tuple[str, tuple]]:
    """(folder, names of its files) of this process' control group and all above it, in version 2 and in version 1."""
    for line in (kernel.read_lasting("proc/self/cgroup") or "").splitlines():
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
    """Bytes of cached files, which the kernel frees when memory is needed."""
    match = re.search(r"^(?:total_)?inactive_file (\d+)", kernel.read(f"{folder}/memory.stat") or "", re.MULTILINE)
    return int(match[1]) if match else 0
