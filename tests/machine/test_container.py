"""Containers and control groups, in both versions."""

import pytest

from allreduce_bench.machine import kernel


@pytest.mark.parametrize("path", ["/job/step", "/", "/not/mounted/here/job"])
def test_version_1_of_control_groups_is_read_too(put, path):
    put("proc/self/cgroup", f"9:name=systemd:/\n4:memory:{path}\n1:cpu,cpuacct:{path}\n0::/")
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", 9223372036854771712)
    put("sys/fs/cgroup/memory/memory.usage_in_bytes", 5000)
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", -1)
    put("sys/fs/cgroup/cpu/cpu.cfs_period_us", 100000)
    assert kernel.memory_left() is None and kernel.cpu_quota() is None
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", 8000)
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", 250000)
    assert kernel.memory_left() == 3000 and kernel.cpu_quota() == 2.5


def test_the_tightest_quota_of_all_levels_counts(put):
    put("proc/self/cgroup", "0::/pod/box")
    put("sys/fs/cgroup/pod/box/cpu.max", "max 100000")
    assert kernel.cpu_quota() is None
    put("sys/fs/cgroup/pod/cpu.max", "50000 100000")
    put("sys/fs/cgroup/pod/box/cpu.max", "400000 100000")
    assert kernel.cpu_quota() == 0.5


@pytest.mark.parametrize(
    ("path", "text", "environ", "kind"),
    [
        (".dockerenv", "", {}, "docker"),
        ("run/.containerenv", "", {}, "podman"),
        ("proc/self/cgroup", "0::/kubepods/besteffort/pod1", {}, "kubepods"),
        ("etc/hostname", "n1", {"APPTAINER_CONTAINER": "/image.sif"}, "apptainer"),
        ("proc/self/cgroup", "0::/user.slice", {}, None),
    ],
)
def test_containers_show(put, path, text, environ, kind):
    put(path, text)
    assert kernel.container(environ) == kind
