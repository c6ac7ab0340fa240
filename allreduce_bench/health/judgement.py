"""Judgement of pairs of nodes: times divided into effects of nodes, links and racks; slow nodes and links named.

The model of a pair: log time(i, j) = overall + node(i) + node(j) + residual(i, j). A slow node raises all its pairs,
which its effect absorbs; a slow link raises one pair, which remains as its residual. Effects are medians, so that fewer
than half of a node's pairs may be slow without raising its effect: median polish, Tukey, Exploratory Data Analysis,
1977, here of a symmetric table. Needs numpy only.

Blocks are groups of nodes (racks, switches) between which all pairs are slower than within. A node of a small rack has
more far pairs than others, so the median of its pairs is slow though the node is sound. So blocks are found first
(`find_blocks`), and nodes and links are judged after subtracting the level of their pair of blocks.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import comb, exp, inf, log
from statistics import NormalDist, median
from typing import NamedTuple

import numpy as np

from ..robust import NORMAL_MAD
from .pairs import PairRow

# Median polish and standard deviations
MOST_SWEEPS, SETTLED = 50, 1e-6  # of the polish; the largest change of an effect, relative
LEAST_SD = 0.01  # lower bound of standard deviations: smaller differences do not count
SMALL_SAMPLE = {2: 1.196, 3: 1.495, 4: 1.363, 5: 1.206, 6: 1.200, 7: 1.140, 8: 1.129, 9: 1.107}  # see `robust_sd`

# Blocks of nodes
FEWEST_FOR_BLOCKS = 8  # with fewer, blocks are not looked for
LEAST_KNOWN = 0.5  # of the pairs, likewise
FEWEST_IN_BLOCK = 4  # two or three nodes may be near each other by chance, as beside a neighbour's load
LEAST_NEAR = float(np.log(1.1))  # least step between near and far pairs, a logarithm
SEPARATED = 5.0  # robust standard deviations / sqrt(s - 1) by which the pairs of a block of s nodes are near
MOST_CUTS, SWEEPS = 6, 5  # cuts of the tree that are tried; rounds in which nodes move between the blocks of one
MARGIN = 0.25  # of the step from near to far, by which a node is nearer to its block than to any other


class Polished(NamedTuple):
    """A table of pairs after the polish: natural logarithms, NaN where unknown."""

    overall: float
    node_effect: np.ndarray  # float64 [node]
    residual: np.ndarray  # float64 [node, node], symmetric


def median_polish(log_matrix: np.ndarray) -> Polished:
    """Divide a table of pairs into a common level, an effect of each node, and a residual of each pair.

    `log_matrix`: float64 [node, node], symmetric; NaN if a pair is missing. The median of the effects is 0; the
    effect of a node without pairs is NaN.
    """
    residual = np.array(log_matrix, dtype=np.float64)
    np.fill_diagonal(residual, np.nan)
    others = [np.flatnonzero(row) for row in ~np.isnan(residual)]
    # start from medians of rows: from one median of all, of which half may be slow at 4 nodes, sweeps may get stuck
    middles = np.array([np.median(row[known]) if len(known) else np.nan for row, known in zip(residual, others)])
    overall = float(np.nanmedian(middles)) if not np.isnan(middles).all() else np.nan
    effect = middles - overall
    residual -= overall + effect + effect[:, None]
    for _ in range(MOST_SWEEPS):
        largest = 0.0
        for node, known in enumerate(others):
            if len(known):
                change = np.median(residual[node, known])
                effect[node] += change
                residual[node] -= change
                residual[:, node] -= change
                largest = max(largest, abs(change))
        if largest < SETTLED:
            break
    middle = float(np.nanmedian(effect)) if len(effect) and not np.isnan(effect).all() else 0.0
    return Polished(overall + 2 * middle, effect - middle, residual)


def polish_beside(log_matrix: np.ndarray, left_out: Sequence[int]) -> Polished:
    """Polish a table without the nodes `left_out`, whose effects then follow from their pairs with the others.

    So slow nodes do not mask one that is slightly slow: the spread of effects is that of the others.
    """
    table = np.array(log_matrix, dtype=np.float64)
    np.fill_diagonal(table, np.nan)
    without = table.copy()
    without[list(left_out)] = without[:, list(left_out)] = np.nan
    overall, effect, _ = median_polish(without)
    for node in left_out:
        over = table[node] - overall - effect
        effect[node] = np.median(over[~np.isnan(over)]) if not np.isnan(over).all() else np.nan
    return Polished(overall, effect, table - overall - effect - effect[:, None])


def split_by_least(log_matrix: np.ndarray) -> Polished:
    """Divide a table whose nodes have too few pairs for a median: a node is as fast as the fastest of its pairs.

    So a slow partner does not make a node slow (DLRover, node check: two rounds, the second pairs slow with fast).
    """
    table = np.array(log_matrix, dtype=np.float64)
    np.fill_diagonal(table, np.nan)
    filled = np.where(np.isnan(table), np.inf, table).min(axis=1, initial=np.inf)
    least = np.where(np.isinf(filled), np.nan, filled)
    overall = float(np.nanmedian(least)) if not np.isnan(least).all() else np.nan
    effect = least - overall
    return Polished(overall, effect, table - overall - effect - effect[:, None])


def robust_sd(values: np.ndarray) -> float:
    """Return the standard deviation of normal values by their median absolute deviation; at least LEAST_SD.

    Factors for small samples: Croux and Rousseeuw, Time-efficient algorithms for two highly robust estimators of scale,
    1992. NaN are left out; LEAST_SD below two values.
    """
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return LEAST_SD
    factor = SMALL_SAMPLE.get(len(known), len(known) / (len(known) - 0.8))
    return max(LEAST_SD, factor * float(np.median(np.abs(known - np.median(known)))) / NORMAL_MAD)


def residual_sd(polished: Polished) -> float:
    """Return the standard deviation of the residuals of pairs, at least LEAST_SD.

    A median polish makes as many residuals 0 as it has effects; these are uninformative, and left out (as in the scale
    of regression by least absolute deviations: Rousseeuw and Leroy, Robust Regression and Outlier Detection, 1987).
    """
    sizes = np.sort(np.abs(pairs_of(polished.residual)))
    left = sizes[min(len(sizes) // 2, np.count_nonzero(~np.isnan(polished.node_effect))) :]
    return max(LEAST_SD, float(left[(len(left) - 1) // 2]) / NORMAL_MAD) if len(left) else LEAST_SD


def node_z(polished: Polished, left_out: Sequence[int] = ()) -> np.ndarray:
    """Return a node's effect over those of the others, float64 [node], in standard deviations.

    The standard deviation is that of the effects, without the nodes `left_out`, but at least that of medians of
    residuals of equal nodes: few nodes may agree by chance.
    """
    pairs = np.count_nonzero(~np.isnan(polished.residual), axis=1)
    by_chance = np.sqrt(np.pi / 2) * residual_sd(polished) / np.sqrt(np.maximum(pairs, 1))
    return polished.node_effect / np.maximum(robust_sd(np.delete(polished.node_effect, left_out)), by_chance)


def link_z(polished: Polished) -> np.ndarray:
    """Return a pair's residual over those of the others, float64 [node, node], in standard deviations."""
    return polished.residual / residual_sd(polished)


