"""Which sizes come next when time may not suffice: coarse first, dear ones when cheap ones are done."""

import time
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from allreduce_bench.algorithms import builtin
from allreduce_bench.measuring.launch import _in_order, next_set, spread_sizes
from allreduce_bench.runs.plan import Launch, Plan

SIZES = [8 << (2 * i) for i in range(12)]  # 8 B to 32 MiB


@given(st.lists(st.integers(0, 10**9), min_size=1, unique=True).map(sorted))
def test_every_size_comes_once_and_the_ends_and_the_middle_come_first(sizes):
    order = spread_sizes(sizes)
    assert sorted(order) == sizes
    assert set(order[:3]) >= {sizes[0], sizes[-1], sizes[(len(sizes) - 1) // 2]} or len(sizes) < 3


def test_each_size_lies_in_a_widest_gap_between_those_before_it():
    order = [SIZES.index(size) for size in spread_sizes(SIZES)]
    for turn in range(3, len(order)):
        before = sorted(order[:turn])
        gaps = {(low, high): high - low for low, high in zip(before, before[1:])}
        (mine,) = [gap for (low, high), gap in gaps.items() if low < order[turn] < high]
        assert mine >= max(gaps.values()) - 1


@given(
    st.lists(st.integers(1, 10**9), min_size=1, unique=True).map(sorted),
    st.dictionaries(st.integers(1, 10**9), st.floats(0, 1e3)),
    st.floats(-1, 1e4),
)
def test_a_set_is_never_empty_and_each_size_comes_once(sizes, spent, left_s):
    waiting, sets = spread_sizes(sizes), []
    while waiting:
        sets.append(next_set(waiting, spent, left_s))
        assert sets[-1] and set(sets[-1]) <= set(waiting)
        waiting = [size for size in waiting if size not in sets[-1]]
    assert sorted(size for of_set in sets for size in of_set) == sizes


def test_a_size_that_would_take_too_much_of_what_is_left_waits():
    spent = {8: 1.0, 32 * 1024: 2.0}
    assert next_set([32 << 20, 256, 1 << 20], spent, left_s=30.0) == [256]  # 32 MiB would take 2048 s by 32 KiB
    assert next_set([32 << 20, 256], spent, left_s=1e5) == [32 << 20, 256]
    assert next_set([32 << 20, 1 << 20], spent, left_s=1.0) == [1 << 20]  # nothing is worth it: the cheapest


def test_a_set_takes_at_most_half_of_what_is_left():
    assert next_set([16, 32, 64, 128], {8: 1.0}, left_s=5.0) == [16, 32]
    assert next_set([16, 32, 64, 128], {8: 1.0}, left_s=10.0) == [16, 32, 64, 128]


def test_before_anything_was_measured_a_few_small_sizes_come_or_the_smallest():
    assert next_set(spread_sizes(SIZES), {}, left_s=10.0) == [8, 8192, 128]
    assert next_set([8, 1 << 30], {}, left_s=0.0) == [8]
    assert next_set([1 << 30, 1 << 28], {}, left_s=10.0) == [1 << 28]


def test_a_size_costs_at_most_what_a_larger_one_took():
    assert next_set([1 << 20, 8], {4096: 1.0, 1 << 25: 2.0}, left_s=7.0) == [1 << 20, 8]


@given(st.integers(0, 2**32))
def test_in_each_set_native_and_ring_come_first_then_the_usual_algorithms_then_the_rest(seed):
    plan = Plan(("native", *builtin()), (8, 1024, 1 << 20), (4,), 1, seed=seed)
    alone = SimpleNamespace(bcast=lambda value: value)
    context = SimpleNamespace(comm=alone, plan=plan, deadline=time.time() + 60)
    cells = plan.cells(Launch(4, 1))
    order = [*_in_order(context, cells, [])]
    assert sorted(map(cells.index, order)) == [*range(len(cells))]
    of_set = [cell.algorithm for cell in order if cell.size_bytes < 1 << 20]
    assert {*of_set[:4]} == {"native", "ring"}
    assert {*of_set[4:10]} == {"recursive_doubling", "rabenseifner", "tree"}
    context.deadline = None
    assert [*_in_order(context, cells, [])] == cells
