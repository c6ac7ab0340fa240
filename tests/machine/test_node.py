"""What is known of a node, and that whatever it does not tell costs nothing but that."""

import json
import os

import pytest

from allreduce_bench.machine import container, node
from allreduce_bench.machine.node import free_memory, huge_pages, memory

MEMINFO = "MemTotal:  1000 kB\nMemFree: 10 kB\nMemAvailable:   600 kB\nHugePages_Total:      3\n"


def test_this_node_is_described_in_json():
    facts = node.node_facts()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["host"] and 1 <= facts["cores"] <= facts["threads"] == os.cpu_count()
    assert 0 < facts["free_memory_nbytes"] < facts["memory_nbytes"]
    assert "127.0.0.1" in [one["address"] for one in facts["interfaces"]]
    assert node.affinity() == frozenset(os.sched_getaffinity(0))


def test_a_node_that_tells_nothing_is_described_all_the_same(root, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.delattr(os, "getloadavg")
    monkeypatch.delattr("socket.if_nameindex")
    facts = node.node_facts()
    unknown = ("load_1min", "cpu_quota", "memory_nbytes", "free_memory_nbytes", "huge_pages", "container")
    assert [facts[name] for name in unknown] == [None] * len(unknown)
    assert facts["interfaces"] == facts["governors"] == facts["fabric_devices"] == []
    assert facts["cores"] == os.cpu_count() and facts["processor"]
    assert node.affinity() is None


@pytest.mark.parametrize("gone", ["proc", "sys", "proc/cpuinfo", "proc/meminfo", "proc/self/cgroup", "sys/class/net"])
def test_each_thing_that_is_taken_away_leaves_the_others(put, gone):
    for path, text in {
        "proc/cpuinfo": "model name\t: A Processor",
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "0::/job",
        "sys/fs/cgroup/job/cpu.max": "150000 100000",
        "sys/class/net/lo/speed": "",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave",
    }.items():
        if not path.startswith(gone):
            put(path, text)
    facts = node.node_facts()
    assert (facts["processor"] == "A Processor") == (gone not in ("proc", "proc/cpuinfo"))
    assert (facts["memory_nbytes"] == 1024000) == (gone not in ("proc", "proc/meminfo"))
    assert (facts["cpu_quota"] == 1.5) == (gone not in ("proc", "sys", "proc/self/cgroup"))
    assert (facts["governors"] == ["powersave"]) == (gone != "sys")


def test_hardware_threads_of_one_core_count_once(put):
    for cpu, siblings in enumerate(("0,2", "1,3", "0,2", "1,3")):
        put(f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", siblings)
    assert node.cores() == 2


def test_governors_are_named_once(put):
    for cpu, kind in enumerate(("powersave", "performance", "powersave")):
        put(f"sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor", kind)
    assert node.node_facts()["governors"] == ["performance", "powersave"]


def test_memory_is_what_the_node_and_every_control_group_allow(put):
    put("proc/meminfo", MEMINFO)
    assert (memory(), free_memory()) == (1024000, 614400)
    put("proc/self/cgroup", "0::/job/step")
    for folder, limit, used in (("job", 500_000, 300_000), ("job/step", "max", 100_000)):
        put(f"sys/fs/cgroup/{folder}/memory.max", limit)
        put(f"sys/fs/cgroup/{folder}/memory.current", used)
    assert container.memory_left() == free_memory() == 200_000
    put("sys/fs/cgroup/job/memory.stat", "anon 5\ninactive_file 50000\nactive_file 7")
    assert free_memory() == 250_000
    put("sys/fs/cgroup/job/memory.current", 600_000)
    assert free_memory() == 0


def test_a_control_group_that_allows_more_than_there_is_does_not_make_memory(put):
    put("proc/meminfo", MEMINFO)
    put("proc/self/cgroup", "0::/")
    put("sys/fs/cgroup/memory.max", 10**12)
    put("sys/fs/cgroup/memory.current", 5)
    assert free_memory() == 614400


def test_huge_pages_are_as_chosen(put):
    assert huge_pages() is None
    put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")
    assert huge_pages() == {"transparent": "madvise", "reserved": None}
    put("proc/meminfo", MEMINFO)
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


def test_only_variables_on_the_list_are_read():
    environ = {"OMPI_MCA_btl": "tcp", "AWS_SECRET": "x", "SLURM_JOB_ID": "7", "OMPI_MCA_initial_wdir": "/home"}
    assert node.allowed_variables(environ) == {"OMPI_MCA_btl": "tcp", "SLURM_JOB_ID": "7"}
