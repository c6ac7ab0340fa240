"""Round trips over hosts: published problems, the slowest message first, and many hosts."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import DATA

from allreduce_bench.order.tour import best_tour, edges_of, short_tour

WITHIN = 1.03  # of the optimum


def problem(name: str) -> np.ndarray:
    """The costs of a problem of TSPLIB."""
    lines = (DATA / "atsp" / f"{name}.atsp").read_text().partition("EDGE_WEIGHT_SECTION\n")[2].splitlines()
    return np.array([line.split() for line in lines], dtype=float)


def key(cost: np.ndarray, tour) -> tuple[float, float]:
    return float(cost[edges_of(tour)].max()), float(cost[edges_of(tour)].sum())


@pytest.mark.parametrize(("name", "optimum"), [("br17", 39), ("ftv33", 1286), ("ftv35", 1473)])
def test_sums_of_published_problems_are_near_their_optima(name, optimum):
    cost = problem(name)
    tour = short_tour(cost)
    assert sorted(tour) == list(range(len(cost)))
    assert optimum <= key(cost, tour)[1] <= WITHIN * optimum


@settings(max_examples=8)
@given(st.integers(3, 6), st.randoms(use_true_random=False))
def test_of_few_hosts_the_best_round_trip_is_found(hosts, random):
    cost = np.array([[random.randint(1, 9) for _ in range(hosts)] for _ in range(hosts)], dtype=float)
    exact = min(key(cost, [0, *rest]) for rest in permutations(range(1, hosts)))
    assert key(cost, best_tour(cost)) == exact


def test_the_slowest_message_counts_before_the_sum():
    cost = np.full((6, 6), 5.0)
    cost[np.arange(6), (np.arange(6) + 1) % 6] = 1.0  # a cheap chain
    cost[5, 0] = 50.0  # whose end is dear
    tour = best_tour(cost)
    assert key(cost, tour)[0] == 5.0 and key(cost, short_tour(cost))[0] == 5.0
    cost[cost == 5.0] = 49.0
    assert key(cost, best_tour(cost))[0] == 49.0 and key(cost, short_tour(cost)) == (50.0, 55.0)


def test_a_way_of_good_links_is_found_among_many_hosts():
    random = np.random.default_rng(2)
    cost, hidden = random.uniform(2.0, 4.0, (96, 96)), random.permutation(96)
    cost[edges_of(hidden)] = random.uniform(0.9, 1.1, 96)
    assert key(cost, best_tour(cost))[0] <= 1.1
