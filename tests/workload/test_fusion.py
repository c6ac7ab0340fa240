"""Fused all-reduces, by the rules of Horovod's controller."""

import pytest

from allreduce_bench.workload.fusion import Fusion, fuse, fused_transfers


def fused(tensors: list[tuple[int, str]], buffer_nbytes: int) -> list[tuple[int, ...]]:
    return [one.gradients for one in fuse([(i, *tensor) for i, tensor in enumerate(tensors)], buffer_nbytes)]


def test_what_fits_is_fused_in_order():
    assert fused([(40, "f"), (60, "f"), (1, "f")], 100) == [(0, 1), (2,)]


def test_a_tensor_longer_than_the_buffer_goes_alone():
    assert fused([(500, "f"), (1, "f"), (1, "f")], 100) == [(0,), (1, 2)]


def test_another_type_is_skipped_while_the_skipped_ones_would_fit():
    assert fused([(10, "f"), (10, "h"), (10, "f"), (10, "h")], 100) == [(0, 2), (1, 3)]
    assert fused([(10, "f"), (95, "h"), (10, "f")], 100) == [(0,), (1,), (2,)]


def test_a_cycle_takes_what_is_ready_and_the_next_waits_for_its_all_reduces():
    tensors = [(i, 10, "f") for i in range(4)]
    ready = [0.0, 0.0005, 0.0015, 0.010]
    times = fused_transfers(tensors, ready, Fusion(1000, 0.001), lambda nbytes: 0.0025)
    assert [one.bucket.gradients for one in times] == [(0,), (1, 2), (3,)]
    assert [one.start_s for one in times] == pytest.approx([0.0, 0.0025, 0.010])
    assert [one.end_s for one in times] == pytest.approx([0.0025, 0.005, 0.0125])
    assert times[1].ready_s == 0.0015


def test_all_tensors_are_sent_however_they_become_ready():
    ready = [0.1 * i for i in range(50)]
    times = fused_transfers([(i, 1, "f") for i in range(50)], ready, Fusion(10, 0.003), lambda nbytes: 0.05)
    assert [index for one in times for index in one.bucket.gradients] == [*range(50)]
    assert all(one.start_s >= one.ready_s - 1e-12 for one in times)
