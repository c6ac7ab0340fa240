"""Synthetic arrivals of known truth: noise, spikes, and slower ranks, for rehearsals and error rates of rules."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .arrivals import Arrivals


class Slow(NamedTuple):
    """Ranks whose work takes longer by a share, from a step on."""

    ranks: tuple[int, ...]
    slower_by: float
    from_step: int = 0
    to_step: int | None = None  # the step after the last one; None: for ever


def synthetic_arrivals(
    ranks: int,
    steps: int,
    seed: int,
    slow: Sequence[Slow] = (),
    noise: float = 0.05,
    lag1: float = 0.3,
    spikes: float = 0.01,
    spike: float = 2.0,
    work_s: float = 1.0,
    call_s: float = 0.0,
    ranks_per_node: int = 1,
) -> Arrivals:
    """Return steps of `work_s` seconds of work and a call of `call_s` seconds, from time 0, on an exact common clock.

    `noise`: standard deviation of the logarithm of the work, `lag1`: its correlation from one step of a rank to the
    next (an autoregressive process), `spikes`: share of the steps of a rank that take `spike` times `work_s` longer.
    """
    random = np.random.default_rng(seed)
    shares = np.exp(noise * correlate(random.standard_normal((steps, ranks)), lag1))
    for each in slow:
        shares[each.from_step : each.to_step, list(each.ranks)] *= 1 + each.slower_by
    shares[random.random((steps, ranks)) < spikes] += spike
    return arrivals_of_work(work_s * shares, call_s, ranks_per_node)


def correlate(values: np.ndarray, lag1: float) -> np.ndarray:
    """Return an autoregressive process of each rank with lag-1 correlation `lag1`, of the same variance.

    `values`: float64 [step, rank], independent; changed in place.
    """
    values[1:] *= np.sqrt(1 - lag1**2)
    for step in range(1, len(values)):
        values[step] += lag1 * values[step - 1]
    return values


def arrivals_of_work(work_s: np.ndarray, call_s: float = 0.0, ranks_per_node: int = 1) -> Arrivals:
    """Return the arrivals of known work: float64 [step, rank], seconds, each step with a call of `call_s` seconds."""
    steps, ranks = work_s.shape
    step_s = work_s.max(axis=1, initial=0.0) + call_s
    begin_s = np.concatenate([[0.0], np.cumsum(step_s)[:-1]])[:steps]
    node_of = tuple(rank // ranks_per_node for rank in range(ranks))
    nodes = tuple(f"n{node}" for node in range(max(node_of, default=-1) + 1))
    return Arrivals(begin_s[:, None] + work_s, step_s, 0.0, node_of, nodes, begin_s)
