"""What encloses this process on its node: a container, and the control groups that limit memory and processor time."""

import re
from collections.abc import Iterator, Mapping

from . import kernel

MARKS = {".dockerenv": "docker", "run/.containerenv": "podman"}  # files that container engines leave
VARIABLES = {"APPTAINER_CONTAINER": "apptainer", "SINGULARITY_CONTAINER": "singularity", "CH_RUNNING": "charliecloud"}
GROUPS = re.compile(r"docker|kubepods|containerd|libpod|lxc")
MOUNTED = "sys/fs/cgroup"
# in version 2 and in version 1: the limit, then what is used or the period
MEMORY_FILES = ("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")
CPU_FILES = ("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")
UNLIMITED = 2**60  # and above: what version 1 says for no limit


def container(environ: Mapping[str, str]) -> str | None:
    """The kind of container around this process, such as `docker`; None: none that shows."""
    shown = [kind for mark, kind in MARKS.items() if kernel.exists(mark)]
    shown += [kind for name, kind in VARIABLES.items() if environ.get(name)]
    group = GROUPS.search(kernel.read("proc/self/cgroup") or "")
    return shown[0] if shown else group and group[0]


def memory_left() -> int | None:
    """Bytes that the control groups still allow, what the kernel would give back included; None: no limit."""
    left = []
    for folder, files in _levels("memory", *MEMORY_FILES):
        limit, used = (kernel.read_int(f"{folder}/{file}") for file in files)
        if limit is not None and limit < UNLIMITED and used is not None:
            left.append(max(0, limit - used + _given_back(folder)))
    return min(left, default=None)


def cpu_quota() -> float | None:
    """Cores' worth of time that the control groups allow, such as 1.5; None: no limit."""
    quotas = []
    for folder, files in _levels("cpu", *CPU_FILES):
        words = " ".join(kernel.read(f"{folder}/{file}") or "" for file in files).split()
        if len(words) == 2 and all(word.isdigit() for word in words) and int(words[1]):  # not: max, -1
            quotas.append(int(words[0]) / int(words[1]))
    return min(quotas, default=None)


def _levels(controller: str, unified: tuple, separate: tuple) -> Iterator[tuple[str, tuple]]:
    """(folder, names of its files) of this process' control group and all above it, in version 2 and in version 1."""
    for line in (kernel.read("proc/self/cgroup") or "").splitlines():
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


def _given_back(folder: str) -> int:
    """Bytes of files that were read once and would make room."""
    match = re.search(r"^(?:total_)?inactive_file (\d+)", kernel.read(f"{folder}/memory.stat") or "", re.MULTILINE)
    return int(match[1]) if match else 0
