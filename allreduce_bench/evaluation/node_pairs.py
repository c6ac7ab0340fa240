"""Find the node, or the link between two nodes, that is slower than its peers, from times of pairs of nodes.

Every judgement is relative, by median polish of the logarithms (`lateness.polish`): a node is slow if its effect is, a
link if what the effects of its nodes leave of it is. Both a robust z and the ratio must be large, the ratio also in the
fastest repetition of each pair: noise that slows some repetitions names nobody. Latency and bandwidth, and each test of
a foreign table, are judged by themselves.
"""

from collections.abc import Sequence
from math import exp, inf, log
from statistics import NormalDist, median
from typing import NamedTuple

import numpy as np

from ..lateness.polish import Polished, least_of_pairs, link_z, median_polish, node_z, pairs_of
from ..runs.pair_file import PairRow

NODE_Z, LINK_Z = 3.5, 4.5
FALSE_ALARMS = 0.01  # of tables of normal noise that name a node, and a link: where many are judged, z must be larger
FEWEST = 4  # nodes: with three, one slow node or link changes the median itself
RELIABLE = 8  # nodes: below, a slow node and a slow link are easily taken for each other
FEW_PAIRS = 4  # of a node: below, its median is none
PARTNERS, REFERENCES, MOST_REPEATED = 2, 5, 20  # of what is measured again, alone
MOST_SLOW, LEAST_GROUP = 0.25, 3  # share and number of slow nodes beyond which they are a group
Pair = tuple[str, str]


class PairTable(NamedTuple):
    """Times or rates of pairs of nodes in one test."""

    name: str  # latency, bandwidth, or what a foreign table calls it
    nodes: tuple[str, ...]
    log_time: np.ndarray  # float64 [source, dest]: natural logarithm of seconds, or of 1 over a rate; NaN: missing
    unit: str  # of the values that people read: us, GB/s, or that of a foreign table
    is_rate: bool  # whether those are rates
    factor: float = 1.0  # from seconds, or a rate, to the unit
    log_least: np.ndarray | None = None  # as log_time, of the fastest repetition; None: not known

    @property
    def symmetric(self) -> np.ndarray:
        """float64 [node, node]: the mean of both directions, or the one that there is."""
        return _mean_of_ways(self.log_time)

    @property
    def either_way(self) -> np.ndarray:
        """float64 [source, dest]: a direction that is missing has the time of the other one."""
        return np.where(np.isnan(self.log_time), self.log_time.T, self.log_time)

    def value(self, log_time: float) -> float:
        """A logarithm of the table in the unit."""
        return exp(-log_time if self.is_rate else log_time) * self.factor


class Judged(NamedTuple):
    """A table, taken apart and judged; nodes by their number in it."""

    table: PairTable
    polished: Polished
    node_z: np.ndarray  # float64 [node]; NaN: no pair
    link_z: np.ndarray  # float64 [node, node]
    slow_nodes: tuple[int, ...] = ()
    slow_links: tuple[tuple[int, int], ...] = ()
    group: tuple[int, ...] = ()  # nodes that are slow, but so many that they are no single slow nodes
    is_judged: bool = True  # False: too few nodes, or nobody is to be named

    def node_ratio(self, node: int) -> float:
        """The times of its pairs over those of the other nodes."""
        return exp(self.polished.node_effect[node])

    def link_ratio(self, pair: tuple[int, int]) -> float:
        """Its time over that which both of its nodes have with others."""
        return exp(self.polished.residual[pair])


def judged(table: PairTable, threshold: float) -> Judged:
    """Judge a table; slower by `threshold` at least counts, 0.2 for 20 %. Nothing is named below FEWEST nodes.

    With an infinite threshold it is taken apart only.
    """
    symmetric = table.symmetric
    known = np.count_nonzero(~np.isnan(symmetric), axis=1)
    is_sparse = len(known) > 0 and float(np.median(known)) < min(FEW_PAIRS, len(known) - 1)
    polish = least_of_pairs if is_sparse else median_polish
    polished = polish(symmetric)
    least = polished if table.log_least is None else polish(_mean_of_ways(table.log_least))
    result = Judged(table, polished, node_z(polished), link_z(polished))
    if np.count_nonzero(known) < FEWEST or threshold == inf:
        return result._replace(is_judged=False)
    nodes = np.flatnonzero(
        (result.node_z > _limit(NODE_Z, int(np.count_nonzero(known))))
        & (np.fmin(polished.node_effect, least.node_effect) > log(1 + threshold))
        & (known >= 2)
    )
    if len(nodes) >= LEAST_GROUP and len(nodes) > MOST_SLOW * len(known):
        return result._replace(group=tuple(nodes.tolist()))
    ratios = np.fmin(polished.residual, least.residual)
    is_slow = (result.link_z > _limit(LINK_Z, len(pairs_of(symmetric)))) & (ratios > log(1 + threshold))
    links = [(int(one), int(other)) for one, other in zip(*np.nonzero(np.triu(is_slow, 1)))]
    links.sort(key=lambda pair: -result.link_z[pair])
    return result._replace(slow_nodes=tuple(nodes.tolist()), slow_links=tuple(links))


def _mean_of_ways(logs: np.ndarray) -> np.ndarray:
    both = np.stack([logs, logs.T])
    known = np.count_nonzero(~np.isnan(both), axis=0)
    return np.where(known, np.nansum(both, axis=0) / np.maximum(known, 1), np.nan)


def _limit(least: float, judged_values: int) -> float:
    """The z that FALSE_ALARMS of tables exceed anywhere; at least `least`."""
    return max(least, NormalDist().inv_cdf(1 - FALSE_ALARMS / max(judged_values, 1)))


def tables_of_rows(nodes: Sequence[str], rows: Sequence[PairRow], sizes: tuple[int, int]) -> list[PairTable]:
    """The latency and the bandwidth of what was measured: medians over repetitions, by direction.

    `sizes`: the small and the large message in bytes; of the latter the rate is its bytes over the time until the
    answer.
    """
    small, large = sizes
    number = {name: place for place, name in enumerate(nodes)}
    times_s: dict[tuple[int, int, int], list[float]] = {}
    for row in rows:
        if row.time_s is not None and row.nbytes in sizes and {row.source, row.dest} <= number.keys():
            times_s.setdefault((row.nbytes, number[row.source], number[row.dest]), []).append(row.time_s)
    logs, least = ({size: np.full((len(nodes), len(nodes)), np.nan) for size in sizes} for _ in range(2))
    for (size, source, dest), values in times_s.items():
        logs[size][source, dest] = log(median(values))
        least[size][source, dest] = log(min(values))
    return [
        PairTable("latency", tuple(nodes), logs[small], "us", False, 1e6, least[small]),
        PairTable("bandwidth", tuple(nodes), logs[large], "GB/s", True, large * 1e-9, least[large]),
    ]


def pairs_to_repeat(results: Sequence[Judged]) -> list[Pair]:
    """The pairs to measure alone where suspects were found beside other pairs, which may share uplinks with them.

    Each slow node with PARTNERS nodes that are none, each slow link, and REFERENCES pairs of other nodes to compare
    them with; the slowest MOST_REPEATED suspects. None where there is no suspect.
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


def confirmed(result: Judged, alone: PairTable, threshold: float) -> Judged:
    """The same without the suspects that are not slow when they are measured alone; `alone` has the same nodes."""
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
