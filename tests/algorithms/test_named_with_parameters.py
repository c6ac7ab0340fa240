"""Algorithms whose name has parameters: compositions, dimensions of a torus, a radix; proved, priced, or refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allreduce_bench.algorithms import AlgorithmError, builtin, find, is_builtin, why_unknown
from allreduce_bench.schedule.algorithm import Topology
from allreduce_bench.schedule.price import price
from allreduce_bench.schedule.verify import verify

MODELS = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (5, 1, 0.5)]  # alpha, beta, gamma


def named(word: str):
    return find([word])[word]


def is_within_its_declared_cost(algorithm, topology: Topology, count: int, segment: int) -> bool:
    """Whether it is an all-reduce that takes no longer than declared."""
    size = len(topology.node_of)
    schedules, cost = (make(size, topology, count, segment) for make in (algorithm.schedules, algorithm.cost))
    verify(schedules, count)
    declared = [alpha * cost.messages + beta * cost.elements + gamma * cost.reduced for alpha, beta, gamma in MODELS]
    return all(price(schedules, *model).time <= time * (1 + 1e-9) for model, time in zip(MODELS, declared))


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(builtin())),
    st.sampled_from(sorted(builtin().keys() - {"naive"})),
    st.lists(st.integers(0, 3), min_size=1, max_size=11),
    st.integers(0, 50),
    st.integers(1, 20),
)
def test_any_two_algorithms_make_a_hierarchical_one_on_any_nodes(inner, outer, labels, count, segment):
    topology = Topology.from_labels(labels)
    assert is_within_its_declared_cost(named(f"hierarchical:{inner}+{outer}"), topology, count, segment)


@pytest.mark.parametrize("nodes, local", [(2, 2), (4, 4), (3, 5), (5, 3), (1, 6), (6, 1)])
def test_rings_of_rings_are_the_hierarchical_ring(nodes, local):
    from allreduce_bench.algorithms.hierarchical import compose

    size, count = nodes * local, 12 * nodes * local
    topology = Topology.filled(size, local)
    schedules = [
        one.schedules(size, topology, count, count)
        for one in (compose(builtin()["ring"], builtin()["ring"]), builtin()["hierarchical_ring"])
    ]
    assert verify(schedules[0], count) == verify(schedules[1], count)
    for model in MODELS:
        assert price(schedules[0], *model) == price(schedules[1], *model)
    assert named("hierarchical:ring+ring").schedules(size, topology, count, count) == schedules[1]


def test_only_one_rank_of_a_node_talks_to_others_where_inside_a_tree_reduces():
    topology = Topology.filled(12, 4)
    for inner in ("tree", "recursive_doubling", "parameter_server"):
        schedules = named(f"hierarchical:{inner}+ring").schedules(12, topology, 24, 24)
        talking = {
            rank
            for rank, steps in enumerate(schedules)
            for step in steps
            if step.dest is not None and topology.node_of[rank] != topology.node_of[step.dest]
        }
        assert len(talking) == 3, inner


@pytest.mark.parametrize("word, size", [("torus:2x3", 6), ("torus:3x2x2", 12), ("torus:2x2x2x3", 24), ("torus:7", 7)])
def test_a_torus_has_the_dimensions_that_are_named(word, size):
    dimensions = [int(length) for length in word.partition(":")[2].split("x")]
    for topology in (Topology.one_node(size), Topology.filled(size, dimensions[-1])):
        for count in (0, 1, size, 5 * size + 3):
            assert is_within_its_declared_cost(named(word), topology, count, 1)
    path = price(named(word).schedules(size, topology, 48 * size, 1), 1, 0)
    assert path.messages == 2 * len(dimensions) * 2 * sum(length - 1 for length in dimensions)
    assert path.elements == 2 * (size - 1) * 48
    assert named(word).unmet(size + 1, Topology.one_node(size + 1)) == f"{word} needs {size} ranks, not {size + 1}"


@pytest.mark.parametrize("radix", [2, 3, 5, 16])
def test_a_radix_of_two_is_rabenseifner_and_another_has_fewer_rounds_of_more_messages(radix):
    found = named(f"rabenseifner_radix:{radix}")
    for size in (1, 2, 8, 9, 12, 25):
        assert is_within_its_declared_cost(found, Topology.one_node(size), 3 * size + 1, 1)
    size = radix**2
    path = price(found.schedules(size, Topology.one_node(size), size, 1), 1, 0)
    assert (path.messages, path.elements) == (4 * (radix - 1), 2 * (size - 1))


@pytest.mark.parametrize(
    "word, said",
    [
        ("hierarchical", "hierarchical:INNER+OUTER"),
        ("hierarchical:ring+tree+ring", "hierarchical:INNER+OUTER"),
        ("hierarchical:hierarchical:ring+ring+ring", "hierarchical:INNER+OUTER"),
        ("hierarchical:ring+gloo", "expected two algorithms"),
        ("hierarchical:./mine.py+ring", "expected two algorithms"),
        ("torus:", "2x3x4"),
        ("torus:0x4", "2x3x4"),
        ("torus:２x2", "2x3x4"),
        ("rabenseifner_radix:1", "rabenseifner_radix:8"),
        ("rabenseifner_radix:four", "rabenseifner_radix:8"),
    ],
)
def test_parameters_that_do_not_parse_are_refused(word, said):
    with pytest.raises(AlgorithmError) as refused:
        find([word])
    assert said in str(refused.value) and word.partition(":")[2] in str(refused.value)
    assert str(why_unknown(word)) == str(refused.value) and not is_builtin(word)


@pytest.mark.parametrize("word", ["ring:3", "hierarchical:ring+rign", "rign:3"])
def test_an_unknown_algorithm_is_unknown_with_parameters_too(word):
    with pytest.raises(AlgorithmError, match="unknown algorithm"):
        find([word])


def test_what_a_part_needs_is_told():
    inside, outside = (named(f"hierarchical:{pair}") for pair in ("torus:2x2+ring", "ring+torus:2x2"))
    assert inside.unmet(8, Topology.filled(8, 4)) is outside.unmet(8, Topology.filled(8, 2)) is None
    for composed, local in ((inside, 2), (outside, 4)):
        assert "torus:2x2 needs 4 ranks, not 2" in composed.unmet(8, Topology.filled(8, local))
        assert composed.needs == {"torus:2x2 needs: 4 ranks"}
    assert "naive" in named("hierarchical:ring+naive").unmet(4, Topology.filled(4, 2))
    assert named("hierarchical:ring+naive").unmet(4, Topology.one_node(4)) is None


def test_names_with_parameters_are_ours():
    assert is_builtin("ring") and is_builtin("torus:2x3") and is_builtin("hierarchical:ring+tree")
    assert not is_builtin("native:ring") and not is_builtin("ring:2") and not is_builtin("native")
