"""Resemblance of the library's own all-reduce to the algorithms of a run, at each number of ranks and size.

Shapes are compared, since the library's own steps cost less than ours: its times around a point are explained by the
messages and bytes on each algorithm's critical path, at prices of their own (alpha, beta, with or without a constant
for the call, none negative). Algorithms differ in how these grow with ranks and size, so times at two numbers of ranks
are needed at least: at one, all of them are a constant plus a multiple of the size.

A library switches algorithms by size. So the sizes are cut into pieces in every possible way, each piece belongs to one
algorithm at prices of its own, and all ways are weighted (BIC, with a prior on the place and algorithm of every cut):
exact Bayesian change points, summed over forward and backward (`weigh`). The assumed error of an explanation is the
largest of three: the noise between launches, the misfit of our own algorithms to their own critical paths, and the
residual of the best explanation. Ranks differ, so each is judged with its neighbours only.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations, groupby
from math import log, sqrt
from statistics import stdev
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..algorithms import builtin
from ..evaluation.cell_times import competing
from ..evaluation.summary_row import SummaryRow, time_of
from ..message import Refused, say
from ..runs.cell import COMPILED, NATIVE, executor_of
from ..stats import median
from ..units import format_size, in_ranks
from .known_algorithms import known_as
from .terms import terms
from .words import preferred_cache

FORMS = {2: (1, 2), 3: (0, 1, 2)}  # number of prices -> columns: 0 call, 1 message, 2 byte
NEIGHBOURS = 3  # numbers of ranks explained together
PIECE = 5  # sizes over which our algorithms are compared with their own critical paths
LEAST_NOISE = 0.02  # of a median, relative: no measurement is more precise
LEAST_SIZES = 3  # measured sizes of native
MOST_ROUNDS = 4  # of weighting with the residuals of the explanations


# Names
SURE = 0.8  # least probability of a named algorithm
FEW = 3  # most algorithms named together


class Resemblance(NamedTuple):
    """Resemblance of the library's all-reduce at one number of ranks and size."""

    ranks: int
    nbytes: int
    probability: dict[str, float]  # algorithm -> weight; the sum is 1
    stray: float  # assumed relative error of an explanation

    @property
    def names(self) -> tuple[str, ...]:
        """Return the most probable algorithms that together reach SURE; empty if that takes more than FEW."""
        ordered = sorted(self.probability, key=lambda name: -self.probability[name])
        for few in range(1, min(FEW, len(ordered) - 1) + 1):
            if sum(self.probability[name] for name in ordered[:few]) >= SURE:
                return tuple(ordered[:few])
        return ()

    @property
    def words(self) -> str:
        """Return `ring (97 %)`, `ring or rabenseifner (52 %, 45 %)`, or `unknown`."""
        if not self.names:
            return "unknown"
        shares = ", ".join(f"{100 * self.probability[name]:.0f} %" for name in self.names)
        return f"{' or '.join(self.names)} ({shares})"


class NoResemblance(Refused, ValueError):
    """Error: no resemblance can be computed; a sentence says why."""


