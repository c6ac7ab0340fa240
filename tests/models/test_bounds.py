"""What the figures draw as a bound comes from the models of the run, and not at all where they do not hold."""

from dataclasses import replace

import pytest
from hand_models import hand_model
from made_runs import ALPHA_S, BETA_S_PER_BYTE

from allreduce_bench.models.bounds import bounds
from allreduce_bench.models.machine import Prices, bare_machine
from allreduce_bench.models.prediction import CompetingModels


def test_bounds_use_the_smallest_parameters():
    models = [hand_model("ring"), hand_model("two_tree", factor=0.5)]
    assert bounds(models, 4, None, 1 << 20) == pytest.approx((ALPHA_S, 0.75 * BETA_S_PER_BYTE * (1 << 20)))


def test_the_bounds_are_those_of_the_formulas():
    bare, size_bytes = bare_machine(ALPHA_S, BETA_S_PER_BYTE), 1 << 20
    assert bounds(bare.models, 100, None, size_bytes) == pytest.approx(
        (7 * ALPHA_S, 2 * 99 / 100 * size_bytes * BETA_S_PER_BYTE)
    )
    machine = bare_machine(ALPHA_S, BETA_S_PER_BYTE, within=Prices(1e-6, 1e-12))
    one_node, several = bounds(machine.models, 8, 1, size_bytes), bounds(machine.models, 32, 4, size_bytes)
    assert one_node == pytest.approx((3e-6, 2 * 7 / 8 * size_bytes * 1e-12))
    assert several == pytest.approx((5e-6, 2 * 3 / 4 / 8 * size_bytes * BETA_S_PER_BYTE))


def test_the_ranks_of_a_node_share_its_port():
    machine, size_bytes = bare_machine(5e-6, 1 / 3.125e9, within=Prices(1e-6, 1e-12)), 553_430_176
    own, shared = (bounds(machine.models, 512, 128, size_bytes, rate).bandwidth_s for rate in (None, 3.125e9))
    assert shared == pytest.approx(2 * 127 / 128 * size_bytes / 3.125e9) and shared == pytest.approx(4 * own)
    assert bounds(machine.models, 512, 1, size_bytes, 3.125e9).bandwidth_s < own  # one node: nothing crosses a port


def test_the_price_of_a_schedule_that_may_not_have_run_bounds_nothing():
    guessed = hand_model("native", factor=0.5, priced_as="ring", is_library=True)
    assert bounds([guessed, hand_model("ring")], 4, None, 8) == bounds([hand_model("ring")], 4, None, 8)
    assert bounds([guessed], 4, None, 8) == (0, 0)


def test_a_price_of_zero_bounds_nothing():
    cheap = hand_model("two_tree", factor=0.5)
    free = replace(cheap, parameters=(cheap.parameters[0], cheap.parameters[1]._replace(value=0.0)))
    models = [hand_model("ring"), free]
    assert bounds(models, 4, None, 1 << 20) == pytest.approx((ALPHA_S, 1.5 * BETA_S_PER_BYTE * (1 << 20)))


def test_a_bound_that_a_measured_time_undercuts_is_lowered_to_it():
    """A ring's price of long vectors is the bandwidth bound; one was a fifth shorter: so is the bound."""
    ring = hand_model("ring", (2, 4), prices=(1e-9, 1e-10))
    cells = [cell._replace(time_s=0.8 * cell.time_s) if cell == ring.cells[-1] else cell for cell in ring.cells]
    group = CompetingModels([replace(ring, cells=tuple(cells))])
    assert group.bounds(4, 1 << 22).bandwidth_s == pytest.approx(0.8 * 1.5 * (1 << 22) * 1e-10, rel=0.01)
    assert group.bounds(8, 1 << 20).bandwidth_s == pytest.approx(0.8 * 1.75 * (1 << 20) * 1e-10, rel=0.01)
