"""The links that carried the bytes bound the time; a rate that nobody knows bounds nothing."""

import pytest

from allreduce_bench.evaluation.link_limit import (
    NodeLink,
    least_s,
    link_of,
    passes_limit,
    refutes_limit,
    share_of_limit,
)

MACHINE = {"interfaces": [{"name": "hsn0", "rate_bytes_per_s": 25e9}, {"name": "eth0", "rate_bytes_per_s": None}]}
ATTEMPT = {"nodes": 2, "machines": [MACHINE, {"interfaces": [{"name": "hsn0", "rate_bytes_per_s": 1e9}]}]}


def test_a_node_sends_and_receives_its_part():
    link = link_of(1e9, [], [ATTEMPT])
    assert least_s(1_000_000, 2, link) == 1e-3 and least_s(1_000_000, 4, link) == 1.5e-3


def test_the_slowest_machine_counts_and_little_used_interfaces_do_not():
    link = link_of(None, [{"wire": "hsn0=1000 eth0=100"}], [ATTEMPT])
    assert link.rate_bytes_per_s == 1e9 and link.words == "hsn0, 8 Gbit/s as reported by the system"


def test_ports_go_before_interfaces():
    ports = {"nodes": 2, "machines": [{**MACHINE, "port_rates_bytes_per_s": {"hsn0": 5e9}}]}
    assert link_of(None, [{"wire": "hsn0=1000"}], [ports]).rate_bytes_per_s == 5e9


def test_an_unknown_rate_bounds_nothing():
    assert link_of(None, [{"wire": "hsn0=1000 eth0=900"}], [ATTEMPT]) is None
    assert link_of(None, [], [ATTEMPT]) is None


def test_on_one_node_there_is_no_link():
    assert link_of(1e9, [{"wire": "hsn0=1000"}], [{"nodes": 1, "machines": [MACHINE]}]) is None


def test_the_limit_takes_the_links_that_carried_the_bytes():
    machine = {"interfaces": [{"name": "a0", "rate_bytes_per_s": 1e9}, {"name": "b0", "rate_bytes_per_s": None}]}
    two_nodes, carried = [{"nodes": 2, "machines": [machine, machine]}], [{"wire": "a0=1000 b0=3 lo=9999"}]
    assert link_of(None, carried, two_nodes) == NodeLink(1e9, "a0, 8 Gbit/s as reported by the system")
    assert link_of(None, [{"wire": "a0=1000 b0=900"}], two_nodes) is None  # b0 does not say its rate
    assert link_of(5e8, carried, two_nodes) == NodeLink(5e8, "a0, 4 Gbit/s from --link-rate")
    assert link_of(5e8, carried, [{"nodes": 1, "machines": [machine]}]) is None
    fabric = [{"nodes": 2, "machines": [{"port_rates_bytes_per_s": {"mlx5_0:1": 25e9}}] * 2}]
    assert link_of(None, [{"wire": "mlx5_0:1=1000"}], fabric) == NodeLink(
        25e9, "mlx5_0:1, 200 Gbit/s as reported by the system"
    )
    assert least_s(1000, 4, NodeLink(100.0, "")) == pytest.approx(15.0)


def test_above_all_of_the_limit_nothing_is_a_share():
    assert share_of_limit(1.0, 2.0) == 0.5 and share_of_limit(1.0, 1.0) == 1.0
    assert share_of_limit(1.0, 0.999) is None


@pytest.mark.parametrize(
    ("row", "passes", "refutes"),
    [
        ({"time_s": 1.0, "time_high_s": 1.1, "limit_s": 1.0}, False, False),
        ({"time_s": 0.9, "time_high_s": 1.1, "limit_s": 1.0}, True, False),
        ({"time_s": 0.8, "time_high_s": 0.9, "limit_s": 1.0}, True, True),
        ({"time_s": 0.8, "time_high_s": 0.9, "limit_s": None}, False, False),
        ({"time_s": None, "limit_s": None}, False, False),
    ],
)
def test_a_median_below_the_limit_passes_it_and_a_whole_interval_refutes_it(row, passes, refutes):
    assert (passes_limit(row), refutes_limit(row)) == (passes, refutes)
