"""Orders of hosts in lockstep: shared links, slow hosts, hosts that cannot talk."""

import numpy as np
import pytest

from allreduce_bench.algorithms import find
from allreduce_bench.order.command import predict_orders
from allreduce_bench.order.lockstep import Lockstep, MessageCosts, broken_pairs, rounds_of
from allreduce_bench.schedule.algorithm import Topology

N = 1 << 20


def costs_of(rates, broken=(), latency_s: float = 0.0) -> MessageCosts:
    """Hosts whose pairs are as slow as the slower of them."""
    rates = np.array(rates, dtype=float)
    table = 1 / np.minimum(rates[:, None], rates)
    cannot = np.zeros(table.shape, dtype=bool)
    for one, other in broken:
        cannot[one, other] = cannot[other, one] = True
    names = tuple(f"h{number + 1}" for number in range(len(rates)))
    return MessageCosts(names, np.full(table.shape, latency_s), table, cannot, True, "made")


def found(name: str, costs: MessageCosts, per_node: int = 1) -> dict:
    (algorithm,) = find([name]).values()
    return {each.name: each for each in predict_orders(algorithm, costs, N, per_node)}


def test_a_ring_takes_its_closed_form():
    made = found("ring", costs_of([1e6] * 4, latency_s=1e-3))
    assert made["as given"].time == pytest.approx(6 * (N / 4 / 1e6 + 1e-3))


def test_the_rule_of_the_ring_is_its_schedule():
    (ring,) = find(["ring"]).values()
    by_rule = rounds_of(ring, Topology.filled(8, 2), N, 4, 1)
    steps = rounds_of(ring._replace(name="other"), Topology.filled(8, 2), N, 4, 1)
    costs = costs_of([1e6, 2e6, 1e6, 3e6], latency_s=1e-4)
    for place in (np.arange(8) // 2, np.arange(8) % 4):
        assert Lockstep(by_rule, costs).time(place) == pytest.approx(Lockstep(steps, costs).time(place))


def test_ranks_dealt_out_in_turn_share_the_link_of_their_host():
    made = found("ring", costs_of([1e6] * 4), per_node=2)
    assert made["cyclic"].time == pytest.approx(2 * made["block"].time)
    assert made["fitted"].time == pytest.approx(made["block"].time)
    assert made["cyclic"].hosts == ("h1", "h2", "h3", "h4") * 2
    assert made["block"].hosts == ("h1", "h1", "h2", "h2", "h3", "h3", "h4", "h4")


def test_slow_hosts_become_leaves_of_a_tree():
    made = found("tree", costs_of([5e5, 5e5, 1e6, 1e6, 1e6, 1e6, 1e6]))
    assert made["fitted"].time < 0.9 * made["as given"].time
    assert sorted(made["fitted"].hosts) == sorted(made["as given"].hosts)


def test_a_ring_keeps_to_the_fast_links_of_two_racks():
    racks = np.array([0, 1] * 4)
    table = np.where(racks[:, None] == racks, 1e-6, 2e-6)
    costs = costs_of([1e6] * 8)._replace(time_per_byte=table)
    hosts = found("ring", costs)["fitted"].hosts
    number = [int(host[1:]) - 1 for host in hosts]
    crossing = sum(racks[one] != racks[other] for one, other in zip(number, [*number[1:], number[0]]))
    assert crossing == 2 and hosts[0] == "h1"


def test_hosts_that_cannot_talk_are_no_neighbours_if_there_is_a_way_round():
    made = found("ring", costs_of([1e6] * 5, broken=[(0, 1), (2, 3)]))
    assert made["as given"].broken == [("h1", "h2"), ("h3", "h4")] and made["fitted"].broken == []
    lonely = found("ring", costs_of([1e6] * 4, broken=[(0, 1), (0, 2), (0, 3)]))
    assert len(lonely["fitted"].broken) == 2
    assert found("tree", costs_of([1e6] * 4, broken=[(0, 1)]))["fitted"].broken == []


def test_messages_within_a_host_need_no_link():
    (tree,) = find(["tree"]).values()
    rounds = rounds_of(tree, Topology.one_node(4), N, 4, N)
    costs = costs_of([1e6, 1e6], broken=[(0, 1)])
    assert Lockstep(rounds, costs).time(np.zeros(4, int)) == (0.0, 0.0)
    assert broken_pairs(rounds, np.array([0, 0, 1, 1]), costs) == [("h1", "h2")]
