"""What lies on a critical path: the declared cost says what the priced schedule says."""

import pytest

from allreduce_bench.algorithms import builtin
from allreduce_bench.models.terms import PathMessage, Terms, terms
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.schedule.price import LinkPrice, walk

ALGORITHMS = builtin()
WITHIN, BETWEEN, GAMMA = LinkPrice(1e-6, 5e-11), LinkPrice(5e-6, 1e-10), 1e-11  # they decide which path is critical
BLOCK = 48  # elements of every rank: whole halves, thirds and quarters
EXACT = [name for name, algorithm in ALGORITHMS.items() if algorithm.exact]
PIPELINED = [name for name, algorithm in ALGORITHMS.items() if algorithm.segmented]
LAYOUTS = [(2, 1), (2, 2), (3, 1), (4, 1), (4, 2), (5, 1), (6, 1), (6, 2), (8, 1), (8, 2), (8, 4), (12, 2), (12, 3)]
LAYOUTS += [(13, 1), (16, 1), (16, 4), (24, 3), (24, 12), (32, 1), (32, 4)]  # ranks, nodes
CUTS = [(1, 1), (2, 1), (100, 7), (4096, 256), (5000, 1000), (6000, 6000)]  # elements, of a segment


def walked(name: str, ranks: int, nodes: int, count: int, segment: int) -> Terms:
    """The terms of the priced schedule, listed in full; in elements."""
    topology = Topology.filled(ranks, ranks // nodes)
    found = walk(ALGORITHMS[name].schedules(ranks, topology, count, segment), topology, WITHIN, BETWEEN, GAMMA)
    messages = tuple(PathMessage(size, number, between) for (size, between), number in found.messages.items())
    return Terms(messages, found.path.reduced)


def alike(one: Terms, other: Terms) -> bool:
    """Whether both have the same messages of each size and link, and reduce as much."""
    return (sorted(one.messages), one.reduced_nbytes) == (sorted(other.messages), other.reduced_nbytes)


def nominal(found: Terms) -> float:
    """Seconds at the prices that decided which path is critical, of elements of one byte."""
    links = {True: BETWEEN, False: WITHIN}
    sent = sum(
        one.number * (links[one.between].alpha + links[one.between].beta * one.size_bytes) for one in found.messages
    )
    return sent + GAMMA * found.reduced_nbytes


def folds_across(ranks: int, nodes: int) -> bool:
    """Whether only some of the pairs of ranks that fold are on two nodes: then what is exact elsewhere is a bound."""
    return ranks & (ranks - 1) > 0 and ranks // nodes % 2 == 1 and nodes < ranks and nodes > 1


def folds(name: str) -> bool:
    """Whether ranks beyond a power of two have others do their part: four ranks do the same, five do not."""
    four, five = (ALGORITHMS[name].schedules(ranks, Topology.one_node(ranks), 60, 60) for ranks in (4, 5))
    return len(set(map(len, four))) == 1 < len(set(map(len, five)))


@pytest.mark.parametrize("name", EXACT)
def test_an_exact_declared_cost_is_the_priced_schedule_message_by_message(name):
    for ranks, nodes in LAYOUTS:
        count = BLOCK * ranks
        if folds_across(ranks, nodes) and folds(name):
            continue
        declared, listed = (
            terms(ALGORITHMS[name], ranks, nodes, count, 1),
            walked(name, ranks, nodes, count, count),
        )
        assert alike(declared, listed), (ranks, nodes, declared, listed)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_declared_cost_is_never_below_the_priced_schedule_link_by_link(name):
    for ranks, nodes in LAYOUTS:
        for count, segment in CUTS:
            declared = terms(ALGORITHMS[name], ranks, nodes, count, 1, segment)
            listed = walked(name, ranks, nodes, count, segment)
            assert nominal(listed) <= nominal(declared) * (1 + 1e-9), (ranks, nodes, count, segment)


@pytest.mark.parametrize("name", PIPELINED)
@pytest.mark.parametrize("segments", [1, 2, 3, 8])
def test_the_declared_cost_of_a_pipeline_is_off_by_two_messages_at_most(name, segments):
    for ranks in (*range(2, 20), 31, 32, 33, 63, 64, 65, 100):
        count, segment = 12 * segments, 12 if name == "tree" else 6
        declared = terms(ALGORITHMS[name], ranks, 1, count, 1, segment)
        (listed,) = walked(name, ranks, 1, count, segment).messages
        ((size_bytes, number, _),) = declared.messages
        assert size_bytes == listed.size_bytes == segment
        assert 0 <= number - listed.number <= 2, ranks


def test_elements_have_bytes_and_unknown_nodes_are_all_apart():
    ring = ALGORITHMS["ring"]
    assert terms(ring, 4, None, 64, 4) == Terms((PathMessage(16, 6, True),), 48)
    assert terms(ring, 4, 1, 64, 4) == Terms((PathMessage(16, 6, False),), 48)
    assert terms(ring, 1, 1, 64, 4) == Terms((), 0)
