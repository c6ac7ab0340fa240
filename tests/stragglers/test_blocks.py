"""The rows of ranks with clocks of their own are one block on the common clock."""

from math import nan

import numpy as np
import pytest

from allreduce_bench.stragglers.monitor.blocks import HEAD, START, ClockLine, block_of, empty_row


def row(line: ClockLine, ready_s: list, end_s: list, start: float = nan) -> np.ndarray:
    values = empty_row(len(ready_s))
    values[:START], values[START] = line, start
    values[HEAD:] = [*ready_s, *end_s]
    return values


OWN = ClockLine()
BEHIND = ClockLine(origin=0.0, offset=100.0, error_s=0.001, slope_error=1e-4)  # 100 s behind rank 0


def test_clocks_are_made_one_and_steps_end_with_their_last_rank():
    rows = np.array([row(OWN, [101.0, 103.0], [102.0, 104.0], 100.0), row(BEHIND, [1.5, 2.75], [2.25, 4.0], 0.25)])
    block = block_of(rows, [0, 1], 40, nan)
    assert block.first_step == 40 and block.end_s == 104.0
    assert block.step_s.tolist() == [2.0, 1.75] and block.median_step_s == 1.875
    assert block.late_s.tolist() == [[0.0, 0.5], [0.25, 0.0]]
    assert block.clock_error_s == pytest.approx(0.001 + 4.0 * 1e-4)
    assert block_of(rows, [0, 1], 40, 101.0).step_s.tolist() == [1.25, 1.75]


def test_ranks_of_one_clock_take_the_line_of_the_one_that_compares():
    rows = np.array([row(BEHIND, [1.0], [2.0], 0.0), row(OWN, [1.5], [2.0], 0.0)])
    block = block_of(rows, [0, 0], 0, nan)
    assert block.late_s.tolist() == [[0.0, 0.5]] and block.end_s == 102.0 and block.clock_error_s == 0.0


def test_steps_that_some_rank_has_not_ended_are_left_out():
    rows = np.array([row(OWN, [1.0, 3.0, nan], [2.0, 4.0, nan], 0.0), row(OWN, [1.0, nan, nan], [2.0, nan, nan], 0.0)])
    assert block_of(rows, [0, 0], 0, nan).step_s.tolist() == [2.0]
    none = block_of(np.array([empty_row(2), empty_row(2)]), [0, 0], 7, 5.0)
    assert none.step_s.shape == (0,) and none.ready_s.shape == (0, 2) and none.end_s == 5.0


def test_a_rank_that_does_not_say_when_it_is_ready_is_not_known():
    rows = np.array([row(OWN, [1.0], [2.0], 0.0), row(OWN, [nan], [2.0], 0.0)])
    assert np.array_equal(block_of(rows, [0, 0], 0, nan).late_s, [[0.0, nan]], equal_nan=True)
