"""The times of pairs of nodes taken apart: what is a node's, what is a link's, and what is a rack's. Needs numpy only.

The model of a pair: log time(i, j) = overall + node(i) + node(j) + residual(i, j). A slow node raises all its pairs,
which its effect takes up; a slow link raises one pair, which stays as its residual. Effects are medians, so that fewer
than half of a node's pairs may be slow without being taken for the node: median polish, Tukey, Exploratory Data
Analysis, 1977, here of a symmetric table.

Blocks are groups of nodes (racks, switches) between which all pairs are slower than within. A node of a small rack has
more far pairs than others, so the median of its pairs is slow though the node is sound. So blocks are found first
(`find_blocks`), and nodes and links are judged by what the level of their pair of blocks leaves.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..robust import NORMAL_MAD

# Median polish and standard deviations
MOST_SWEEPS, SETTLED = 50, 1e-6  # of the polish; the largest change of an effect, relative
LEAST_SD = 0.01  # no standard deviation is taken to be smaller: what differs by less is the same
SMALL_SAMPLE = {2: 1.196, 3: 1.495, 4: 1.363, 5: 1.206, 6: 1.200, 7: 1.140, 8: 1.129, 9: 1.107}  # see `robust_sd`

# Blocks of nodes
FEWEST_NODES = 8  # of fewer, blocks are not seen
LEAST_KNOWN = 0.5  # of the pairs, likewise
LEAST_NEAR = float(np.log(1.1))  # how much faster than far pairs those of a block are
SEPARATED = 5.0  # robust standard deviations by which the single pair of two nodes is near; of s nodes / sqrt(s - 1)
MOST_CUTS, SWEEPS = 6, 5  # cuts of the tree that are tried; rounds in which nodes move between the blocks of one
MARGIN = 0.25  # of the step from near to far, by which a node is nearer to its block than to any other


class Polished(NamedTuple):
    """A table of pairs, taken apart: natural logarithms, NaN where nothing is known."""

    overall: float
    node_effect: np.ndarray  # float64 [node]
    residual: np.ndarray  # float64 [node, node], symmetric


def median_polish(log_matrix: np.ndarray) -> Polished:
    """Take a table of pairs apart into what is common, what is a node's, and what is left to each pair.

    `log_matrix`: float64 [node, node], symmetric; NaN where a pair is missing. The median of the effects is 0; the
    effect of a node without pairs is NaN.
    """
    residual = np.array(log_matrix, dtype=np.float64)
    np.fill_diagonal(residual, np.nan)
    others = [np.flatnonzero(row) for row in ~np.isnan(residual)]
    # begun from medians of rows: from one median of all, of which half may be slow at 4 nodes, sweeps may get stuck
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
    """Take a table apart without the nodes `left_out`, whose effects are then what their pairs with the others say.

    So nodes that are slow do not hide one that is so by little: the spread of effects is that of the others.
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


