"""Containers and control groups, in both versions."""

import pytest

from allreduce_bench.machine.container import container, cpu_quota, memory_left


@pytest.mark.parametrize("path", ["/job/step", "/", "/not/mounted/here/job"])
def test_version_1_of_control_groups_is_read_too(put, path):
    put("proc/self/cgroup", f"9:name=systemd:/\n4:memory:{path}\n1:cpu,cpuacct:{path}\n0::/")
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", 9223372036854771712)
    put("sys/fs/cgroup/memory/memory.usage_in_bytes", 5000)
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", -1)
    put("sys/fs/cgroup/cpu/cpu.cfs_period_us", 100000)
    assert memory_left() is None and cpu_quota() is None
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", 8000)
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", 250000)
    assert memory_left() == 3000 and cpu_quota() == 2.5


def test_the_tightest_limit_of_all_levels_counts_and_cached_files_are_free(put):
    put("proc/self/cgroup", "0::/pod/box")
    put("sys/fs/cgroup/pod/box/cpu.max", "max 100000")
    assert cpu_quota() is None and memory_left() is None
    put("sys/fs/cgroup/pod/cpu.max", "50000 100000")
    put("sys/fs/cgroup/pod/box/cpu.max", "400000 100000")
    assert cpu_quota() == 0.5
    for folder, limit, used in (("pod", 500_000, 300_000), ("pod/box", "max", 100_000)):
        put(f"sys/fs/cgroup/{folder}/memory.max", limit)
        put(f"sys/fs/cgroup/{folder}/memory.current", used)
    assert memory_left() == 200_000
    put("sys/fs/cgroup/pod/memory.stat", "anon 5\ninactive_file 50000\nactive_file 7")
    assert memory_left() == 250_000
    put("sys/fs/cgroup/pod/memory.current", 600_000)
    assert memory_left() == 0


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
    assert container(environ) == kind
