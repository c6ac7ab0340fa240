"""Rows of a summary whose true times are known: drawn, not measured, with the noise that machines have.

Every value is a share of the true time of its cell. Of a launch: a spread that all its cells share and one of each cell
alone. Of its calls, in the order in which a launch makes them: heavy-tailed noise that remembers the call before, and
stretches of load, which hit neighbouring cells.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from made_times import rows_of_times
from scipy.signal import lfilter

from allreduce_bench.evaluation.summary_row import SummaryRow

SIZES = tuple(8 * 4**step for step in range(11)) + (16 << 20,)  # bytes
RANKS = 8
FASTER = 1.2  # how much longer the others take than the one that is faster everywhere
NOISE, MEMORY, FREEDOM = 0.05, 0.3, 3  # of calls: scale, lag-1 correlation, Student's t
CELLS_A_SPIKE, MOST_CELLS = 30, 2  # one spike in so many cells, at most so many long
SPIKE = (2.0, 20.0)  # factors
STATE, SLOW_SHARE = 1.5, 0.5  # how much slower the other state is, and how often a cell is in it for a launch
ALPHA_S, BETA_S_PER_BYTE = 2e-6, 1e-10


class Setting(NamedTuple):
    """What a table is drawn from; what is None is drawn anew for every table."""

    scenario: str
    launches: int = 5
    spread: float = 0.1  # of launches: standard deviation of the logarithm
    own: float = 1.0  # the share of its variance that each cell has alone
    algorithms: int | None = None  # 2 to 6
    calls: int | None = None  # 20 to 100


class DrawnTable(NamedTuple):
    """Rows without marks, and the truth about them."""

    rows: list[SummaryRow]
    fastest: dict[int, str | None]  # size_bytes -> the truly fastest; None: several are
    switch: float | None  # bytes at which the fastest changes


class Truth(NamedTuple):
    """True times in seconds [algorithm, size], and the bytes at which the fastest changes."""

    time_s: np.ndarray
    switch: float | None = None


def equal(random: np.random.Generator, algorithms: int) -> Truth:
    """All take equally long."""
    return Truth(np.tile(ALPHA_S + BETA_S_PER_BYTE * np.array(SIZES), (algorithms, 1)))


def faster(random: np.random.Generator, algorithms: int) -> Truth:
    """One is faster than all others, at all sizes."""
    time_s = equal(random, algorithms).time_s * FASTER
    time_s[random.integers(algorithms)] /= FASTER
    return Truth(time_s)


def crossing(random: np.random.Generator, algorithms: int) -> Truth:
    """Recursive doubling and a ring on RANKS, their alpha drawn so that they cross between 8 KiB and 1 MiB; others are
    half as slow again as the better one.
    """
    doubling, ring = (3, 3.0), (2 * (RANKS - 1), 2 * (RANKS - 1) / RANKS)  # messages, vectors
    switch = float(np.exp(random.uniform(np.log(8 << 10), np.log(1 << 20))))
    alpha_s = switch * BETA_S_PER_BYTE * (doubling[1] - ring[1]) / (ring[0] - doubling[0])
    two = [messages * alpha_s + sent * BETA_S_PER_BYTE * np.array(SIZES) for messages, sent in (doubling, ring)]
    return Truth(np.stack([*two, *[1.5 * np.minimum(*two)] * (algorithms - 2)]), switch)


SCENARIOS: dict[str, Callable[[np.random.Generator, int], Truth]] = {
    "equal": equal,
    "faster": faster,
    "crossing": crossing,
    "two states": equal,
}


def drawn_table(random: np.random.Generator, setting: Setting) -> DrawnTable:
    """One run of `setting`: a row for every size and algorithm."""
    algorithms = setting.algorithms or int(random.integers(2, 7))
    calls = setting.calls or int(random.integers(20, 101))
    truth = SCENARIOS[setting.scenario](random, algorithms)
    launches = [_launch(random, setting, truth.time_s, calls) for _ in range(setting.launches)]
    times_s = {
        (RANKS, f"a{algorithm}", size_bytes): {
            f"{RANKS}r-{number}": launch[algorithm, size].tolist() for number, launch in enumerate(launches, start=1)
        }
        for size, size_bytes in enumerate(SIZES)
        for algorithm in range(algorithms)
    }
    rows = [_row(*cell, columns) for cell, columns in rows_of_times(times_s).items()]
    fastest: dict[int, str | None] = {}
    for size_bytes, times_s in zip(SIZES, truth.time_s.T):
        first, second = np.sort(times_s)[:2]
        fastest[size_bytes] = f"a{times_s.argmin()}" if first < second else None
    return DrawnTable(rows, fastest, truth.switch)


def _row(ranks: int, algorithm: str, size_bytes: int, columns: SummaryRow) -> SummaryRow:
    cell: SummaryRow = {"competitor": algorithm, "segment": None, "ranks": ranks, "size_bytes": size_bytes}
    of_launches: SummaryRow = {"state": "done", "reason": None}
    return cell | of_launches | columns


def _launch(random: np.random.Generator, setting: Setting, true_s: np.ndarray, calls: int) -> np.ndarray:
    """Seconds [algorithm, size, call] of one launch, whose cells come in random order."""
    cells, shared = true_s.size, random.normal(0, setting.spread * np.sqrt(1 - setting.own))
    own = random.normal(0, setting.spread * np.sqrt(setting.own), cells)
    logs = (
        shared + own[:, np.newaxis] + (_noise(random, cells * calls) + _load(random, cells, calls)).reshape(cells, -1)
    )
    if setting.scenario == "two states":
        logs += np.log(STATE) * (random.random(cells) < SLOW_SHARE)[:, np.newaxis]
    return true_s[:, :, np.newaxis] * np.exp(logs[random.permutation(cells)]).reshape(*true_s.shape, calls)


def _noise(random: np.random.Generator, length: int) -> np.ndarray:
    """An autoregressive series of first order, of Student's t."""
    return lfilter([1.0], [1.0, -MEMORY], NOISE * random.standard_t(FREEDOM, length))


def _load(random: np.random.Generator, cells: int, calls: int) -> np.ndarray:
    """The logarithm of the factor by which load slows each call of a launch, in the order of calls."""
    load = np.zeros(cells * calls)
    for _ in range(random.poisson(cells / CELLS_A_SPIKE)):
        start, length = random.integers(load.size), int(calls * random.uniform(0.2, MOST_CELLS))
        load[start : start + length] = np.log(random.uniform(*SPIKE))
    return load