def pairs_of(matrix: np.ndarray) -> np.ndarray:
    """Return each pair once, without missing ones."""
    upper = matrix[np.triu_indices(len(matrix), 1)]
    return upper[~np.isnan(upper)]


class Blocks(NamedTuple):
    """The blocks of the nodes of a table; no members if there are fewer than two blocks."""

    members: tuple[tuple[int, ...], ...] = ()  # nodes of each block, the largest block first
    alone: tuple[int, ...] = ()  # nodes equally far from every block
    far_ratio: float = 1.0  # the median time of pairs between blocks over that within them


NO_BLOCKS = Blocks()


def find_blocks(log_time: np.ndarray) -> Blocks:
    """Find the blocks of a table of pairs: float64 [node, node], symmetric logarithms of times; NaN: missing.

    Nodes are joined by average linkage (Sokal and Michener, Univ. Kansas Sci. Bull. 38, 1958), the logarithms of times
    being the distances, and cut at the largest steps of its heights. For each cut, nodes move to their nearest block,
    and a block is kept if it is nearer than noise explains (SEPARATED); the cut whose levels fit best is taken. A node
    equally far from every block is alone: behind a switch of its own, or slow. Loads scipy.
    """
    present = np.flatnonzero(np.count_nonzero(~np.isnan(log_time), axis=1))
    table = log_time[np.ix_(present, present)]
    if len(present) < FEWEST_FOR_BLOCKS or len(pairs_of(table)) < LEAST_KNOWN * len(present) * (len(present) - 1) / 2:
        return NO_BLOCKS
    fits = [(_misfit(table, of_node), of_node) for of_node in _cuts(table) if of_node.max() > 0]
    if not fits:
        return NO_BLOCKS
    _, of_node = min(fits, key=lambda fit: fit[0])
    members = [tuple(present[of_node == block].tolist()) for block in range(of_node.max() + 1)]
    return Blocks(
        tuple(sorted(members, key=lambda nodes: (-len(nodes), nodes))),
        tuple(present[of_node < 0].tolist()),
        float(np.exp(_step(table, of_node))),
    )


