"""The container around this process, and what its control groups allow, in versions 1 and 2."""

import re
from collections.abc import Iterator, Mapping

from . import kernel

ENGINE_FILES = {".dockerenv": "docker", "run/.containerenv": "podman"}  # files that container engines create
ENGINE_VARIABLES = {
    "APPTAINER_CONTAINER": "apptainer",
    "SINGULARITY_CONTAINER": "singularity",
    "CH_RUNNING": "charliecloud",
}
GROUP_OF_CONTAINER = re.compile(r"docker|kubepods|containerd|libpod|lxc")
GROUPS = "proc/self/cgroup"
MOUNTED = "sys/fs/cgroup"
UNLIMITED = 2**60  # this and above: no limit in version 1


def container(environ: Mapping[str, str]) -> str | None:
    """Return the kind of container around this process, such as `docker`; None: no sign of one."""
    kinds = [kind for mark, kind in ENGINE_FILES.items() if kernel.exists(mark)]
    kinds += [kind for name, kind in ENGINE_VARIABLES.items() if environ.get(name)]
    match = GROUP_OF_CONTAINER.search(kernel.read_once(GROUPS) or "")
    return kinds[0] if kinds else match and match[0]


def cpu_quota() -> float | None:
    """Return the cores' worth of time that the control groups allow, such as 1.5; None: no limit."""
    quotas = []
    for folder, is_unified in _control_groups("cpu"):
        files = ("cpu.max",) if is_unified else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        numbers = " ".join(kernel.read(f"{folder}/{file}") or "" for file in files).split()
        if len(numbers) == 2 and all(number.isdigit() for number in numbers) and int(numbers[1]):  # excludes max and -1
            quotas.append(int(numbers[0]) / int(numbers[1]))
    return min(quotas, default=None)


def memory_left() -> int | None:
    """Return the bytes that the control groups still allow, including reclaimable memory; None: no limit."""
    left_nbytes = []
    for folder, is_unified in _control_groups("memory"):
        files = ("max", "current") if is_unified else ("limit_in_bytes", "usage_in_bytes")
        limit, used = (kernel.read_int(f"{folder}/memory.{file}") for file in files)
        if limit is not None and limit < UNLIMITED and used is not None:
            stat = kernel.read(f"{folder}/memory.stat") or ""
            cached = re.search(r"^(?:total_)?inactive_file (\d+)", stat, re.MULTILINE)  # freed when it is needed
            left_nbytes.append(max(0, limit - used + (int(cached[1]) if cached else 0)))
    return min(left_nbytes, default=None)


def _control_groups(controller: str) -> Iterator[tuple[str, bool]]:
    """Yield (folder, whether it is of version 2) of this process's control group and of all its parents."""
    for line in (kernel.read_once(GROUPS) or "").splitlines():
        controllers, _, path = line.partition(":")[2].partition(":")
        if controllers and controller not in controllers.split(","):
            continue
        parts = [part for part in path.split("/") if part and part != ".."]
        root = f"{MOUNTED}/{controller}" if controllers else MOUNTED
        for depth in range(len(parts), -1, -1):
            yield "/".join([root, *parts[:depth]]), not controllers
