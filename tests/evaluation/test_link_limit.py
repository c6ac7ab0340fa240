"""The links that carried the bytes bound the time; a rate that nobody knows bounds nothing."""

from allreduce_bench.evaluation.link_limit import least_s, link_of

MACHINE = {"interfaces": [{"name": "hsn0", "rate_bytes_per_s": 25e9}, {"name": "eth0", "rate_bytes_per_s": None}]}
ATTEMPT = {"nodes": 2, "machines": [MACHINE, {"interfaces": [{"name": "hsn0", "rate_bytes_per_s": 1e9}]}]}


def test_a_node_sends_and_receives_its_part():
    link = link_of(1e9, [], [ATTEMPT])
    assert least_s(1_000_000, 2, link) == 1e-3 and least_s(1_000_000, 4, link) == 1.5e-3


def test_the_slowest_machine_counts_and_little_used_interfaces_do_not():
    link = link_of(None, [{"wire": "hsn0=1000 eth0=100"}], [ATTEMPT])
    assert link.rate_bytes_per_s == 1e9 and link.words == "hsn0, 8 Gbit/s as the system says"


def test_ports_go_before_interfaces():
    ports = {"nodes": 2, "machines": [{**MACHINE, "port_rates_bytes_per_s": {"hsn0": 5e9}}]}
    assert link_of(None, [{"wire": "hsn0=1000"}], [ports]).rate_bytes_per_s == 5e9


def test_an_unknown_rate_bounds_nothing():
    assert link_of(None, [{"wire": "hsn0=1000 eth0=900"}], [ATTEMPT]) is None
    assert link_of(None, [], [ATTEMPT]) is None


def test_on_one_node_there_is_no_link():
    assert link_of(1e9, [{"wire": "hsn0=1000"}], [{"nodes": 1, "machines": [MACHINE]}]) is None
