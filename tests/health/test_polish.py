"""Median polish: a table that is made of effects is taken apart into them, whatever is missing."""

import numpy as np
import pytest

from allreduce_bench.health.polish import (
    LEAST_SD,
    median_polish,
    node_z,
    polish_beside,
    residual_sd,
    robust_sd,
    split_by_least,
)


def table(effects, overall=3.0) -> np.ndarray:
    effects = np.asarray(effects, dtype=float)
    made = overall + effects + effects[:, None]
    np.fill_diagonal(made, np.nan)
    return made


def noisy(nodes: int, seed: int, sd: float = 0.05) -> np.ndarray:
    noise = np.triu(np.random.default_rng(seed).normal(0, sd, (nodes, nodes)), 1)
    return table(np.zeros(nodes)) + noise + noise.T


@pytest.mark.parametrize("nodes", [4, 5, 8, 17])
def test_effects_and_residuals_are_what_the_table_was_made_of(nodes):
    effects = np.zeros(nodes)
    effects[1] = 0.7
    made = table(effects)
    if nodes == 4:  # too few for a slow link beside a slow node
        assert median_polish(made).node_effect == pytest.approx(effects, abs=1e-5)
        return
    made[0, nodes - 1] = made[nodes - 1, 0] = 3.0 + 0.4
    overall, node_effect, residual = median_polish(made)
    assert overall == pytest.approx(3.0) and node_effect == pytest.approx(effects, abs=1e-5)
    assert residual[0, nodes - 1] == pytest.approx(0.4, abs=1e-5) and residual[0, 2] == pytest.approx(0, abs=1e-5)
    assert np.allclose(np.nan_to_num(residual), np.nan_to_num(residual.T))


def test_missing_pairs_say_nothing_and_a_node_without_pairs_has_no_effect():
    made = table([0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 9.0])
    made[6] = made[:, 6] = np.nan
    made[0, 1] = made[1, 0] = np.nan
    polished = median_polish(made)
    assert np.isnan(polished.node_effect[6]) and polished.node_effect[1] == pytest.approx(0.5, abs=1e-5)
    assert np.isnan(node_z(polished)[6]) and np.isnan(polished.residual[0, 1])


def test_nodes_that_are_left_out_have_the_effects_that_the_others_let_expect():
    made = table([0.0, 0.7, 0.0, 0.2, 0.0, 0.0, 1.5, 0.0])
    polished = polish_beside(made, (1, 6))
    assert polished.overall == pytest.approx(3.0, abs=1e-5)
    assert polished.node_effect == pytest.approx([0, 0.7, 0, 0.2, 0, 0, 1.5, 0], abs=1e-5)
    assert np.nanmax(np.abs(polished.residual)) < 1e-5
    hidden, seen = node_z(median_polish(made))[3], node_z(polished, (1, 6))[3]
    assert seen >= hidden > 0
    whole, same = median_polish(made), polish_beside(made, ())
    assert np.array_equal(whole.node_effect, same.node_effect)


def test_where_nodes_have_two_pairs_a_slow_partner_makes_nobody_slow():
    nodes, slow = 80, 7
    made = np.full((nodes, nodes), np.nan)
    for node in range(nodes):
        made[node, (node + 1) % nodes] = made[(node + 1) % nodes, node] = 2.0
    made[slow, [6, 8]] = made[[6, 8], slow] = 2.0 + np.log(2)
    polished = split_by_least(made)
    assert np.flatnonzero(polished.node_effect > 0.1).tolist() == [slow]
    assert polished.residual[6, slow] == pytest.approx(0, abs=1e-9)


def test_standard_deviations_are_those_of_normal_values_and_never_below_the_floor():
    values = np.random.default_rng(1).normal(0, 0.2, 4000)
    assert robust_sd(values) == pytest.approx(0.2, rel=0.1)
    assert robust_sd(np.zeros(9)) == robust_sd(np.array([])) == LEAST_SD
    assert residual_sd(median_polish(noisy(30, 1, 0.1))) == pytest.approx(0.1, rel=0.15)
