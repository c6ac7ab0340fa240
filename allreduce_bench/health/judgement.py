"""Judgement of pairs of nodes: the nodes and links that are slower than their peers.

Every judgement of times is relative, by median polish of their logarithms (`polish`): a node is slow if its effect is,
a link if its residual is. Both a robust z and the ratio must be large, the ratio also in the fastest repetition of each
pair: noise in some repetitions names no node. Latency and bandwidth, and each test of a foreign table, are judged
separately.
"""

from collections.abc import Collection, Mapping, Sequence
from math import exp, inf, log
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from .blocks import NO_BLOCKS, Blocks, find_blocks, levels
from .failed_pairs import FailingNode, failing_nodes
from .pair_folder import PairRow
from .polish import Polished, link_z, node_z, pairs_of, polish_beside, robust_sd, split_by_least
from .rounds import Pair

# Slow nodes and links: limits
NODE_Z, LINK_Z = 3.5, 4.5
FALSE_ALARMS = 0.01  # of tables of normal noise that name a node, and a link: required z grows with their number
FEWEST_NODES = 4  # nodes: with three, one slow node or link changes the median itself
RELIABLE = 8  # nodes: below, a slow node and a slow link are easily confused
FEW_PAIRS = 4  # of a node: below, its median is not used

# Slow nodes and links: the search
MOST_LEFT_OUT = 0.5  # of the nodes: the others are the majority
QUARTILE = 0.25  # of the pairs of a node
MOST_SLOW, LEAST_GROUP = 0.25, 3  # share and number of slow nodes beyond which they are a group

# What is measured again, alone: pairs with so many partners of a suspect, sound pairs, and pairs in all
PARTNERS, REFERENCES, MOST_REPEATED = 2, 5, 20


class PairTable(NamedTuple):
    """Times or rates of pairs of nodes in one test."""

    name: str  # latency, bandwidth, or what a foreign table calls it
    nodes: tuple[str, ...]
    log_time: np.ndarray  # float64 [source, dest]: natural logarithm of seconds, or of 1 over a rate; NaN: missing
    unit: str  # of the values for people: us, GB/s, or the unit of a foreign table
    is_rate: bool  # values are rates
    factor: float = 1.0  # from seconds, or a rate, to the unit
    log_least: np.ndarray | None = None  # as log_time, of the fastest repetition; None: unknown

    @property
    def symmetric(self) -> np.ndarray:
        """Return the mean of both directions, or the only one, float64 [node, node]."""
        return _mean_directions(self.log_time)

    @property
    def either_way(self) -> np.ndarray:
        """Return float64 [source, dest]; a missing direction has the time of the other one."""
        return np.where(np.isnan(self.log_time), self.log_time.T, self.log_time)

    def value(self, log_time: float) -> float:
        """Return a logarithm of the table in the unit."""
        return exp(-log_time if self.is_rate else log_time) * self.factor


class JudgedTable(NamedTuple):
    """A table, polished and judged; nodes by their number in it."""

    table: PairTable
    polished: Polished
    node_z: np.ndarray  # float64 [node]; NaN: no pair
    link_z: np.ndarray  # float64 [node, node]
    slow_nodes: tuple[int, ...] = ()
    slow_links: tuple[tuple[int, int], ...] = ()
    group: tuple[int, ...] = ()  # nodes that are slow, but too many for single slow nodes
    blocks: Blocks = NO_BLOCKS  # racks or switches: far pairs make no node slow
    is_judged: bool = True  # False: too few nodes, or the test is not judged

    def node_ratio(self, node: int) -> float:
        """Return the times of its pairs over the times of the other nodes."""
        return exp(self.polished.node_effect[node])

    def link_ratio(self, pair: tuple[int, int]) -> float:
        """Return its time over the one expected from both of its nodes' other pairs."""
        return exp(self.polished.residual[pair])


