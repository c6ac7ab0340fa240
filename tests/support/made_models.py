"""Series for tests of models: times that follow a truth, with noise of a known size."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from places import DATA

from allreduce_bench.algorithms import builtin
from allreduce_bench.models.alpha_beta import ALIKE, coefficient
from allreduce_bench.models.terms import terms

SIZES = tuple(8 * 8**power for power in range(8))
ALPHA_S, BETA_S_PER_BYTE = 5e-6, 1e-10


def series(
    algorithm: str = "ring",
    ranks: Sequence[int] = (2, 4, 8, 16),
    sizes: Sequence[int] = SIZES,
    *,
    prices: Sequence[float] = (ALPHA_S, BETA_S_PER_BYTE),
    meanings: Sequence[tuple[str, str]] = ALIKE,
    launches: int = 1,
    noise: float = 0.0,
    seed: int = 1,
    ranks_per_node: int = 1,
) -> pd.DataFrame:
    """Points of one series: the times of its schedule at `prices`, multiplied by normal noise of `noise` around 1."""
    cells = [(p, p // ranks_per_node, n) for p in ranks for n in sizes]
    paths = [terms(builtin()[algorithm], p, nodes, n, 4) for p, nodes, n in cells]
    time_s = np.array([[coefficient(meaning, path) for meaning in meanings] for path in paths]) @ np.array(prices)
    random = np.random.default_rng(seed)
    frames = []
    for launch in range(launches):
        frame = pd.DataFrame(cells, columns=["ranks", "nodes", "size_bytes"])
        frame["time_s"] = time_s * random.normal(1, noise, len(cells))
        frames.append(frame.assign(launch=str(launch)))
    points = pd.concat(frames, ignore_index=True)
    names = {"run": "a", "competitor": algorithm, "dtype": "float32"}
    return points.assign(**names, op="sum", segment=pd.NA, calls=20)


def pico() -> pd.DataFrame:
    """The four published series, as points."""
    rows = pd.read_csv(DATA / "pico_four_series.csv")
    renamed = rows.rename(
        columns={
            "system": "run",
            "algorithm": "competitor",
            "allocation": "launch",
            "nbytes": "size_bytes",
            "iterations": "calls",
            "median_s": "time_s",
        }
    )
    return renamed.assign(imported=True, op=pd.NA, segment=pd.NA)
