"""The events of a step, against steps that are counted by hand."""

import pytest

from allreduce_bench.training.buckets import Bucket
from allreduce_bench.training.tensors import Gradient, Model
from allreduce_bench.training.time_line import (
    BACKWARD,
    BYTES,
    FLOPS,
    FORWARD,
    Phase,
    TimeLine,
    Transfer,
    line_up,
    phases_of,
    ready_shares,
    ready_times,
)

MODEL = Model("m", "M", (Gradient("a", (30,), 0.0), Gradient("b", (10,), 6.0)), flops_without_gradient=4.0)
BUCKETS = [Bucket((1,), 100), Bucket((0,), 300)]


def test_a_gradient_is_ready_after_its_share_of_the_backward_pass():
    assert ready_shares(MODEL, BYTES) == [1.0, 0.25]
    assert ready_shares(MODEL, FLOPS) == [1.0, 1.0]
    tied = MODEL._replace(gradients=(Gradient("a", (30,), 10.0), Gradient("b", (10,), 6.0)))
    assert ready_shares(tied, FLOPS) == [1.0, 0.5]
    assert ready_times([1.0, 0.25], Phase(BACKWARD, 2.0, 6.0)) == [6.0, 3.0]


def test_the_forward_pass_has_a_third_of_the_computation():
    phases = phases_of(3.0)
    assert [phase.kind for phase in phases] == [FORWARD, BACKWARD]
    assert [phase.start_s for phase in phases] == pytest.approx([0, 1]) and phases[-1].end_s == 3


def test_all_reduces_wait_for_their_gradients_and_for_each_other():
    line = TimeLine(phases_of(6.0), line_up(BUCKETS, [6.0, 3.0], lambda size_bytes: size_bytes / 100 + 3))
    assert [(one.ready_s, one.start_s, one.end_s) for one in line.transfers] == [(3, 3, 7), (6, 7, 13)]
    assert (line.step_s, line.compute_s, line.communication_s, line.exposed_s) == (13, 6, 10, 7)
    assert line.overlapped_s == 3 and line.overlap_share == pytest.approx(0.3)


def test_overlap_counts_every_part_of_the_computation():
    phases = tuple(Phase(BACKWARD, float(start), start + 2.0) for start in (0, 3, 6, 9))
    line = TimeLine(phases, (Transfer(8, 0, 1, 7), Transfer(8, 0, 8, 9), Transfer(8, 0, 9.5, 20)))
    assert line.overlapped_s == (1 + 2 + 1) + 0 + 1.5


def test_a_step_without_communication_has_no_share():
    line = TimeLine(phases_of(6.0), line_up(BUCKETS, [6.0, 3.0], lambda size_bytes: 0.0))
    assert (line.step_s, line.overlap_share) == (6, None)