def levels(log_time: np.ndarray, blocks: Blocks) -> np.ndarray:
    """Return the median of the pairs of both blocks, float64 [node, node]; of a node that is alone, of far pairs."""
    of_node = np.full(len(log_time), -1)
    for block, members in enumerate(blocks.members):
        of_node[list(members)] = block
    return _levels(log_time, of_node)


def _cuts(table: np.ndarray) -> list[np.ndarray]:
    """Return the block of each node, or -1, int [node], for each cut at one of the largest steps of the heights."""
    from scipy.cluster.hierarchy import fcluster, linkage

    middles = np.nanmedian(np.where(np.eye(len(table), dtype=bool), np.nan, table), axis=1)
    expected = np.maximum(middles, middles[:, None])  # of a missing pair: as its slower node
    filled = np.where(np.isnan(table), expected, table)
    distances = filled[np.triu_indices(len(table), 1)]
    tree = linkage(distances - distances.min(), "average")
    heights = tree[:, 2]
    largest = np.argsort(-np.diff(heights), kind="stable")[:MOST_CUTS]
    return [
        _settle_blocks(table, fcluster(tree, (heights[at] + heights[at + 1]) / 2, "distance") - 1)
        for at in largest.tolist()
    ]


def _settle_blocks(table: np.ndarray, of_node: np.ndarray) -> np.ndarray:
    """Return the blocks that are kept, each node in its nearest one."""
    for _ in range(SWEEPS):
        of_node = _drop_blurred_blocks(table, _renumber_blocks(of_node))
        moved = _assign_nearest(table, of_node)
        if of_node.max() < 1 or (moved == of_node).all():
            return of_node
        of_node = moved
    return _drop_blurred_blocks(table, _renumber_blocks(of_node))


def _renumber_blocks(of_node: np.ndarray) -> np.ndarray:
    """Renumber blocks of FEWEST_IN_BLOCK nodes or more from 0; nodes of others are in none."""
    blocks = np.unique(of_node[of_node >= 0])
    kept = [block for block in blocks if np.count_nonzero(of_node == block) >= FEWEST_IN_BLOCK]
    number = {block: place for place, block in enumerate(kept)}
    return np.array([number.get(block, -1) for block in of_node])


