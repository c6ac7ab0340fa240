"""What is known of a node, and that whatever it does not tell costs nothing but that."""

import json
import os
from types import SimpleNamespace

import pytest

from allreduce_bench.machine import node
from allreduce_bench.machine.shared_memory import small_shared_memory

CPU = "sys/devices/system/cpu"
MEMINFO = "MemTotal:  1000 kB\nMemFree: 10 kB\nMemAvailable:   600 kB"


def test_this_node_is_described_in_json():
    facts = node.node_facts()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["host"] and 1 <= facts["cores"] <= facts["threads"] == os.cpu_count()
    assert 0 < node.free_memory() < facts["memory_nbytes"] and facts["clock_step_s"] < 1e-3
    assert "127.0.0.1" in [one["address"] for one in facts["interfaces"]]
    assert node.affinity() == frozenset(os.sched_getaffinity(0))


def test_a_node_that_tells_nothing_is_described_all_the_same(root, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.delattr("socket.if_nameindex")
    facts = node.node_facts()
    unknown = ("processor_family", "cpu_quota", "memory_nbytes", "transparent_huge_pages", "container")
    assert [facts[name] for name in unknown] == [None] * len(unknown)
    assert facts["interfaces"] == facts["governors"] == [] and facts["port_rates_bytes_per_s"] == {}
    assert facts["cores"] == os.cpu_count() and facts["processor"]
    assert node.affinity() is node.free_memory() is small_shared_memory(2) is None


@pytest.mark.parametrize("gone", ["proc", "sys", "proc/cpuinfo", "proc/meminfo", "proc/self/cgroup"])
def test_each_thing_that_is_taken_away_leaves_the_others(put, gone):
    for path, text in {
        "proc/cpuinfo": "cpu family\t: 25\nmodel\t\t: 1\nmodel name\t: A Processor\nstepping\t: 0",
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": "0::/job",
        "sys/fs/cgroup/job/cpu.max": "150000 100000",
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
        f"{CPU}/cpufreq/policy0/scaling_governor": "powersave",
    }.items():
        if not path.startswith(gone):
            put(path, text)
    facts = node.node_facts()
    told = facts["processor"] == "A Processor" and facts["processor_family"] == "family 25, model 1, stepping 0"
    assert told == (gone not in ("proc", "proc/cpuinfo"))
    assert (facts["memory_nbytes"] == 1024000) == (gone not in ("proc", "proc/meminfo"))
    assert (facts["cpu_quota"] == 1.5) == (gone not in ("proc", "sys", "proc/self/cgroup"))
    assert (facts["governors"] == ["powersave"]) == (gone != "sys")
    assert (facts["transparent_huge_pages"] == "madvise") == (gone != "sys")


def test_hardware_threads_of_one_core_and_equal_governors_count_once(put):
    for cpu, siblings in enumerate(("0,2", "1,3", "0,2", "1,3")):
        put(f"{CPU}/cpu{cpu}/topology/thread_siblings_list", siblings)
    for cpu, kind in enumerate(("powersave", "performance", "powersave")):
        put(f"{CPU}/cpufreq/policy{cpu}/scaling_governor", kind)
    assert node.cores() == 2 and node.governors() == ["performance", "powersave"]


def test_free_memory_is_what_the_node_and_every_control_group_allow(put):
    put("proc/meminfo", MEMINFO)
    put("proc/self/cgroup", "0::/")
    put("sys/fs/cgroup/memory.current", 5)
    for limit, free_nbytes in ((10**12, 614400), (200_005, 200_000)):
        put("sys/fs/cgroup/memory.max", limit)
        assert (node.memory(), node.free_memory()) == (1024000, free_nbytes)


def test_the_clock_is_measured(monkeypatch):
    ticks = iter(range(10**6))
    monkeypatch.setattr(node, "perf_counter", lambda: (next(ticks) // 4) * 8e-6)
    assert node.clock_step() == pytest.approx(8e-6)
    monkeypatch.setattr(node, "perf_counter", lambda: 1.0)
    assert node.clock_step() is None


@pytest.mark.parametrize(("blocks", "ranks", "is_small"), [(16, 2, True), (16384, 8, False), (16384, 12, True)])
def test_little_shared_memory_is_told_with_the_remedy(root, monkeypatch, blocks, ranks, is_small):
    """64 KiB, and what Docker gives."""
    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_bavail=blocks, f_blocks=blocks, f_frsize=4096))
    small = small_shared_memory(ranks)
    assert bool(small) == is_small
    if small:
        assert small["text"].startswith("/dev/shm has ") and "--shm-size" in small["advice"]