def resemblances_of(rows: Sequence[SummaryRow]) -> list[Resemblance]:
    """Return the resemblance of a run's native rows to its other algorithms with a known critical path.

    With a warm cache if measured, and without cells whose launches are in two states. Raises NoResemblance.
    """
    timed = [row for row in competing(rows) if row["time_s"] and row["nbytes"] and row["ranks"] > 1]
    timed = [row for row in timed if not row.get("launch_states")]
    cache = preferred_cache({row["cache"] for row in timed})
    timed = [row for row in timed if row["cache"] == cache]
    called = NATIVE if any(executor_of(row).is_native for row in timed) else COMPILED[0]
    native = {(row["ranks"], row["nbytes"]): row for row in timed if _is_called(row, called)}
    candidates = _candidates(timed)
    ranks = sorted({p for p, _ in native})
    _refuse_too_little(native, candidates, ranks)
    resemblances = []
    for index, p in enumerate(ranks):
        first = min(max(0, index - NEIGHBOURS // 2), max(0, len(ranks) - NEIGHBOURS))
        around = ranks[first : first + NEIGHBOURS]
        resemblances += _resemblances_at(p, around, native, candidates)
    return resemblances


def _is_called(row: SummaryRow, executor: str) -> bool:
    """Return whether the row is of the library's own all-reduce, called by `executor`."""
    return row["executor"] == executor and (executor == NATIVE or row["algorithm"] == NATIVE)


def _candidates(timed: Sequence[SummaryRow]) -> dict[str, list[SummaryRow]]:
    """Return the rows of each algorithm measured beside native, by our name for it."""
    rows_of: dict[str, list[SummaryRow]] = {}
    for row in timed:
        name = known_as(str(row["algorithm"]), builtin()) if not executor_of(row).is_native else None
        if name:
            rows = rows_of.setdefault(name, [row])
            if rows[0] is not row and rows[0]["executor"] == row["executor"]:  # one executor per algorithm suffices
                rows.append(row)
    return rows_of


def _refuse_too_little(native: Mapping, candidates: Mapping, ranks: Sequence[int]) -> None:
    if not native:
        raise NoResemblance("models.native_not_measured")
    if len(candidates) < 2:
        raise NoResemblance("models.fewer_two_algorithms_known")
    if len(ranks) < 2:
        raise NoResemblance("models.native_measured_number_ranks")
    if len({nbytes for _, nbytes in native}) < LEAST_SIZES:
        raise NoResemblance("models.native_measured_fewer_sizes", least_sizes=LEAST_SIZES)


def _resemblances_at(p: int, neighbours: Sequence[int], native: Mapping, candidates: Mapping) -> list[Resemblance]:
    """Return the resemblance of native at `p` ranks for each size, using the times at the ranks `neighbours`."""
    sizes = sorted({nbytes for q, nbytes in native if q == p})
    cells = [[native[q, nbytes] for q in neighbours if (q, nbytes) in native] for nbytes in sizes]
    misfits = {name: misfits_of(_paths(name, cells, _segment(rows))) for name, rows in candidates.items()}
    points = sums_of_pieces(np.array([float(len(group)) for group in cells]))
    noise = median([_noise(row) for group in cells for row in group])
    stray = max(LEAST_NOISE, noise, _own_misfit(neighbours, candidates))
    for _ in range(MOST_ROUNDS):
        probability, misfit = weigh(misfits, points, stray)
        if misfit <= stray:
            break
        stray = misfit
    return [
        Resemblance(p, nbytes, {name: float(probability[name][i]) for name in probability}, stray)
        for i, nbytes in enumerate(sizes)
    ]


def _segment(rows: Sequence[SummaryRow]) -> int | None:
    return next((row["segment"] for row in rows if row.get("segment")), None)


def _noise(row: SummaryRow) -> float:
    """Return the relative standard error of the median over launches; 0 for a single launch."""
    logs = [log(time_s) for time_s in row["launch_medians"].values()]
    return stdev(logs) / sqrt(len(logs)) if len(logs) > 1 else 0.0


def _paths(name: str, cells: Sequence[Sequence[SummaryRow]], segment: int | None) -> list[np.ndarray]:
    """Return for each size float64 [cell, 3]: call, messages and bytes of the critical path, over the time."""
    columns_of_sizes = []
    for group in cells:
        columns = []
        for row in group:
            messages = terms(
                builtin()[name], row["ranks"], row.get("nodes"), row["nbytes"], row["nbytes"] // row["count"], segment
            ).messages
            number = sum(message.number for message in messages)
            nbytes = sum(message.number * message.nbytes for message in messages)
            columns.append(np.array([1.0, number, nbytes]) / time_of(row))
        columns_of_sizes.append(np.array(columns))
    return columns_of_sizes


def _own_misfit(neighbours: Sequence[int], candidates: Mapping[str, Sequence[SummaryRow]]) -> float:
    """Return the median relative misfit of our algorithms to their own critical paths over a few sizes."""
    misfits = []
    for name, rows in candidates.items():
        row_of = {(row["ranks"], row["nbytes"]): row for row in rows if row["ranks"] in neighbours}
        sizes = sorted({nbytes for _, nbytes in row_of})
        cells = [[row_of[q, nbytes] for q in neighbours if (q, nbytes) in row_of] for nbytes in sizes]
        if not cells:
            continue
        number = max(FORMS)
        squares = misfits_of(_paths(name, cells, _segment(rows)))[number]
        points = sums_of_pieces(np.array([float(len(group)) for group in cells]))
        span = min(PIECE, len(sizes)) - 1
        pieces = [(squares[i, i + span], points[i, i + span] - number) for i in range(len(sizes) - span)]
        misfits += [sqrt(squares_left / degrees) for squares_left, degrees in pieces if degrees >= 1]
    return median(misfits) if misfits else 0.0


def misfits_of(paths: Sequence[np.ndarray]) -> dict[int, np.ndarray]:
    """Return by number of prices float64 [first, last]: the least sum of squared relative errors over a piece of sizes.

    Prices are non-negative: the best of the solutions for every choice of nonzero ones.
    """
    products = sums_of_pieces(np.array([path.T @ path for path in paths]))
    sums = sums_of_pieces(np.array([path.sum(axis=0) for path in paths]))
    points = sums_of_pieces(np.array([float(len(path)) for path in paths]))
    best = {number: points.copy() for number in FORMS}
    for number, columns in FORMS.items():
        choices = [list(nonzero) for few in range(1, number + 1) for nonzero in combinations(columns, few)]
        for nonzero in choices:
            prices = _solved(products[..., nonzero, :][..., nonzero], sums[..., nonzero])
            squares = points - (prices * sums[..., nonzero]).sum(axis=-1)
            allowed = (prices >= 0).all(axis=-1)
            best[number] = np.where(allowed, np.clip(np.minimum(best[number], squares), 0, None), best[number])
    return best


def _solved(products: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Solve the normal equations of every piece, with columns scaled alike and regularised against collinearity."""
    scale = np.sqrt(np.diagonal(products, axis1=-2, axis2=-1))
    scale = np.where(scale > 0, scale, 1.0)
    scaled = products / scale[..., :, None] / scale[..., None, :] + 1e-10 * np.eye(products.shape[-1])
    return np.linalg.solve(scaled, (sums / scale)[..., None])[..., 0] / scale


def sums_of_pieces(values: np.ndarray) -> np.ndarray:
    """Return [first, last, ...]: the sum of `values` from the first to the last size of every piece; 0 if reversed."""
    sums = np.zeros((len(values), *values.shape))
    for first in range(len(values)):
        sums[first, first:] = np.cumsum(values[first:], axis=0)  # not by differences: bytes span many decades
    return sums


def weigh(misfits: Mapping[str, dict[int, np.ndarray]], points: np.ndarray, stray: float):
    """Weight all ways to cut the sizes; return name -> float64 [size], its probability, and the residual error.

    `misfits` as of `misfits_of`, `points` the number of cells of every piece.
    """
    sizes, count = len(points), np.maximum(points, 1)
    pieces = np.triu(np.ones((sizes, sizes), dtype=bool))
    cut = -log(sizes * len(misfits))
    evidence = {
        (name, number): np.where(pieces, -squares / (2 * stray**2) - number / 2 * np.log(count) + cut, -np.inf)
        for name, forms in misfits.items()
        for number, squares in forms.items()
    }
    total = np.logaddexp.reduce(list(evidence.values()))
    before, after = np.full(sizes + 1, -np.inf), np.full(sizes + 1, -np.inf)
    before[0] = after[sizes] = 0.0
    for last in range(sizes):
        before[last + 1] = np.logaddexp.reduce(before[: last + 1] + total[: last + 1, last])
    for first in reversed(range(sizes)):
        after[first] = np.logaddexp.reduce(total[first, first:] + after[first + 1 :])
    probability = {name: np.zeros(sizes) for name in misfits}
    squares, prices = 0.0, 0.0
    for (name, number), log_evidence in evidence.items():
        weight = np.exp(before[:-1, None] + log_evidence + after[None, 1:] - before[sizes])
        probability[name] += [weight[: size + 1, size:].sum() for size in range(sizes)]
        squares += float((weight * misfits[name][number]).sum())
        prices += number * float(weight.sum())
    freedom = points[0, -1] - prices
    return probability, sqrt(squares / freedom) if freedom >= 1 else 0.0


def resemblance_sentences(resemblances: Sequence[Resemblance]) -> list[str]:
    """Return sentences on what native resembles over which sizes; numbers of ranks with the same text are joined."""
    ranks_of_sentence: dict[str, list[int]] = {}
    for ranks, group in groupby(resemblances, lambda resemblance: resemblance.ranks):
        named: list[str] = []
        unnamed: list[str] = []
        for names, stretch in groupby(group, lambda resemblance: resemblance.names):
            sizes = [format_size(resemblance.nbytes) for resemblance in stretch]
            over = f"at {sizes[0]}" if len(sizes) == 1 else f"from {sizes[0]} to {sizes[-1]}"
            (named if names else unnamed).append(f"{' or '.join(names)} {over}".strip())
        phrases = [f"native most resembles {', '.join(named)}"] if named else []
        phrases += (
            [say("models.algorithm_unknown", unnamed=", ".join(unnamed) if named else "at any size")] if unnamed else []
        )
        ranks_of_sentence.setdefault("; ".join(phrases), []).append(ranks)
    return [f"On {in_ranks(ranks)} {phrases}." for phrases, ranks in ranks_of_sentence.items()]


def resemblance_frame(resemblances: Sequence[Resemblance]) -> pd.DataFrame:
    """Return one row for each number of ranks, size and algorithm: ranks, nbytes, algorithm, probability, stray."""
    rows = [
        (resemblance.ranks, resemblance.nbytes, name, share, resemblance.stray)
        for resemblance in resemblances
        for name, share in resemblance.probability.items()
    ]
    return pd.DataFrame(rows, columns=["ranks", "nbytes", "algorithm", "probability", "stray"])
