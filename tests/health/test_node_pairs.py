"""`health`: a slow node is told from a slow link, and silence is kept where nothing is; a sample of the power study."""

import health_power
import numpy as np
import pytest

from allreduce_bench.health.judgement import PairTable, confirm_suspects, judge_table, pairs_to_repeat, tables_of_rows
from allreduce_bench.health.pair_folder import PairRow

NODES = tuple(f"n{number}" for number in range(1, 10))


def table(slow=None, nodes=NODES, is_rate=False) -> PairTable:
    """All pairs take 1 s, both ways, but `slow[(source, dest)]` seconds."""
    times = np.ones((len(nodes), len(nodes)))
    np.fill_diagonal(times, np.nan)
    for (source, dest), time_s in (slow or {}).items():
        times[nodes.index(source), nodes.index(dest)] = time_s
    return PairTable("latency", tuple(nodes), np.log(times), "us", is_rate, 1e6)


def both(pairs, time_s) -> dict:
    return {way: time_s for one, other in pairs for way in ((one, other), (other, one))}


def of_node(node, time_s, nodes=NODES) -> dict:
    return both([(node, other) for other in nodes if other != node], time_s)


def found(made: PairTable, threshold=0.2) -> list[str]:
    result = judge_table(made, threshold)
    links = ["+".join(made.nodes[node] for node in pair) for pair in result.slow_links]
    return [*(made.nodes[node] for node in result.slow_nodes), *links]


@pytest.mark.parametrize(
    ("slow", "names"),
    [
        ({}, []),
        (of_node("n3", 1.3), ["n3"]),
        (of_node("n3", 1.19), []),
        (both([("n2", "n7")], 1.5), ["n2+n7"]),
        (both([("n2", "n7")], 1.19), []),
        ({("n2", "n7"): 2.0}, ["n2+n7"]),  # in one direction only
        (of_node("n3", 2.0) | both([("n5", "n6")], 3.0), ["n3", "n5+n6"]),
        (of_node("n3", 2.0) | of_node("n8", 1.5) | both([("n3", "n8")], 3.0), ["n3", "n8"]),
        (of_node("n3", 0.5), []),  # a fast one
    ],
)
def test_a_node_is_slow_with_all_others_and_a_link_by_itself(slow, names):
    assert found(table(slow)) == names


def test_the_threshold_is_a_ratio():
    assert found(table(of_node("n3", 1.15)), threshold=0.1) == ["n3"]


def test_so_many_slow_nodes_are_a_group_and_nobody_is_named():
    slow = of_node("n1", 1.5) | of_node("n2", 1.5) | of_node("n3", 1.5) | both([("n7", "n8")], 4.0)
    result = judge_table(table(slow), 0.2)
    assert [NODES[node] for node in result.group] == ["n1", "n2", "n3"]
    assert result.slow_nodes == result.slow_links == ()


@pytest.mark.parametrize("slow", [(0, 3, 5, 7), (0, 1, 2, 4, 6)])
def test_half_of_the_nodes_are_a_slow_group_though_most_pairs_are_slow(slow):
    names = NODES[:8]
    made = table({pair: 2.0 for node in slow for pair in of_node(names[node], 2.0, names)}, names)
    noise = np.random.default_rng(3).normal(0, 0.05, made.log_time.shape)
    result = judge_table(made._replace(log_time=made.log_time + noise), 0.2)
    assert result.group == slow and result.slow_nodes == result.slow_links == ()


def test_three_nodes_of_one_switch_are_a_slow_group():
    near = np.zeros(8, dtype=int)
    near[5:] = 1
    noise = np.random.default_rng(4).normal(0, 0.05, (8, 8))
    log_time = np.where(near[:, None] == near, 0.0, np.log(2)) + noise
    np.fill_diagonal(log_time, np.nan)
    assert judge_table(PairTable("made", NODES[:8], log_time, "us", False), 0.2).group == (5, 6, 7)


def test_slow_nodes_that_are_not_alike_are_no_group():
    slow = of_node("n1", 1.25) | of_node("n2", 2.0) | of_node("n3", 3.0)
    assert found(table(slow)) == ["n1", "n2", "n3"]
    names = tuple(f"n{number}" for number in range(16))
    grouped = {}
    for node in names[:5]:
        grouped |= of_node(node, 1.5, names)
    result = judge_table(table(grouped | of_node("n9", 4.0, names), names), 0.2)
    assert result.group == tuple(range(5)) and result.slow_nodes == (9,)


