"""What the cores did while a launch ran: readings of a written kernel go in, shares and findings come out."""

import os

import pytest

from allreduce_bench.machine.core_load import (
    SHORTEST_S,
    core_times,
    core_use,
    cores_of_ranks,
    load_findings,
    watch_cores,
)

TICK_S = 1 / os.sysconf("SC_CLK_TCK")
FREQUENCY = "sys/devices/system/cpu/cpu{}/cpufreq/{}"


def stat(*cores: tuple[int, ...]) -> str:
    """/proc/stat of `cores`, each user, nice, system, idle, iowait, irq, softirq, steal in ticks."""
    lines = [f"cpu{number} {' '.join(map(str, fields))} 0 0" for number, fields in enumerate(cores)]
    return "\n".join(["cpu  9 9 9 9 9 9 9 9 0 0", *lines, "intr 5 0"])


def counted(others_s: float = 0.0, own_s: float = 10.0, stolen_s: float = 0.0, cpus: int = 2, **facts) -> dict:
    """What a launch of 10 s keeps of a node."""
    times = {"worked_s": others_s + own_s, "own_s": own_s, "stolen_s": stolen_s}
    return {"host": "n1", "elapsed_s": 10.0, "cpus": cpus, **times, **facts}


def levels(*nodes: dict) -> list[tuple[str, str]]:
    return [(finding["code"], finding["level"]) for finding in load_findings(nodes)]


def test_a_core_works_for_users_and_the_system_and_not_for_interrupts(put):
    put("proc/stat", stat((100, 10, 5, 1000, 7, 30, 40, 3), (1, 0, 0, 900, 0, 0, 0, 0)))
    assert core_times() == {0: pytest.approx((115 * TICK_S, 3 * TICK_S)), 1: pytest.approx((TICK_S, 0.0))}


@pytest.mark.parametrize("text", [None, "", stat((0, 0, 0, 0, 0, 0, 0, 0)), "intr 5 0"])
def test_a_kernel_that_shows_nothing_is_unknown_and_not_idle(put, text):
    if text is not None:
        put("proc/stat", text)
    assert core_times() == {}
    facts = cores_of_ranks(watch_cores()(), {0}, 1.0)
    assert set(facts) == {"elapsed_s"} and core_use(facts) is None and load_findings([facts]) == []


def test_only_the_cores_that_the_ranks_may_use_count(put):
    put("proc/stat", stat((0, 0, 0, 9, 0, 0, 0, 0), (50, 0, 0, 9, 0, 0, 0, 2), (0, 0, 0, 9, 0, 0, 0, 0)))
    since = watch_cores()
    put("proc/stat", stat((200, 0, 100, 9, 0, 0, 0, 0), (90, 0, 0, 9, 0, 0, 0, 7), (900, 0, 0, 9, 0, 0, 0, 0)))
    kept = cores_of_ranks(since(), {0, 1, 7}, 2.5)
    assert kept.pop("elapsed_s") < 60
    assert kept == pytest.approx({"cpus": 2, "worked_s": 340 * TICK_S, "stolen_s": 5 * TICK_S, "own_s": 2.5})
    assert cores_of_ranks(since(), (), 2.5)["cpus"] == 3  # no affinity is known


def test_shares_are_those_of_all_cores():
    assert core_use(counted(others_s=5.0, stolen_s=1.0))[:2] == pytest.approx((0.25, 0.05))
    assert core_use(counted(others_s=-0.3)).others == 0.0  # the kernel counts in ticks
    assert core_use(counted(others_s=-5.0)) is None  # counts in which the ranks are not
    assert core_use({**counted(), "elapsed_s": SHORTEST_S / 2}) is None
    assert core_use({}) is None


def test_one_busy_loop_beside_ranks_on_all_cores_is_found_on_a_large_node():
    assert core_use(counted(others_s=10.0, own_s=1270.0, cpus=128)).crowding
    assert not core_use(counted(others_s=10.0, own_s=640.0, cpus=128)).crowding  # it has a core of its own
    assert not core_use(counted(others_s=2.0, own_s=1278.0, cpus=128)).crowding
    assert levels(counted(others_s=10.0, own_s=1270.0, cpus=128)) == [("loaded", "caution")]


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (counted(others_s=0.9), []),
        (counted(others_s=1.1), [("loaded", "caution")]),
        (counted(others_s=6.0), [("loaded", "severe")]),
        (counted(stolen_s=2.0), [("stolen", "caution")]),
        (counted(stolen_s=6.0), [("stolen", "severe")]),
        (counted(throttled=3), [("throttled", "caution")]),
        (counted(clock=0.4), [("throttled", "caution")]),
        (counted(clock=0.7), []),
    ],
)
def test_each_trouble_is_found_alone(node, expected):
    assert levels(node) == expected


def test_the_worst_node_is_said_and_those_concerned_are_named():
    nodes = [{**counted(others_s=share), "host": f"n{number}"} for number, share in enumerate((0.1, 8.0, 2.0))]
    (one,) = load_findings(nodes)
    assert one["text"] == "other processes used about 40 % of 2 hardware threads during the launch on n1, n2"


def test_throttled_clocks_are_those_of_the_launch(put):
    for number, events in enumerate((900, 5)):
        put(f"sys/devices/system/cpu/cpu{number}/thermal_throttle/core_throttle_count", events)
    since = watch_cores()
    assert "throttled" not in since()
    put("sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", 9)
    assert since()["throttled"] == 4


def test_the_clock_is_that_of_the_core_at_work(put):
    put("proc/self/stat", f"1 (a) b) S {' '.join(['0'] * 35)} 3 0 0")
    for name, frequency in {"scaling_cur_freq": 1_500_000, "cpuinfo_max_freq": 3_000_000}.items():
        put(FREQUENCY.format(3, name), frequency)
    assert "clock" not in watch_cores()()  # of the first core nothing is shown
    put(FREQUENCY.format(0, "cpuinfo_max_freq"), 1)
    assert watch_cores()()["clock"] == pytest.approx(0.5)
