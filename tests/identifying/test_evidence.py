"""What ran, by made orders and messages: named, open, or unknown, never another one."""

import pytest

from allreduce_bench.identifying.evidence import answer
from allreduce_bench.identifying.known import ANY_TREE, known
from allreduce_bench.identifying.look import Traffic
from allreduce_bench.identifying.order import Span
from allreduce_bench.which.settings import INTEL, MPICH, OPEN_MPI

ITEMSIZE = 4
LIBRARIES = (OPEN_MPI, MPICH, INTEL)


def answer_of(library, one, ranks, is_counted, hosts=None):
    sent = one.sent
    counted = None
    if is_counted and sent:
        counted = Traffic(sent.messages, [[number * ITEMSIZE for number in row] for row in sent.elements])
    return answer(f"{library} 1.2", hosts or ["n1"] * ranks, ITEMSIZE, one.order, counted)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 6, 8, 13])
@pytest.mark.parametrize("count", [1, 2, 1024, 1003])
@pytest.mark.parametrize("is_counted", [True, False])
def test_what_ran_is_among_the_names(library, ranks, count, is_counted):
    for one in known(library, ranks, count):
        assert one.name in answer_of(library, one, ranks, is_counted).names


@pytest.mark.parametrize("ranks", [4, 5, 6, 8])
@pytest.mark.parametrize("name", ["recursive_doubling", "rabenseifner"])
def test_messages_tell_what_the_order_leaves_open(ranks, name):
    (one,) = [one for one in known(OPEN_MPI, ranks, 1024) if one.name == name]
    assert answer_of(OPEN_MPI, one, ranks, True).names == (name,)
    assert {"recursive_doubling", "rabenseifner"} < set(answer_of(OPEN_MPI, one, ranks, False).names)


def test_what_mpich_runs_for_long_vectors_is_not_called_recursive_doubling():
    one = next(one for one in known(MPICH, 4, 2**22) if one.name == "reduce_scatter_allgather")
    assert len(answer_of(MPICH, one, 4, False).names) > 1


def test_in_node_first():
    (one,) = [one for one in known(OPEN_MPI, 4, 8) if one.name == "recursive_doubling"]
    hosts = ["n1", "n1", "n2", "n2"]
    assert "han: in node first, recursive_doubling between" in answer_of(OPEN_MPI, one, 4, False, hosts).names
    assert answer_of(OPEN_MPI, one, 4, True, hosts).names == ("recursive_doubling",)
    assert not any("han" in name for name in answer_of(OPEN_MPI, one, 4, False, ["n1", "n2"] * 2).names)


TREE = (((0, 1), (2, 3)), ((4, 5), (6, 7)))
NODES = [0, 2, 4, 6]  # the first ranks of four nodes of two


def of_han(between, messages=1):
    """As seen over four virtual hosts of two ranks: vectors within each, and so many bytes between first ranks."""
    count = [[8 * ({one, other} in ({0, 1}, {2, 3}, {4, 5}, {6, 7})) for other in range(8)] for one in range(8)]
    for source, row in zip(NODES, between):
        for dest, size_bytes in zip(NODES, row):
            count[source][dest] = size_bytes
    return Traffic([[bool(size_bytes) * messages for size_bytes in row] for row in count], count)


@pytest.mark.parametrize(
    ("between", "messages", "expected"),
    [
        ([[0, 8, 8, 8], [8, 0, 0, 0], [8, 0, 0, 0], [0, 0, 8, 0]], 1, ["reduce + bcast"]),
        ([[0, 12, 10, 8], [8, 0, 0, 2], [4, 0, 0, 4], [0, 4, 4, 0]], 2, ["reduce + bcast"]),  # in parts
        ([[0, 8, 8, 0], [8, 0, 0, 8], [8, 0, 0, 8], [0, 8, 8, 0]], 1, ["recursive_doubling"]),
    ],
)
def test_what_han_does_between_nodes(between, messages, expected):
    hosts = [f"n{rank // 2}" for rank in range(8)]
    found = answer("Open MPI 5.0.11", hosts, 4, (Span(0, 2, (TREE,) * 8),), of_han(between, messages))
    assert found.names == tuple(f"han: reduce + bcast in node, {name} between" for name in expected)


def test_who_talks_to_other_nodes_is_not_han():
    counted = of_han([[0, 8, 8, 8], [8, 0, 0, 0], [8, 0, 0, 0], [0, 0, 8, 0]])
    counted.size_bytes[1][3] = counted.messages[1][3] = 8
    hosts = [f"n{rank // 2}" for rank in range(8)]
    found = answer("Open MPI 5.0.11", hosts, 4, (Span(0, 2, (TREE,) * 8),), counted)
    assert found.names == ANY_TREE[OPEN_MPI]  # in parts


def test_a_reduction_and_a_broadcast_look_like_what_han_does():
    """As seen over two virtual hosts of two ranks: messages up a tree, and down again."""
    tree = ((0, 1), (2, 3))
    messages = [[0, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 1], [0, 0, 1, 0]]
    counted = Traffic(messages, [[8 * number for number in row] for row in messages])
    found = answer("Open MPI 5.0.11", ["n1", "n1", "n2", "n2"], 4, (Span(0, 2, (tree,) * 4),), counted)
    assert found.names[0] == "nonoverlapping"
    assert "han: reduce + bcast in node, reduce + bcast between" in found.names
    assert found.words.count("han: reduce + bcast in node") == 1


@pytest.mark.parametrize("trees", [(None,) * 4, (((0, 2), (1, 3)),) * 4])
def test_what_nothing_explains_is_unknown(trees):
    messages = Traffic([[1] * 4] * 4, [[1] * 4] * 4)
    found = answer("Open MPI 5.0.11", ["n1"] * 4, 4, (Span(0, 4, trees),), messages)
    assert found.names == ()
    assert answer("Another MPI 1", ["n1"] * 4, 4, (Span(0, 4, trees),), None).names == ()
