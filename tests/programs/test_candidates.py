"""Which all-reduces are tried: few, and among them the one that could win."""

import pytest

from allreduce_bench.algorithms import AlgorithmError, builtin
from allreduce_bench.programs.agreement import Shape
from allreduce_bench.programs.candidates import AUTO, algorithms_of, candidates
from allreduce_bench.runs.competitor import COMPILED
from allreduce_bench.schedule.algorithm import Topology

COMPILER = ("sendrecv", *COMPILED)
MANY = 12  # candidates: each costs calls of the program


def tried(size_bytes: int, size: int, executors=COMPILER, words=(AUTO,), nodes: int = 1) -> list[str]:
    shape, algorithms = Shape(size_bytes // 4, "float32", "sum"), algorithms_of(list(words))
    topology = Topology.filled(size, size // nodes)
    return [one.name for one in candidates(words, algorithms.values(), executors, shape, topology)]


@pytest.mark.parametrize("size", [2, 3, 4, 8, 64])
@pytest.mark.parametrize("size_bytes", [8, 64 * 1024, 16 * 2**20])
def test_they_are_few_and_native_is_the_first(size, size_bytes):
    names = tried(size_bytes, size)
    assert names[0] == "native" and 1 < len(names) <= MANY and len(set(names)) == len(names)
    assert not {name.split()[0] for name in names} & {name for name, one in builtin().items() if one.bounded}


def test_a_few_bytes_are_not_sent_around_a_ring():
    assert "recursive_doubling" in tried(8, 8) and "ring" not in tried(8, 8)
    assert "ring@compiled" in tried(16 * 2**20, 8) and "ring" not in tried(16 * 2**20, 8)


def test_messages_are_cut_only_where_they_are_long():
    assert not any("pipelined" in name for name in tried(8, 8))
    assert "ring@compiled-pipelined" in tried(16 * 2**20, 8)


def test_named_ones_are_all_tried_but_those_that_do_not_fit():
    assert tried(8, 4, ("sendrecv",), ("ring", "naive")) == ["ring", "naive"]
    assert tried(8, 4, ("sendrecv",), ("native", "ring")) == ["native", "ring"]
    assert tried(8, 4, ("pipelined",), ("ring",)) == ["ring@pipelined"]
    with pytest.raises(AlgorithmError, match="did you mean 'ring'|unknown algorithm"):
        tried(8, 4, words=("rign",))


def test_one_rank_and_no_element_leave_nothing_to_try():
    assert len(tried(8, 1)) == 1 and len(tried(0, 4)) == 1


def test_the_nodes_are_used_where_there_are_several():
    assert any("hierarchical_ring" in name for name in tried(16 * 2**20, 8, nodes=2))