def _drop_blurred_blocks(table: np.ndarray, of_node: np.ndarray) -> np.ndarray:
    """Drop blocks whose pairs are not nearer than noise explains."""
    medians = _block_medians(table, of_node)
    if np.isnan(medians[~np.eye(len(medians), dtype=bool)]).all():  # also of one block, which has no other
        return np.full(len(of_node), -1)
    noise = _noise(table, of_node)
    kept = of_node.copy()
    for block, row in enumerate(medians):
        nearest_other = np.fmin.reduce(np.delete(row, block))  # NaN: it has pairs with no other
        least = max(LEAST_NEAR, SEPARATED * noise / np.sqrt(np.count_nonzero(of_node == block) - 1))
        if not nearest_other - row[block] >= least:
            kept[of_node == block] = -1
    return _renumber_blocks(kept)


def _assign_nearest(table: np.ndarray, of_node: np.ndarray) -> np.ndarray:
    """Return the block that a node is nearest to by MARGIN, int [node]; -1: another is about as near."""
    blocks = of_node.max() + 1
    if blocks < 2:
        return of_node
    own = np.stack([_row_medians(table[:, of_node == block]) for block in range(blocks)], axis=1)
    ordered = np.sort(own, axis=1)  # NaN last: with fewer than two blocks nothing is compared
    is_nearer = ordered[:, 1] - ordered[:, 0] >= MARGIN * _step(table, of_node)
    return np.where(is_nearer, np.where(np.isnan(own), np.inf, own).argmin(axis=1), -1)


def _row_medians(values: np.ndarray) -> np.ndarray:
    """Return the median of each row, ignoring NaN; NaN if all are."""
    is_empty = np.isnan(values).all(axis=1)
    return np.where(is_empty, np.nan, np.nanmedian(np.where(is_empty[:, None], 0.0, values), axis=1))


def _block_medians(table: np.ndarray, of_node: np.ndarray) -> np.ndarray:
    """Return the medians of blocks, float64 [block, block]; NaN if two blocks have no pair."""
    blocks = of_node.max() + 1
    found = np.full((blocks, blocks), np.nan)
    for one in range(blocks):
        for other in range(one + 1):
            part = table[np.ix_(of_node == one, of_node == other)]
            known = part[~np.isnan(part)]
            if len(known):
                found[one, other] = found[other, one] = np.median(known)
    return found


def _levels(table: np.ndarray, of_node: np.ndarray) -> np.ndarray:
    """Return levels, float64 [node, node]; of a node in no block the median of its partner's block with others."""
    medians = _block_medians(table, of_node)
    far = medians[~np.eye(len(medians), dtype=bool)]
    all_far = float(np.nanmedian(far))
    far_of = _row_medians(np.where(np.eye(len(medians), dtype=bool), np.nan, medians))
    padded = np.full((len(medians) + 1,) * 2, all_far)  # the last row, indexed by -1, is of nodes in no block
    padded[:-1, :-1] = np.where(np.isnan(medians), all_far, medians)
    padded[-1, :-1] = padded[:-1, -1] = np.where(np.isnan(far_of), all_far, far_of)
    return padded[np.ix_(of_node, of_node)]


def _step(table: np.ndarray, of_node: np.ndarray) -> float:
    """Return the step from the median of near pairs to that of far ones, a logarithm; NaN: either has no known pair."""
    is_near = (of_node[:, None] == of_node) & (of_node >= 0)
    is_far = (of_node[:, None] != of_node) & (of_node >= 0) & (of_node[:, None] >= 0)
    far, near = (table[pairs] for pairs in (is_far, is_near & ~np.eye(len(table), dtype=bool)))
    if np.isnan(far).all() or np.isnan(near).all():  # no pair is known
        return np.nan
    return float(np.nanmedian(far) - np.nanmedian(near))


def _noise(table: np.ndarray, of_node: np.ndarray) -> float:
    left = pairs_of(np.abs(table - _levels(table, of_node)))
    return max(LEAST_SD, float(np.median(left)) / NORMAL_MAD)


