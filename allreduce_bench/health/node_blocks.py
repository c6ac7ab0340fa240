"""Groups of nodes between which all pairs are slower than within: racks, switches, not nodes.

A pair within a rack is near, a pair between racks far. A node of a small rack has more far pairs than others, so the
median of its pairs is slow though the node is sound: blocks are found first, and nodes and links are judged by what
the level of their pair of blocks leaves.

Nodes are joined by average linkage (Sokal and Michener, Univ. Kansas Sci. Bull. 38, 1958), the logarithms of times
being the distances, and cut at the largest steps of its heights. Of each cut, nodes go to the block that they are
nearest to, and a block stands that is near by more than noise explains (SEPARATED); the cut whose levels fit best is
taken. A node that is as far from every block is alone: behind a switch of its own, or slow. scipy is loaded late.
"""

from typing import NamedTuple

import numpy as np

from .polish import FLOOR, NORMAL_MAD, pairs_of

FEWEST_NODES = 8
LEAST_KNOWN = 0.5  # of the pairs: with fewer, blocks are not seen
LEAST_NEAR = float(np.log(1.1))  # how much faster than far pairs those of a block are
SEPARATED = 5.0  # robust standard deviations by which the single pair of two nodes is near; of s nodes / sqrt(s - 1)
MOST_CUTS, SWEEPS = 6, 5
MARGIN = 0.25  # of the step from near to far, by which a node is nearer to its block than to any other


class Blocks(NamedTuple):
    """The blocks of the nodes of a table; no members where there are fewer than two blocks."""

    members: tuple[tuple[int, ...], ...] = ()  # of each block its nodes, the largest block first
    alone: tuple[int, ...] = ()  # nodes that are as far from every block
    far_ratio: float = 1.0  # the median time of pairs between blocks over that within them


NO_BLOCKS = Blocks()


def find_blocks(log_time: np.ndarray) -> Blocks:
    """The blocks of a table of pairs: float64 [node, node], symmetric logarithms of times; NaN: missing."""
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
    """The same without blocks whose pairs are not near by more than noise explains."""
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
    """Of each row, NaN left out; NaN of none."""
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
    """From the median of near pairs to that of far ones, a logarithm; NaN: of one of them none is known."""
    is_near = (of_node[:, None] == of_node) & (of_node >= 0)
    is_far = (of_node[:, None] != of_node) & (of_node >= 0) & (of_node[:, None] >= 0)
    far, near = (table[pairs] for pairs in (is_far, is_near & ~np.eye(len(table), dtype=bool)))
    if np.isnan(far).all() or np.isnan(near).all():  # no pair is known
        return np.nan
    return float(np.nanmedian(far) - np.nanmedian(near))


def _noise(table: np.ndarray, of_node: np.ndarray) -> float:
    left = pairs_of(np.abs(table - _levels(table, of_node)))
    return max(FLOOR, float(np.median(left)) / NORMAL_MAD)


def _misfit(table: np.ndarray, of_node: np.ndarray) -> float:
    return float(np.mean(pairs_of(np.abs(table - _levels(table, of_node)))))
