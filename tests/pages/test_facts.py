"""What is counted in schedules equals what the literature says of them."""

import pytest

from allreduce_bench.algorithms import builtin
from allreduce_bench.pages.facts import facts, promises
from allreduce_bench.schedule import Step
from allreduce_bench.schedule.algorithm import Cost, Topology, algorithm
from allreduce_bench.schedule.verify import Refusal


@pytest.mark.parametrize(
    ("name", "rounds", "steps", "sent", "in_all", "between", "peers", "depth"),
    [
        ("ring", 14, 14, 14 / 8, 14, 14 / 4, 2, 7),
        ("naive", 7, 7, 7, 56, 32, 7, 7),
        ("parameter_server", 14, 14, 7, 14, 8, 7, 7),
        ("recursive_doubling", 3, 3, 3, 24, 8, 3, 3),
        ("rabenseifner", 6, 6, 14 / 8, 14, 2, 3, 3),
        ("hierarchical_ring", 8, 8, 14 / 8, 14, 2, 3, 4),
    ],
)
def test_eight_ranks_on_two_nodes(name, rounds, steps, sent, in_all, between, peers, depth):
    counted = facts(builtin()[name], Topology.filled(8, 4))
    assert counted.ranks == 8
    assert counted[2:4] == (rounds, steps) and counted[7:9] == (peers, depth)
    assert counted[4:7] == pytest.approx((sent, in_all, between))


def test_what_passes_the_links_of_a_torus():
    counted = facts(builtin()["torus"], Topology.filled(8, 4))
    assert counted.torus == (2, 4) and counted.passed == pytest.approx(counted.sent_in_all) == pytest.approx(14)
    assert counted.passed < facts(builtin()["ring"], Topology.filled(8, 4)).passed


def test_volumes_are_at_least_the_least_possible():
    for own in builtin().values():
        counted = facts(own, Topology.filled(12, 4))
        assert counted.sent_in_all >= 2 * 11 - 1e-9 and counted.sent * 12 >= counted.sent_in_all - 1e-9
        assert counted.sent_between_nodes >= 2 * 2 - 1e-9  # three nodes: the sum of each has to leave it and come back


def test_promises_are_those_of_all_schedules_tried():
    naive, ring, doubling = (promises(builtin()[name], range(2, 6)) for name in ("naive", "ring", "recursive_doubling"))
    assert naive == ((2, 3, 4, 5), (2,), (2,), (2, 3, 4, 5))
    assert ring == ((2, 3, 4, 5), (2, 3, 4, 5), (2,), (2,))
    assert doubling.rank_ordered == doubling.same_bits == doubling.any_length == doubling.tried


def test_what_is_no_all_reduce_has_no_facts():
    @algorithm(cost=lambda *_: Cost(0, 0, 0), exact=True, formula="0")
    def half(rank, size, topology, count, segment):
        whole = (range(count),)
        yield Step((rank + 1) % size, whole, (rank - 1) % size, whole, reduce=True)

    with pytest.raises(Refusal, match="ends without"):
        facts(half, Topology.one_node(3))
