"""What trees of counters count, by hand."""

import os
import tempfile
from pathlib import Path

import pytest

from allreduce_bench.machine import kernel
from allreduce_bench.machine.energy import CRAY, Meter, NoCount, find_counters

POWERCAP, HWMON = "sys/class/powercap", "sys/class/hwmon"
MOST = 262_143_328_850  # max_energy_range_uj of many machines
PACKAGES = ("package-0", "package-0/dram", "package-1", "package-1/dram")
ZONES = {
    "intel-rapl:0": "package-0",
    "intel-rapl:0:0": "core",
    "intel-rapl:0:1": "dram",
    "intel-rapl:1": "package-1",
    "intel-rapl:1:0": "dram",
    "intel-rapl:2": "psys",
    "intel-rapl-mmio:0": "package-0",
}
BEFORE = {"intel-rapl:0": 1_000_000, "intel-rapl:0:1": 0, "intel-rapl:1": MOST - 5_000_000, "intel-rapl:1:0": 9}
AFTER = {
    "intel-rapl:0": 31_000_000,
    "intel-rapl:0:1": 4_000_000,
    "intel-rapl:1": 7_000_000,
    "intel-rapl:1:0": 2_000_009,
}


class Clock:
    """A clock that a test sets, in seconds."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def packages(put):
    """Two sockets, each with memory counted apart, and zones that count some of it again."""
    for zone, name in ZONES.items():
        put(f"{POWERCAP}/{zone}/name", name)
        put(f"{POWERCAP}/{zone}/max_energy_range_uj", MOST)
        put(f"{POWERCAP}/{zone}/energy_uj", 77)
    return lambda shown: [put(f"{POWERCAP}/{zone}/energy_uj", value) for zone, value in shown.items()]


def count(show, before, after):
    """What is counted in two seconds between `before` and `after`."""
    clock = Clock()
    show(before)
    meter = Meter(find_counters(), clock)
    meter.start()
    show(after)
    clock.now_s = 2.0
    return meter, meter.stop()


def test_packages_and_memory_are_summed_once_also_where_a_counter_begins_again_at_0(packages):
    _, counted = count(packages, BEFORE, AFTER)
    assert counted.counters == PACKAGES and not counted.faults
    assert counted.energy_j == pytest.approx(30 + 4 + 12 + 2) and counted.power_w == pytest.approx(24)


@pytest.mark.parametrize(
    ("shown", "fault"),
    [(9, "stood still"), (8, "ran backwards"), ("", "can be read no more"), (9 + 20_001_000_000, "ran backwards")],
)
def test_a_counter_at_fault_is_named_and_not_summed(packages, shown, fault):
    meter, counted = count(packages, BEFORE, {**AFTER, "intel-rapl:1:0": shown})
    assert counted.faults == {"package-1/dram": fault} and counted.counters == PACKAGES[:3]
    assert counted.energy_j == pytest.approx(30 + 4 + 12)
    meter.leave_out_faulty()
    assert [counter.name for counter in meter.counters] == [*PACKAGES[:3]]


def test_a_counter_without_an_end_that_runs_backwards_is_at_fault(put):
    _, counted = count(lambda joules: put(CRAY, f"{joules} J 1600000000 us"), 500, 499)
    assert counted.faults == {"node": "ran backwards"} and not counted.energy_j


def test_a_cray_counts_the_whole_node_and_nothing_else_is_read(put, packages):
    _, counted = count(lambda joules: put(CRAY, f"{joules} J 1600000000 us"), 36_777, 37_377)
    assert (counted.counters, counted.energy_j, counted.power_w) == (("node",), 600.0, 300.0)


def test_power_is_multiplied_by_time_and_of_a_grace_socket_the_whole_counts(put):
    for chip, label in (("hwmon1", "CPU Power Socket 0"), ("hwmon2", "Grace Power Socket 0"), ("hwmon3", "")):
        put(f"{HWMON}/{chip}/name", "power_meter" if label else "amdgpu")
        put(f"{HWMON}/{chip}/device/power1_average", 1)
        put(f"{HWMON}/{chip}/device/power1_oem_info", label)
    clock = Clock()
    meter = Meter(find_counters(), clock)
    for begin, (now_s, watts) in enumerate([(0.0, 100), (1.0, 200), (3.0, 100)]):
        put(f"{HWMON}/hwmon2/device/power1_average", watts * 1_000_000)
        clock.now_s = now_s
        meter.sample() if begin else meter.start()
    counted = meter.stop()
    assert counted.counters == ("Grace Power Socket 0",)
    assert counted.energy_j == pytest.approx(150 * 1 + 150 * 2) and counted.elapsed_s == 3.0


def test_a_meter_of_power_alone_counts_the_node(put):
    put(f"{HWMON}/hwmon0/name", "power_meter")
    put(f"{HWMON}/hwmon0/power1_average", 250_000_000)
    assert [counter.name for counter in find_counters()] == ["hwmon0"]


def test_without_counters_it_says_so_and_of_a_virtual_machine_that_it_is_one(put):
    with pytest.raises(NoCount, match="the kernel shows none of pm_counters, powercap or power_meter"):
        find_counters()
    put("proc/cpuinfo", "flags : fpu hypervisor lahf_lm")
    with pytest.raises(NoCount, match="a virtual machine"):
        find_counters()


def test_a_counter_that_this_user_may_not_read_is_named(monkeypatch):
    with tempfile.TemporaryDirectory() as folder:
        zone = Path(folder, POWERCAP, "intel-rapl:0")
        zone.mkdir(parents=True)
        zone.joinpath("name").write_text("package-0\n")
        zone.joinpath("energy_uj").write_text("5\n")
        zone.joinpath("energy_uj").chmod(0o400 if os.geteuid() == 0 else 0)
        Path(folder).chmod(0o755)
        monkeypatch.setattr(kernel, "ROOT", Path(folder))
        user = os.geteuid()
        try:
            if user == 0:
                os.seteuid(65534)  # nobody; root may read everything
            with pytest.raises(NoCount, match="/sys/class/powercap/intel-rapl:0/energy_uj cannot be read"):
                find_counters()
        finally:
            os.seteuid(user)