def judge_table(table: PairTable, threshold: float) -> JudgedTable:
    """Judge a table; slower by `threshold` at least counts, 0.2 for 20 %. Nothing is named below FEWEST_NODES nodes.

    If the nodes are in blocks, each pair is judged relative to the level of its blocks. With an infinite threshold the
    table is only polished.
    """
    measured = table.symmetric
    known = np.count_nonzero(~np.isnan(measured), axis=1)
    is_sparse = len(known) > 0 and float(np.median(known)) < min(FEW_PAIRS, len(known) - 1)
    blocks = NO_BLOCKS if is_sparse else find_blocks(measured)
    level = levels(measured, blocks) if blocks.members else 0.0
    symmetric = measured - level
    least = symmetric if table.log_least is None else _mean_directions(table.log_least) - level
    if is_sparse:
        parts = _Parts(split_by_least(symmetric), split_by_least(least), ())
        slow = _slow_nodes_of(parts, known, threshold)
    else:
        parts, slow = _find_slow_nodes(symmetric, least, known, threshold)
    polished, of_least, left_out = parts
    result = JudgedTable(table, polished, node_z(polished, left_out), link_z(polished), blocks=blocks)
    if np.count_nonzero(known) < FEWEST_NODES or threshold == inf:
        return result._replace(is_judged=False)
    alike = _alike_nodes(slow, polished.node_effect, threshold)
    if len(alike) >= LEAST_GROUP and len(alike) > MOST_SLOW * len(known):
        return result._replace(group=tuple(alike), slow_nodes=tuple(node for node in slow if node not in alike))
    if not slow and not is_sparse and (half := _slow_half(symmetric, least, threshold)):
        return result._replace(group=half)
    result = result._replace(slow_nodes=tuple(slow))
    ratios = np.fmin(polished.residual, of_least.residual)
    is_slow = (result.link_z > _limit(LINK_Z, len(pairs_of(symmetric)))) & (ratios > log(1 + threshold))
    links = [(int(one), int(other)) for one, other in zip(*np.nonzero(np.triu(is_slow, 1)))]
    links.sort(key=lambda pair: -result.link_z[pair])
    return result._replace(slow_links=tuple(links))


class _Parts(NamedTuple):
    """A polished table, with the nodes that are named already left out."""

    polished: Polished
    of_least: Polished  # of the fastest repetitions
    left_out: tuple[int, ...]


def _find_slow_nodes(
    symmetric: np.ndarray, least: np.ndarray, known: np.ndarray, threshold: float
) -> tuple[_Parts, list[int]]:
    """Return the slow nodes of the whole table, then the nodes that are slow once these are left out, and so on.

    The nodes left out stay a minority.
    """
    named: list[int] = []
    while True:
        left_out = tuple(named)
        parts = _Parts(polish_beside(symmetric, left_out), polish_beside(least, left_out), left_out)
        further = [node for node in _slow_nodes_of(parts, known, threshold) if node not in named]
        if not further or len(named) + len(further) > MOST_LEFT_OUT * len(known):
            return parts, sorted({*named, *further})
        named += further


def _slow_nodes_of(parts: _Parts, known: np.ndarray, threshold: float) -> list[int]:
    """Return nodes whose ratio and z are large enough."""
    effect = np.fmin(parts.polished.node_effect, parts.of_least.node_effect)
    limit = _limit(NODE_Z, int(np.count_nonzero(known)))
    is_far = node_z(parts.polished, parts.left_out) > limit
    return [int(node) for node in np.flatnonzero(is_far & (effect > log(1 + threshold)) & (known >= 2))]


def _alike_nodes(slow: Sequence[int], effect: np.ndarray, threshold: float) -> list[int]:
    """Return the slow nodes near their median, within the threshold: a switch slows its nodes alike."""
    middle = float(np.median(effect[list(slow)])) if slow else 0.0
    return [node for node in slow if abs(effect[node] - middle) < log(1 + threshold)]