def _misfit(table: np.ndarray, of_node: np.ndarray) -> float:
    return float(np.mean(pairs_of(np.abs(table - _levels(table, of_node)))))


# Nodes and links that are slower than their peers, or in more failed pairs than chance explains.
#
# Every judgement of times is relative, by median polish of their logarithms: a node is slow if its effect is, a link if
# its residual is. Both a robust z and the ratio must be large, the ratio also in the fastest repetition of each pair:
# noise in some repetitions names no node. Latency and bandwidth, and each test of a foreign table, are judged
# separately. Failed pairs are judged by `failing_nodes`.


# Failed pairs
FAILURES_LEVEL = 0.05  # false alarm rate: sets of failed pairs without a guilty node in which one is named, at most

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

# What too few nodes cannot show
NOTHING, TWO_NODES, THREE_NODES, FEW_NODES = "", "two nodes", "three nodes", "few nodes"  # what cannot be told

Pair = tuple[str, str]


class FailingNode(NamedTuple):
    """A node that is in too many failed pairs."""

    node: str
    failed: int  # pairs of it that failed
    tried: int  # pairs of it that were tried
    all_failed: int  # failed pairs of all nodes
    expected: float  # failed pairs of it by chance
    p_value: float  # probability that as many or more fail by chance, times the nodes; at most 1


def failing_nodes(tried: Iterable[frozenset[str]], failed: Iterable[frozenset[str]]) -> list[FailingNode]:
    """Return the nodes that are in too many failed pairs, the worst first; `tried` includes the failed pairs.

    If failures were independent of nodes, the pairs of one node would be a sample of all pairs without replacement: the
    number of failed ones is hypergeometric (Fisher, The design of experiments, 1935). The nodes are judged together
    (Bonferroni). The worst one is named first, and its pairs are removed before the others are judged: a failed pair
    has two nodes.

    A node all of whose pairs failed is named also if too few pairs were tried for a test, unless all pairs failed.
    """
    pairs, broken = set(tried), set(failed)
    found: list[FailingNode] = []
    while broken and broken != pairs:
        candidates = [_failures_of(node, pairs, broken) for node in {name for pair in broken for name in pair}]
        worst = min(candidates, key=lambda one: (one.p_value, -one.failed / one.tried, -one.failed, one.node))
        dead = sorted((one for one in candidates if one.failed == one.tried >= 2), key=lambda one: -one.failed)
        if worst.p_value > FAILURES_LEVEL and not dead:
            break
        named = worst if worst.p_value <= FAILURES_LEVEL else dead[0]
        found.append(named)
        pairs = {pair for pair in pairs if named.node not in pair}
        broken = {pair for pair in broken if named.node not in pair}
    return found


def _failures_of(node: str, pairs: set[frozenset[str]], broken: set[frozenset[str]]) -> FailingNode:
    own, own_broken = sum(node in pair for pair in pairs), sum(node in pair for pair in broken)
    nodes = len({name for pair in pairs for name in pair})
    p_value = chance_of_failures(own_broken, len(broken), own, len(pairs))
    expected = len(broken) * own / len(pairs)
    return FailingNode(node, own_broken, own, len(broken), expected, min(1.0, nodes * p_value))


def chance_of_failures(number: int, failed: int, own: int, pairs: int) -> float:
    """Return the probability that `number` or more of `own` pairs, drawn from `pairs` with `failed` failed, failed."""
    ways = sum(comb(failed, k) * comb(pairs - failed, own - k) for k in range(number, min(failed, own) + 1))
    return ways / comb(pairs, own)


def unexplained_failures(
    failed: Mapping[frozenset[str], str], named: Iterable[FailingNode]
) -> dict[frozenset[str], str]:
    """Return the failed pairs of nodes that are not named, with their reasons."""
    nodes = {one.node for one in named}
    return {pair: why for pair, why in failed.items() if not nodes & pair}


