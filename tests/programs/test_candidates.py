"""Which all-reduces are tried: few, and among them the one that could win."""

import pytest

from allreduce_bench.algorithms import AlgorithmError
from allreduce_bench.programs.agreement import Shape
from allreduce_bench.programs.candidates import AUTO, PYTHON, algorithms_of, candidates
from allreduce_bench.schedule.algorithm import Topology


def tried(size_bytes: int, size: int, executors=PYTHON, words=(AUTO,)) -> list[str]:
    shape, algorithms = Shape(size_bytes // 4, "float32", "sum"), algorithms_of(list(words))
    topology = Topology.filled(size, size)
    return [one.name for one in candidates(words, algorithms.values(), executors, shape, topology)]


@pytest.mark.parametrize("size", [2, 3, 8, 64])
def test_auto_tries_native_first_and_three_others_in_one_way_each(size):
    assert tried(8, size) == ["native", "ring", "recursive_doubling", "rabenseifner"]
    assert tried(64 * 2**20, size)[:2] == ["native", "ring@pipelined"] and len(tried(64 * 2**20, size)) == 4


def test_named_ones_are_all_tried_but_those_that_do_not_fit():
    assert tried(8, 4, ("sendrecv",), ("ring", "naive")) == ["ring", "naive"]
    assert tried(8, 4, ("sendrecv",), ("native", "ring")) == ["native", "ring"]
    assert tried(8, 4, ("pipelined",), ("ring",)) == ["ring@pipelined"]
    assert tried(64 * 2**20, 4, words=("ring",)) == ["ring", "ring@pipelined"]
    assert tried(8, 4, words=(AUTO, "tree"))[:2] == ["native", "tree"]
    with pytest.raises(AlgorithmError, match="did you mean 'ring'|unknown algorithm"):
        tried(8, 4, words=("rign",))


def test_one_rank_and_no_element_leave_nothing_to_try():
    assert len(tried(8, 1)) == 1 and len(tried(0, 4)) == 1
