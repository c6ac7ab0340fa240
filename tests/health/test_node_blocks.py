"""Racks: groups of four nodes or more are found, and hide no slow node; one group is none."""

from itertools import combinations

import health_power
import numpy as np
import pytest

from allreduce_bench.health.blocks import NO_BLOCKS, find_blocks, levels
from allreduce_bench.health.judgement import PairTable, judge_table

NOISE = 0.05
CLEAN = health_power.Fault("clean")


def made(nodes: int, racks=(), seed=1, noise=NOISE, fault=CLEAN) -> PairTable:
    return health_power.made_table(nodes, noise, fault._replace(racks=racks), 2, np.random.default_rng(seed))


@pytest.mark.parametrize("racks", [(50, 10, 4), (30, 30, 4), (40, 16, 8), (22, 21, 21)])
def test_the_racks_of_64_healthy_nodes_are_found_and_nobody_is_named(racks):
    result = judge_table(made(64, racks), 0.2)
    assert [len(members) for members in result.blocks.members] == list(racks) and result.blocks.alone == ()
    assert result.blocks.members[0] == tuple(range(racks[0]))
    assert result.blocks.far_ratio == pytest.approx(1.4, rel=0.03)
    assert result.slow_nodes == result.slow_links == result.group == ()


def test_slow_nodes_and_links_within_racks_are_named():
    fault = health_power.Fault("node and link", node=1.5, link=2.0)
    table = made(64, (50, 10, 4), fault=fault)
    table.log_time[60] += np.log(1.3)
    table.log_time[:, 60] += np.log(1.3)
    result = judge_table(table, 0.2)
    assert result.slow_nodes == (1, 60) and result.slow_links == ((1, 2),)
    assert [len(members) for members in result.blocks.members] == [50, 10, 4]


def test_a_node_behind_a_switch_of_its_own_is_alone_and_not_named():
    result = judge_table(made(64, (32, 31, 1)), 0.2)
    assert result.blocks.alone == (63,) and result.slow_nodes == ()
    slower = made(64, (32, 31, 1))
    slower.log_time[63] += np.log(1.5)
    slower.log_time[:, 63] += np.log(1.5)
    assert judge_table(slower, 0.2).slow_nodes == (63,)


@pytest.mark.parametrize("noise", [0.05, 0.15, 0.4])
def test_nodes_below_one_switch_are_one_group_whoever_is_slow(noise):
    for seed in range(20):
        assert find_blocks(made(16, seed=seed, noise=noise).symmetric) == NO_BLOCKS
        slow = made(16, seed=seed, noise=noise, fault=health_power.Fault("node", node=1.5, beside=1.5))
        assert find_blocks(slow.symmetric) == NO_BLOCKS


@pytest.mark.parametrize("near", [(0, 1), (0, 1, 2), (0, 1, 3, 4)])
def test_a_few_near_pairs_are_no_groups(near):
    table = made(12).symmetric
    for one, other in zip(near[::2], near[1::2]) if len(near) == 4 else combinations(near, 2):
        table[one, other] = table[other, one] = np.log(0.7)
    assert find_blocks(table) == NO_BLOCKS
    assert judge_table(PairTable("t", tuple(map(str, range(12))), table, "us", False), 0.2).slow_nodes == ()


def test_few_nodes_and_few_pairs_show_no_groups():
    table = made(12, (6, 6)).symmetric
    assert len(find_blocks(table).members) == 2
    assert find_blocks(table[3:9, 3:9]) == NO_BLOCKS
    ring = np.full_like(table, np.nan)
    for node in range(12):
        ring[node, (node + 1) % 12] = ring[(node + 1) % 12, node] = table[node, (node + 1) % 12]
    assert find_blocks(ring) == NO_BLOCKS


def test_pairs_that_are_missing_leave_the_groups_as_they_are():
    table = made(24, (14, 10)).symmetric
    whole = find_blocks(table)
    at = np.random.default_rng(2).integers(0, 24, (2, 60))
    table[at[0], at[1]] = table[at[1], at[0]] = np.nan
    table[5] = table[:, 5] = np.nan
    blocks = find_blocks(table)
    assert blocks.members == (tuple(node for node in range(14) if node != 5), tuple(range(14, 24)))
    assert whole.members == (tuple(range(14)), tuple(range(14, 24)))
    level = levels(table, blocks)
    assert level[0, 20] - level[0, 1] == pytest.approx(np.log(1.4), abs=0.03) and level[0, 1] == level[3, 4]


@pytest.mark.filterwarnings("error")
def test_whatever_pairs_are_missing_there_is_an_answer():
    for seed in range(60):
        random = np.random.default_rng(seed)
        nodes = int(random.integers(8, 20))
        rack = random.integers(0, 3, nodes)
        table = random.normal(0, 0.05, (nodes, nodes)) + 0.5 * (rack != rack[:, None])
        table[random.random(table.shape) < 0.4] = np.nan
        if seed % 3 == 0:
            table[rack != rack[:, None]] = np.nan  # no pair between racks
        np.fill_diagonal(table, np.nan)
        result = judge_table(PairTable("t", tuple(map(str, range(nodes))), table, "us", False), 0.2)
        assert sum(map(len, result.blocks.members)) + len(result.blocks.alone) in (0, nodes)
