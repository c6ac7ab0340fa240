"""Blocks of nodes, such as racks: groups between which all pairs are slower than within.

A node of a small rack has more far pairs than others, so the median of its pairs is slow though the node is sound. So
blocks are found first, and nodes and links are judged after subtracting the level of their pair of blocks.
"""

from typing import NamedTuple

import numpy as np

from ..robust import NORMAL_MAD
from .polish import LEAST_SD, pairs_of

FEWEST_FOR_BLOCKS = 8  # with fewer, blocks are not looked for
LEAST_KNOWN = 0.5  # of the pairs: with fewer, too
FEWEST_IN_BLOCK = 4  # two or three nodes may be near each other by chance, as beside a neighbour's load
LEAST_NEAR = float(np.log(1.1))  # least step between near and far pairs, a logarithm
SEPARATED = 5.0  # robust standard deviations / sqrt(s - 1) by which the pairs of a block of s nodes are near
MOST_CUTS, SWEEPS = 6, 5  # cuts of the tree that are tried; rounds in which nodes move between the blocks of one
MARGIN = 0.25  # of the step from near to far, by which a node is nearer to its block than to any other


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
    """Return the step from the median near pair to the median far pair, a logarithm; NaN: none is known."""
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
