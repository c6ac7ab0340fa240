"""What an algorithm declares: the ranks and nodes that it needs, its cost, and how far its generator is trusted."""

import re

import pytest

from allreduce_bench.schedule import Step
from allreduce_bench.schedule.algorithm import MAX_STEPS, AlgorithmError, Cost, Hops, Topology, algorithm


@pytest.mark.parametrize(
    "needs, size, layout, words",
    [
        ({"power-of-two"}, 6, [0] * 6, "needs a power of two of ranks, not 6"),
        ({"even"}, 5, [0] * 5, "needs an even number of ranks, not 5"),
        ({"equal-nodes"}, 5, [0, 0, 1, 1, 1], r"needs nodes of equal size, not 2\+3"),
    ],
)
def test_what_an_algorithm_needs_is_said_in_words(needs, size, layout, words):
    @algorithm(cost=lambda *_: Cost(0, 0, 0), exact=True, formula="0", needs=needs)
    def idle(rank, size, topology, count, segment):
        """Does nothing."""
        yield from ()

    assert idle.unmet(size, Topology.from_labels(layout)).endswith(words.replace("\\", ""))
    assert idle.unmet(4, Topology.from_labels("aabb")) is None


def test_an_unknown_need_is_refused():
    with pytest.raises(
        AlgorithmError,
        match="unknown need prime; known: equal-nodes, even, power-of-two",
    ):
        algorithm(cost=lambda *_: Cost(0, 0, 0), exact=True, formula="0", needs={"prime"})


def test_messages_of_one_size_and_link_are_counted_together():
    cost = Cost.of([Hops(2, 10), Hops(1, 10, between=True), Hops(3, 10)], reduced=7)
    assert cost == Cost(6, 60, 7, (Hops(5, 10), Hops(1, 10, between=True)))


def test_a_generator_that_fails_or_has_no_end_is_named_with_its_rank():
    def declared(generate):
        return algorithm(cost=lambda *_: Cost(0, 0, 0), exact=True, formula="0")(generate)

    def failing(rank, size, topology, count, segment):
        raise KeyError("lost")
        yield

    def endless(rank, size, topology, count, segment):
        while True:
            yield Step(1 - rank, (range(count),), None, ())

    one_node = Topology.one_node(2)
    with pytest.raises(
        AlgorithmError,
        match="failing: rank 1 of 2, 8 elements: failed: KeyError: 'lost'",
    ):
        declared(failing).schedule(1, 2, one_node, 8, 8)
    with pytest.raises(
        AlgorithmError,
        match="endless: rank 0 of 2.*" + re.escape(f"{MAX_STEPS} steps") + r".*terminate\?",
    ):
        declared(endless).schedule(0, 2, one_node, 8, 8)


def test_a_generator_that_ends_the_program_is_a_failure_like_another():
    @algorithm(cost=lambda *_: Cost(0, 0, 0), exact=True, formula="0")
    def leaving(rank, size, topology, count, segment):
        """Leaves."""
        raise SystemExit(0)
        yield

    with pytest.raises(AlgorithmError, match="failed: SystemExit: 0"):
        leaving.schedule(0, 2, Topology.one_node(2), 1, 1)