def _slow_half(symmetric: np.ndarray, least: np.ndarray, threshold: float) -> tuple[int, ...]:
    """Find so many slow nodes that most pairs are slow, so that medians do not show them; empty: there are none.

    By the quartile of a node's pairs, which is slow only if hardly any partner is fast with it: two levels of
    quartiles, and pairs of slow nodes with each other as slow as pairs with fast ones, unlike the pairs of a rack.
    """
    known = np.count_nonzero(~np.isnan(symmetric), axis=1)
    present = np.flatnonzero(known)
    if len(present) < RELIABLE or min(known[present]) < len(present) / 2:
        return ()
    quartile = np.array([np.nanquantile(symmetric[node], QUARTILE) for node in present])
    order = np.argsort(quartile, kind="stable")
    steps = np.diff(quartile[order])
    at = int(steps.argmax()) + 1
    fast, slow = present[order[:at]], present[order[at:]]
    if min(len(fast), len(slow)) < LEAST_GROUP:
        return ()
    within, others = np.ix_(fast, fast), (np.ix_(slow, slow), np.ix_(fast, slow))
    if any(len(_known_values(symmetric[part])) < len(slow) for part in (within, *others)):
        return ()
    middle = [[np.median(_known_values(table[part])) for part in (within, *others)] for table in (symmetric, least)]
    over = [slow_one - of_fast for of_fast, *slow_ones in middle for slow_one in slow_ones]
    left = [_known_values(symmetric[part]) - middle[0][place] for place, part in enumerate((within, *others))]
    error = robust_sd(np.concatenate(left)) * np.sqrt(np.pi / 2 / min(len(fast), len(slow)))
    is_apart = min(*over, steps[at - 1]) > max(log(1 + threshold), LINK_Z * error)
    return tuple(sorted(slow.tolist())) if is_apart else ()


def _known_values(values: np.ndarray) -> np.ndarray:
    return values[~np.isnan(values)]


def _mean_directions(logs: np.ndarray) -> np.ndarray:
    both = np.stack([logs, logs.T])
    known = np.count_nonzero(~np.isnan(both), axis=0)
    return np.where(known, np.nansum(both, axis=0) / np.maximum(known, 1), np.nan)


def _limit(least: float, judged_values: int) -> float:
    """Return the z that a share FALSE_ALARMS of tables exceeds anywhere; at least `least`."""
    return max(least, NormalDist().inv_cdf(1 - FALSE_ALARMS / max(judged_values, 1)))


def tables_of_rows(nodes: Sequence[str], rows: Sequence[PairRow], sizes: tuple[int, int]) -> list[PairTable]:
    """Return the latency and bandwidth tables of measured rows: medians over repetitions, by direction.

    `sizes`: the small and the large message in bytes; the rate of the latter is its bytes over the time until the
    answer.
    """
    import pandas as pd  # late: a help needs none

    small, large = sizes
    timed = pd.DataFrame(rows, columns=PairRow._fields).dropna(subset="time_s").astype({"time_s": float})

    def logs(size: int, statistic: str) -> np.ndarray:
        values = timed[timed["size_bytes"] == size].groupby(["source", "dest"])["time_s"].agg(statistic)
        return np.log(values.unstack().reindex(index=[*nodes], columns=[*nodes]).to_numpy(float))

    return [
        PairTable("latency", tuple(nodes), logs(small, "median"), "us", False, 1e6, logs(small, "min")),
        PairTable("bandwidth", tuple(nodes), logs(large, "median"), "GB/s", True, large * 1e-9, logs(large, "min")),
    ]


