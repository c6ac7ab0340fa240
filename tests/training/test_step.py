"""Whole steps: what more ranks, other buckets and accumulation change."""

import pytest

from allreduce_bench.models.machine import bare_machine
from allreduce_bench.training.architectures import known_model
from allreduce_bench.training.buckets import MIB, Caps
from allreduce_bench.training.cost import FASTEST, modelled_costs
from allreduce_bench.training.step import Setup, buckets_of, outcome, tried_caps, variants

COSTS = modelled_costs(bare_machine(20e-6, 8e-10), ["ring", "rabenseifner", "recursive_doubling"])  # 10 Gbit/s
SETUP = Setup(known_model("resnet50"), 0.1)


def test_one_rank_sends_nothing():
    one = outcome(SETUP, COSTS, 1)
    assert (one.time_line.step_s, one.efficiency, one.time_line.communication_s, one.algorithms) == (0.1, 1, 0, ())


def test_a_ring_of_four_by_hand():
    found = outcome(SETUP, COSTS, 4, "ring")
    alone = sum(6 * 20e-6 + 1.5 * bucket.size_bytes * 8e-10 for bucket in buckets_of(SETUP))
    assert found.time_line.communication_s == pytest.approx(alone, rel=1e-4)
    assert 0.1 < found.time_line.step_s < 0.1 + alone
    assert found.time_line.exposed_s == pytest.approx(alone - found.time_line.overlapped_s, rel=1e-9)


def test_a_shape_file_has_no_operations_and_says_so():
    assert SETUP.proxy_used == "flops"
    unknown = SETUP.model._replace(gradients=tuple(g._replace(flops=0.0) for g in SETUP.model.gradients))
    assert SETUP._replace(model=unknown).proxy_used == "bytes"


def test_variants_cover_algorithms_and_caps():
    found = [*variants(SETUP, COSTS, 8, (MIB, 25 * MIB, 1024 * MIB))]
    assert [one.algorithm for one in found[::3]] == [FASTEST, "rabenseifner", "recursive_doubling", "ring"]
    assert [one.buckets for one in found[:3]] == [35, 5, 1]
    assert found[1].step_s == min(one.step_s for one in found)


def test_the_tried_caps_fit_the_model():
    assert tried_caps(SETUP) == [MIB, 5 * MIB, 25 * MIB, SETUP.model.size_bytes()]
    scaled = SETUP._replace(model=SETUP.model.scaled(1 / 64), packing=Caps(MIB // 64, MIB // 2))
    assert tried_caps(scaled)[:4] == [MIB // 64, 5 * MIB // 64, 25 * MIB // 64, MIB // 2]