def least_of_pairs(log_matrix: np.ndarray) -> Polished:
    """Take a table apart where nodes have too few pairs for a median: a node is as fast as in the fastest of its pairs.

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
    """The standard deviation of normal values by their median absolute deviation; at least LEAST_SD.

    Factors for small samples: Croux and Rousseeuw, Time-efficient algorithms for two highly robust estimators of scale,
    1992. NaN are left out; LEAST_SD below two values.
    """
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return LEAST_SD
    factor = SMALL_SAMPLE.get(len(known), len(known) / (len(known) - 0.8))
    return max(LEAST_SD, factor * float(np.median(np.abs(known - np.median(known)))) / NORMAL_MAD)


def residual_sd(polished: Polished) -> float:
    """The standard deviation of the residuals of pairs, at least LEAST_SD.

    A median polish makes as many residuals 0 as it has effects; these say nothing, and are left out (as in the scale of
    regression by least absolute deviations: Rousseeuw and Leroy, Robust Regression and Outlier Detection, 1987).
    """
    sizes = np.sort(np.abs(pairs_of(polished.residual)))
    left = sizes[min(len(sizes) // 2, np.count_nonzero(~np.isnan(polished.node_effect))) :]
    return max(LEAST_SD, float(left[(len(left) - 1) // 2]) / NORMAL_MAD) if len(left) else LEAST_SD


def node_z(polished: Polished, left_out: Sequence[int] = ()) -> np.ndarray:
    """float64 [node]: how many standard deviations a node's effect lies above the others'.

    That of effects is taken from their spread, without that of the nodes `left_out`, but never below what the residuals
    alone would make of medians of equal nodes: few nodes may agree by chance.
    """
    pairs = np.count_nonzero(~np.isnan(polished.residual), axis=1)
    by_chance = np.sqrt(np.pi / 2) * residual_sd(polished) / np.sqrt(np.maximum(pairs, 1))
    return polished.node_effect / np.maximum(robust_sd(np.delete(polished.node_effect, left_out)), by_chance)


def link_z(polished: Polished) -> np.ndarray:
    """float64 [node, node]: how many standard deviations a pair's residual lies above the others'."""
    return polished.residual / residual_sd(polished)


def pairs_of(matrix: np.ndarray) -> np.ndarray:
    """Each pair once, those that are missing left out."""
    upper = matrix[np.triu_indices(len(matrix), 1)]
    return upper[~np.isnan(upper)]


class Blocks(NamedTuple):
    """The blocks of the nodes of a table; no members where there are fewer than two blocks."""

    members: tuple[tuple[int, ...], ...] = ()  # of each block its nodes, the largest block first
    alone: tuple[int, ...] = ()  # nodes that are as far from every block
    far_ratio: float = 1.0  # the median time of pairs between blocks over that within them


NO_BLOCKS = Blocks()


def find_blocks(log_time: np.ndarray) -> Blocks:
    """Find the blocks of a table of pairs: float64 [node, node], symmetric logarithms of times; NaN: missing.

    Nodes are joined by average linkage (Sokal and Michener, Univ. Kansas Sci. Bull. 38, 1958), the logarithms of times
    being the distances, and cut at the largest steps of its heights. Of each cut, nodes go to the block that they are
    nearest to, and a block stands that is near by more than noise explains (SEPARATED); the cut whose levels fit best
    is taken. A node that is as far from every block is alone: behind a switch of its own, or slow. Loads scipy.
    """
    present = np.flatnonzero(np.count_nonzero(~np.isnan(log_time), axis=1))
    table = log_time[np.ix_(present, present)]
    if len(present) < FEWEST_NODES or len(pairs_of(table)) < LEAST_KNOWN * len(present) * (len(present) - 1) / 2:
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
    """float64 [node, node]: the median of the pairs of both blocks; of a node that is alone, of far pairs."""
    of_node = np.full(len(log_time), -1)
    for block, members in enumerate(blocks.members):
        of_node[list(members)] = block
    return _levels(log_time, of_node)


def _cuts(table: np.ndarray) -> list[np.ndarray]:
    """int [node] each: its block, or -1; the blocks that stand at the largest steps of the heights."""
    from scipy.cluster.hierarchy import fcluster, linkage

    middles = np.nanmedian(np.where(np.eye(len(table), dtype=bool), np.nan, table), axis=1)
    expected = np.maximum(middles, middles[:, None])  # of a pair that is missing: as its slower node
    filled = np.where(np.isnan(table), expected, table)
    distances = filled[np.triu_indices(len(table), 1)]
    tree = linkage(distances - distances.min(), "average")
    heights = tree[:, 2]
    largest = np.argsort(-np.diff(heights), kind="stable")[:MOST_CUTS]
    return [
        _settled(table, fcluster(tree, (heights[at] + heights[at + 1]) / 2, "distance") - 1) for at in largest.tolist()
    ]


def _settled(table: np.ndarray, of_node: np.ndarray) -> np.ndarray:
    """The blocks that stand, each node in the one that it is nearest to."""
    for _ in range(SWEEPS):
        of_node = _standing(table, _renumbered(of_node))
        moved = _nearest(table, of_node)
        if of_node.max() < 1 or (moved == of_node).all():
            return of_node
        of_node = moved
    return _standing(table, _renumbered(of_node))


def _renumbered(of_node: np.ndarray) -> np.ndarray:
    """Blocks of two nodes or more, from 0; nodes of others are in none."""
    kept = [block for block in np.unique(of_node[of_node >= 0]) if np.count_nonzero(of_node == block) > 1]
    number = {block: place for place, block in enumerate(kept)}
    return np.array([number.get(block, -1) for block in of_node])


def _standing(table: np.ndarray, of_node: np.ndarray) -> np.ndarray:
    """Leave out blocks whose pairs are not near by more than noise explains."""
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
    return _renumbered(kept)


def _nearest(table: np.ndarray, of_node: np.ndarray) -> np.ndarray:
    """int [node]: the block that a node is nearest to by MARGIN; -1: it is as far from another one."""
    blocks = of_node.max() + 1
    if blocks < 2:
        return of_node
    own = np.stack([_row_medians(table[:, of_node == block]) for block in range(blocks)], axis=1)
    ordered = np.sort(own, axis=1)  # NaN last: with fewer than two blocks nothing is compared
    is_nearer = ordered[:, 1] - ordered[:, 0] >= MARGIN * _step(table, of_node)
    return np.where(is_nearer, np.where(np.isnan(own), np.inf, own).argmin(axis=1), -1)


def _row_medians(values: np.ndarray) -> np.ndarray:
    """Return the median of each row, NaN left out; NaN of none."""
    is_empty = np.isnan(values).all(axis=1)
    return np.where(is_empty, np.nan, np.nanmedian(np.where(is_empty[:, None], 0.0, values), axis=1))


def _block_medians(table: np.ndarray, of_node: np.ndarray) -> np.ndarray:
    """float64 [block, block]; NaN where two blocks have no pair."""
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
    """float64 [node, node]; of a node in no block the median of its partner's block with others."""
    medians = _block_medians(table, of_node)
    far = medians[~np.eye(len(medians), dtype=bool)]
    all_far = float(np.nanmedian(far))
    far_of = _row_medians(np.where(np.eye(len(medians), dtype=bool), np.nan, medians))
    padded = np.full((len(medians) + 1,) * 2, all_far)  # the last row, which -1 names, is of nodes in no block
    padded[:-1, :-1] = np.where(np.isnan(medians), all_far, medians)
    padded[-1, :-1] = padded[:-1, -1] = np.where(np.isnan(far_of), all_far, far_of)
    return padded[np.ix_(of_node, of_node)]


def _step(table: np.ndarray, of_node: np.ndarray) -> float:
    """Return the step from the median of near pairs to that of far ones, a logarithm; NaN: none of either is known."""
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