@pytest.mark.parametrize("nodes", [8, 16])
def test_a_node_that_is_slow_by_little_is_named_beside_two_that_are_so_by_much(nodes):
    random, hits = np.random.default_rng(1), 0
    for _ in range(40):
        made = health_power.made_table(nodes, 0.1, health_power.Fault("", node=1.3, beside=3.0), 2, random)
        made.log_time[5] += np.log(2)
        made.log_time[:, 5] += np.log(2)
        hits += judge_table(made, 0.2).slow_nodes == (1, 3, 5)
    assert hits >= 36


def test_of_four_nodes_a_slow_one_is_named_and_of_three_none():
    assert found(table(of_node("n3", 2.0, NODES[:4]), NODES[:4])) == ["n3"]
    assert found(table(of_node("n3", 2.0, NODES[:3]), NODES[:3])) == []
    assert found(table({}, NODES[:2])) == []


def test_rows_become_tables_of_medians_by_direction():
    rows = [PairRow(1, "a", "b", 8, number, time_s) for number, time_s in enumerate((1e-6, 9e-6, 2e-6), start=1)]
    rows += [PairRow(1, "b", "a", 1000, 1, 1e-6), PairRow(2, "a", "c", failure="gone")]
    latency, bandwidth = tables_of_rows(("a", "b", "c"), rows, (8, 1000))
    assert np.exp(latency.log_time[0, 1]) == pytest.approx(2e-6) and np.isnan(latency.log_time[1, 0])
    assert latency.value(latency.symmetric[1, 0]) == pytest.approx(2.0) and latency.unit == "us"
    assert (
        bandwidth.value(bandwidth.log_time[1, 0]) == pytest.approx(1.0) and bandwidth.unit == "GB/s"
    )  # 1000 B in 1 us


def test_what_is_slow_in_some_repetitions_only_names_nobody():
    slow = table(of_node("n3", 2.0) | both([("n5", "n6")], 3.0))
    assert found(slow._replace(log_least=slow.log_time)) == ["n3", "n5+n6"]
    assert found(slow._replace(log_least=table(both([("n5", "n6")], 3.0)).log_time)) == ["n5+n6"]
    assert found(slow._replace(log_least=table().log_time)) == []


MANY = tuple(f"n{number}" for number in range(80))
RING = [(one, other) for one, other in zip(MANY, [*MANY[1:], MANY[0]])]


def ring_of_many(slow: dict) -> PairTable:
    logs = np.full((80, 80), np.nan)
    for one, other in RING:
        logs[MANY.index(one), MANY.index(other)] = 0.0
    for (one, other), time_s in slow.items():
        logs[MANY.index(one), MANY.index(other)] = np.log(time_s)
    return PairTable("bandwidth", MANY, logs, "GB/s", True)


def test_of_many_nodes_suspects_are_measured_again_alone_beside_sound_pairs():
    result = judge_table(ring_of_many({("n6", "n7"): 2.0, ("n7", "n8"): 2.0, ("n30", "n31"): 2.0}), 0.2)
    assert [MANY[node] for node in result.slow_nodes] == ["n7"] and result.slow_links == ((30, 31),)
    repeated = pairs_to_repeat([result])
    assert [pair for pair in repeated if "n7" in pair] == [("n7", "n0"), ("n7", "n1")] and ("n30", "n31") in repeated
    assert len(repeated) == 8 and pairs_to_repeat([judge_table(ring_of_many({}), 0.2)]) == []
    alone = np.full((80, 80), np.nan)
    for one, other in repeated:
        alone[MANY.index(one), MANY.index(other)] = np.log(2.0) if "n7" in (one, other) else 0.0
    left = confirm_suspects(result, PairTable("bandwidth", MANY, alone, "GB/s", True), 0.2)
    assert left.slow_nodes == (7,) and left.slow_links == ()  # the link was slow beside others only


@pytest.mark.parametrize("fault", health_power.FAULTS, ids=lambda fault: fault.name)
def test_a_sample_of_the_power_study(fault):
    rate = health_power.rates(8, 0.05, fault, 2, tables=40)
    assert rate.found >= (0.0 if fault.name == "clean" else 0.95) and rate.false <= 0.05


def test_broken_promises_are_noticed():
    assert health_power.broken_promises(
        [[0.05, 8, "one", "node 1.3x", 0.5, 0.0], [0.05, 8, "one", "clean", 0.0, 0.2]]
    ) == [
        "noise 5%, 8 nodes, racks one, node 1.3x: found 50.0%, promised 99%",
        "noise 5%, 8 nodes, racks one, clean: false 20.0%, at most 5%",
    ]