class PairTable(NamedTuple):
    """Times or rates of pairs of nodes in one test."""

    name: str  # latency, bandwidth, or what a foreign table calls it
    nodes: tuple[str, ...]
    log_time: np.ndarray  # float64 [source, dest]: natural logarithm of seconds, or of 1 over a rate; NaN: missing
    unit: str  # of the values for people: us, GB/s, or that of a foreign table
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
        """Return the times of its pairs over those of the other nodes."""
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
    """Return the slow nodes: those of the whole table, then those that appear once these are left out, and so on.

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
    """Return those that are as slow as their median, within the threshold: a switch slows its nodes alike."""
    middle = float(np.median(effect[list(slow)])) if slow else 0.0
    return [node for node in slow if abs(effect[node] - middle) < log(1 + threshold)]


def _slow_half(symmetric: np.ndarray, least: np.ndarray, threshold: float) -> tuple[int, ...]:
    """Find so many slow nodes that most pairs are slow, so that medians do not show them; empty: there are none.

    By the quartile of a node's pairs, which is slow only if hardly any partner is fast with it: two levels of
    quartiles, and pairs of slow nodes with each other as slow as those with fast ones, unlike those of a rack.
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
    small, large = sizes
    number = {name: place for place, name in enumerate(nodes)}
    times_s: dict[tuple[int, int, int], list[float]] = {}
    for row in rows:
        if row.time_s is not None and row.size_bytes in sizes and {row.source, row.dest} <= number.keys():
            times_s.setdefault((row.size_bytes, number[row.source], number[row.dest]), []).append(row.time_s)
    logs, least = ({size: np.full((len(nodes), len(nodes)), np.nan) for size in sizes} for _ in range(2))
    for (size, source, dest), values in times_s.items():
        logs[size][source, dest] = log(median(values))
        least[size][source, dest] = log(min(values))
    return [
        PairTable("latency", tuple(nodes), logs[small], "us", False, 1e6, least[small]),
        PairTable("bandwidth", tuple(nodes), logs[large], "GB/s", True, large * 1e-9, least[large]),
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


class SettingColumn(NamedTuple):
    """A column of a foreign table between whose values times differ: a setting, not a node."""

    column: str  # of the foreign table
    slow: str  # its value with the longest times
    fast: str  # its value with the shortest times
    ratio: float  # of the median times of both
    nodes: tuple[str, ...]  # that are in every pair with the slow value


class Health(NamedTuple):
    """The outcome of a check."""

    nodes: tuple[str, ...]
    threshold: float
    results: tuple[JudgedTable, ...]
    failing: tuple[FailingNode, ...]  # the worst first
    failed: Mapping[frozenset[str], str]  # all pairs that failed, with their reasons
    cleared: int = 0  # suspects that were not slow when they were measured alone
    left: int = 0  # pairs that were planned and are not measured
    settings: tuple[SettingColumn, ...] = ()  # within each of which pairs are judged

    @property
    def bad_nodes(self) -> tuple[str, ...]:
        """Return the nodes that are slow or in too many failed pairs, each once, in the order of the nodes."""
        slow = {result.table.nodes[node] for result in self.results for node in result.slow_nodes}
        return tuple(name for name in self.nodes if name in slow | {one.node for one in self.failing})

    @property
    def lone_failures(self) -> dict[frozenset[str], str]:
        """Return the failed pairs of nodes that are not named for their failures."""
        return unexplained_failures(self.failed, self.failing)

    @property
    def is_sound(self) -> bool:
        """True if no node and no link is slow, and no pair failed."""
        return not self.failed and not any(result.slow_nodes or result.slow_links for result in self.results)

    @property
    def unknown(self) -> str:
        """Return what too few nodes cannot show: a code, or NOTHING."""
        if len(self.nodes) >= RELIABLE:
            return NOTHING
        return {2: TWO_NODES, 3: THREE_NODES}.get(len(self.nodes), FEW_NODES)


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