def pairs_to_repeat(results: Sequence[JudgedTable]) -> list[Pair]:
    """Return the pairs to measure alone where suspects were measured beside other pairs, which may share uplinks.

    Each slow node with PARTNERS other nodes, each slow link, and REFERENCES pairs of other nodes for comparison; the
    slowest MOST_REPEATED suspects. Empty if there is no suspect.
    """
    nodes = results[0].table.nodes
    slow = {node: max(result.node_z[node], 0.0) for result in results for node in result.slow_nodes}
    links = {pair: result.link_z[pair] for result in results for pair in result.slow_links}
    if not slow and not links:
        return []
    touched = {*slow, *(node for pair in links for node in pair)}
    sound = [node for node in range(len(nodes)) if node not in touched and not np.isnan(results[0].node_z[node])]
    worst = sorted(slow, key=lambda node: -slow[node])[:MOST_REPEATED]
    numbers = [(node, partner) for node in worst for partner in sound[:PARTNERS]]
    numbers += sorted(links, key=lambda pair: -links[pair])[:MOST_REPEATED]
    numbers += list(zip(sound[::2], sound[1::2]))[:REFERENCES]
    return [(nodes[one], nodes[other]) for one, other in dict.fromkeys(numbers)]


def confirm_suspects(result: JudgedTable, alone: PairTable, threshold: float) -> JudgedTable:
    """Clear the suspects that are not slow when measured alone; `alone` has the same nodes."""
    times = alone.symmetric
    touched = {*result.slow_nodes, *(node for pair in result.slow_links for node in pair)}
    sound = [node for node in range(len(times)) if node not in touched]
    references = pairs_of(times[np.ix_(sound, sound)])
    if not len(references):
        return result
    bound = float(np.median(references)) + log(1 + threshold)
    nodes = [node for node in result.slow_nodes if np.nanmin([*times[node], np.inf]) > bound]
    links = [pair for pair in result.slow_links if not times[pair] <= bound]
    return result._replace(slow_nodes=tuple(nodes), slow_links=tuple(links))


class Health(NamedTuple):
    """The outcome of a check."""

    nodes: tuple[str, ...]
    threshold: float
    results: tuple[JudgedTable, ...]
    failing: tuple[FailingNode, ...]  # the worst first
    failed: Mapping[frozenset[str], str]  # all pairs that failed, with their reasons
    cleared: int = 0  # suspects that were not slow when they were measured alone
    left: int = 0  # pairs that were planned and are not measured

    @property
    def bad_nodes(self) -> tuple[str, ...]:
        """Return the nodes that are slow or in too many failed pairs, each once, in the order of the nodes."""
        slow = {result.table.nodes[node] for result in self.results for node in result.slow_nodes}
        return tuple(name for name in self.nodes if name in slow | {one.node for one in self.failing})

    @property
    def lone_failures(self) -> dict[frozenset[str], str]:
        """Return the failed pairs of nodes that are not named for their failures."""
        named = {one.node for one in self.failing}
        return {pair: why for pair, why in self.failed.items() if not named & pair}

    @property
    def is_measured(self) -> bool:
        """True if any pair has a time or a rate."""
        return any(not np.isnan(result.table.log_time).all() for result in self.results)

    @property
    def is_sound(self) -> bool:
        """True if no node and no link is slow, and no pair failed."""
        return not self.failed and not any(result.slow_nodes or result.slow_links for result in self.results)


def judge_tables(
    tables: Sequence[PairTable],
    tried: frozenset[frozenset[str]],
    failed: Mapping[frozenset[str], str],
    threshold: float,
    unjudged: Collection[str] = (),
) -> Health:
    """Judge the tables, except `unjudged` ones, and the failed pairs; `tried` includes the failed pairs."""
    nodes = tuple(dict.fromkeys(name for table in tables for name in table.nodes))
    nodes = nodes or tuple(sorted({name for pair in tried for name in pair}))
    failing = failing_nodes(tried, failed) if len(nodes) >= FEWEST_NODES - 1 else []
    results = tuple(judge_table(table, inf if table.name in unjudged else threshold) for table in tables)
    return Health(nodes, threshold, results, tuple(failing), dict(failed))
