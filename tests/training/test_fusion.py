"""Fused all-reduces, in Horovod's cycles."""

import pytest

from allreduce_bench.training.buckets import Fusion, fused_buckets, fused_transfers


def test_a_bucket_has_the_bytes_and_the_type_of_its_tensors():
    first, second = fused_buckets([(7, 40, "f"), (5, 60, "f"), (9, 8, "h")], 100)
    assert first == ((7, 5), 100, "f") and second == ((9,), 8, "h")


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
