"""Which caches a node has, and how much a rank has to touch for cold calls."""

import pytest

from allreduce_bench.machine.caches import UNKNOWN, Cache, caches, cold_region, unknown_caches

KIB, MIB = 1024, 1024**2


def put_caches(put, cpu: int, *found: tuple) -> None:
    """Write the caches of a processor: (level, type, size, who shares it)."""
    for index, values in enumerate(found):
        for name, value in zip(("level", "type", "size", "shared_cpu_list"), values):
            put(f"sys/devices/system/cpu/cpu{cpu}/cache/index{index}/{name}", value)


def test_each_level_from_the_second_on_is_counted_once_a_cache(put):
    for cpu in range(4):
        last = "0-1" if cpu < 2 else "2-3"
        first = ((1, "Data", "32K", cpu), (1, "Instruction", "32K", cpu), (2, "Unified", "1024K", cpu))
        put_caches(put, cpu, *first, (2, "Instruction", "64K", cpu), (3, "Unified", "32768K", last))
    assert caches() == [Cache(2, MIB, 4), Cache(3, 32 * MIB, 2)]


@pytest.mark.parametrize("size", ["", "0K", "large"])
def test_a_size_that_cannot_be_read_is_unknown_and_not_zero(put, size):
    put_caches(put, 0, (3, "Unified", size, "0"))
    assert caches() == []


def test_where_the_system_does_not_tell_a_default_is_supposed_and_said():
    assert UNKNOWN.size_bytes == 64 * MIB and "assume 64 MiB per node" in unknown_caches()["text"]
    assert cold_region([], 1) == 128 * MIB and cold_region([], 4) == 32 * MIB


@pytest.mark.parametrize(
    ("ranks", "size_bytes"),
    [
        (1, 64 * MIB),  # one rank reaches one cache of the last level
        (2, 64 * MIB),
        (4, 32 * MIB),  # two ranks share one
        (5, 32 * MIB),  # at some cache there are two only
        (64, 2 * MIB),
        (256, 512 * KIB),
    ],
)
def test_the_ranks_of_a_node_share_the_work(ranks, size_bytes):
    assert cold_region([Cache(2, 512 * KIB, 64), Cache(3, 32 * MIB, 2)], ranks) == size_bytes


def test_a_small_last_level_does_not_hide_a_large_second_one():
    assert cold_region([Cache(2, 2 * MIB, 96), Cache(3, 36 * MIB, 1)], 96) == 4 * MIB
