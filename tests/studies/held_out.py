"""How well are times predicted that were held out? Ranks and sizes of published series: `held_out.py FOLDER ...`.

Every CSV below the folders that the importers read counts: its series with three numbers of ranks or more. Cells whose
launches are in two states have no time and are left out. Held out are the largest number of ranks, the middle one, the
two largest; and sizes, above and below those that are fitted, up to 2 and 4 times away. Everything is done without
them: prices, anchors, the trend, the intervals.

For each a line of ours, and for the same cells Hockney (alpha messages + beta bytes alone, of the best fitting
algorithm), and the trend (a + b log2 p per size; in size: a + b n per number of ranks). Median and 90th percentile of
|predicted / measured - 1| in percent; the share of cells within their 90 % interval; the median of its upper over its
lower end. Forced algorithms and a library's own choice apart; LUMI and Fugaku by themselves. Beside it `before`: what
the models of commit 4da37d3a (forms with knots, envelopes, contention, BIC and the mean with a trend) reached on the
same cells of the published CSVs of PICO, NCCL 2.4 and clouds, by this study as it was then. Exit status 1: no series
was found.
"""

import argparse
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import product
from math import log
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from allreduce_bench.importers import LogError, LogWarning
from allreduce_bench.importers import points as points_of_log
from allreduce_bench.models.fitting import KEYS, fit_all
from allreduce_bench.models.machine import Machine
from allreduce_bench.models.model import Model
from allreduce_bench.models.prediction import Layout, competing_models

LEAST_COUNTS = 3  # numbers of ranks of a series
DISTANCES = (2, 4)  # in size
SHARES = (0.5, 0.75)  # of the sizes that are fitted
LEAST_SIZES = 4  # that are fitted
RIVALS = ("ours", "Hockney", "trend")
TITLES = {"all series": None, "forced algorithms": False, "libraries' own choice": True}
SYSTEMS = ("lumi", "fugaku")
BEFORE = {  # what is held out -> median and P90 of all series, forced algorithms, libraries; percent, covered
    "largest p": ("15.4/61 92%", "12.4/43 97%", "19.3/66 83%"),
    "middle p": ("13.0/44 94%", "9.7/44 94%", "19.2/44 93%"),
    "two largest": ("36.2/72 85%", "29.0/62 83%", "37.9/76 85%"),
    "size above, 2 times": ("13.0/46 95%", "3.7/21 90%", "16.0/46 96%"),
    "size above, 4 times": ("21.7/100 92%", "10.8/35 100%", "33.9/117 90%"),
    "size below, 2 times": ("8.0/46 92%", "6.9/31 86%", "8.6/47 94%"),
    "size below, 4 times": ("10.8/49 89%", "12.7/35 90%", "10.5/52 88%"),
}


class Held(NamedTuple):
    """A held-out cell: times in seconds."""

    system: str
    kind: str
    library: bool
    measured_s: float
    times_s: dict[str, float]  # by RIVALS, where there is one
    interval_s: tuple[float, float] | None


class Task(NamedTuple):
    """A series with a part of its cells to fit and another to predict."""

    kind: str
    fitted: str  # name of the part that is fitted
    held: pd.DataFrame


def series_of(folder: Path) -> Iterator[pd.DataFrame]:
    """Yield the points of each series with enough numbers of ranks."""
    for path in sorted(folder.rglob("*.csv")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LogWarning)
            try:
                points = points_of_log(path)
            except (LogError, OSError, ValueError):
                continue
        points = points[(points["ranks"] > 1) & (points["size_bytes"] > 0) & (points["time_s"] > 0)].fillna(
            {"window": 0}
        )
        for _, rows in points.assign(window=pd.NA).groupby([key for key in KEYS if key in points], dropna=False):
            if rows["ranks"].nunique() >= LEAST_COUNTS:
                yield rows


def tasks_of(name: str, rows: pd.DataFrame, parts: dict[str, pd.DataFrame]) -> Iterator[Task]:
    """Yield what is held out of one series, and put into `parts` what is fitted."""
    parts[name] = rows
    counts, sizes = sorted(set(rows["ranks"])), sorted(set(rows["size_bytes"]))
    held_counts = {"largest p": counts[-1:], "middle p": counts[len(counts) // 2 : len(counts) // 2 + 1]}
    if len(counts) > LEAST_COUNTS:
        held_counts["two largest"] = counts[-2:]
    for kind, chosen in held_counts.items():
        held = rows["ranks"].isin(chosen)
        parts[f"{name} {kind}"] = rows[~held]
        yield Task(kind, f"{name} {kind}", rows[held])
    for share, upward in product(SHARES, (True, False)):
        number = round(share * len(sizes))
        if number < LEAST_SIZES or number == len(sizes):
            continue
        kept = sizes[:number] if upward else sizes[-number:]
        is_kept = rows["size_bytes"].isin(kept)
        fitted = rows[is_kept]
        part = f"{name} {kept[0]} {kept[-1]}"
        parts[part] = fitted
        known = rows["ranks"].isin(set(fitted["ranks"]))
        distance = rows["size_bytes"] / kept[-1] if upward else kept[0] / rows["size_bytes"]
        for nearer, farther in zip((1, *DISTANCES), DISTANCES):
            held = rows[~is_kept & known & (distance > nearer) & (distance <= farther)]
            if len(held):
                yield Task(f"size {'above' if upward else 'below'}, {farther} times", part, held)


def trend_time_s(fitted: pd.DataFrame, held: pd.DataFrame, in_size: bool) -> list[float]:
    """Return the trend's time at each row of `held`; NaN: fewer than two points of its line."""
    group, grows = ("ranks", "size_bytes") if in_size else ("size_bytes", "ranks")
    times_s = []
    for row in held.to_dict("records"):
        line = fitted[fitted[group] == row[group]].groupby(grows)["time_s"].median()
        if len(line) < 2:
            times_s.append(np.nan)
            continue
        at, target = line.index.to_numpy(float), float(row[grows])
        at, target = (at, target) if in_size else (np.log2(at), np.log2(target))
        slope, base = np.polyfit(at, line.to_numpy(float), 1, w=1 / line.to_numpy(float))
        times_s.append(max(base + slope * target, 1e-9))
    return times_s


def held_of(task: Task, fitted: pd.DataFrame, model: Model, every: Model) -> Iterator[Held]:
    """Yield the predicted cells of a task; `every` is the model of all cells, which tells those in two states."""
    cells = task.held.groupby(["ranks", "size_bytes"], as_index=False)["time_s"].median()
    timed = {(cell.ranks, cell.size_bytes) for cell in every.cells}
    cells = cells[[cell in timed for cell in zip(cells["ranks"].tolist(), cells["size_bytes"].tolist())]]
    nodes_of = {cell.ranks: cell.nodes for cell in every.cells}
    (group,) = competing_models(Machine((model,)), (), Layout(extrapolate=True))
    (series,) = group.models
    trend = trend_time_s(fitted, cells, task.kind.startswith("size"))
    for row, trend_s in zip(cells.to_dict("records"), trend):
        ranks, size_bytes = row["ranks"], row["size_bytes"]
        predicted = group.predict(series, ranks, size_bytes)
        times_s = {"Hockney": model.price_s(ranks, nodes_of[ranks] or None, size_bytes, model.segment)}
        times_s |= {"trend": trend_s} if np.isfinite(trend_s) else {}
        times_s |= {"ours": predicted.time_s} if predicted.time_s else {}
        interval_s = (predicted.low_s, predicted.high_s) if predicted.low_s and predicted.high_s else None
        yield Held(str(task.held["run"].iloc[0]), task.kind, model.is_library, row["time_s"], times_s, interval_s)


def print_table(held: Sequence[Held], before: int | None) -> None:
    """Print a line for each kind and rival; `before`: the column of BEFORE."""
    head = f"{'held out':<22}{'cells':>6}  {'by':<9}{'median':>7}{'P90':>6}{'covered':>9}{'width':>7}"
    print(head + ("  before" if before is not None else ""))
    by_kind = defaultdict(list)
    for cell in held:
        by_kind[cell.kind].append(cell)
    for kind, cells in by_kind.items():
        for rival in RIVALS:
            timed = [cell for cell in cells if rival in cell.times_s]
            if not timed:
                continue
            off = np.abs([cell.times_s[rival] / cell.measured_s - 1 for cell in timed])
            first = rival == RIVALS[0]
            line = f"{kind:<22}{len(cells):>6}" if first else " " * 28
            line += f"  {rival:<9}{100 * np.median(off):7.1f}{100 * np.quantile(off, 0.9):6.0f}"
            line += interval_columns(cells) if first else ""
            print(line + (f"  {BEFORE[kind][before]}" if first and before is not None else ""), flush=True)


def interval_columns(cells: Sequence[Held]) -> str:
    """Return the coverage and the width of the intervals."""
    with_one = [(cell.interval_s, cell.measured_s) for cell in cells if cell.interval_s]
    if not with_one:
        return " " * 16
    covered = np.mean([low <= measured_s <= high for (low, high), measured_s in with_one])
    width = np.median([log(high / low) for (low, high), _ in with_one])
    return f"{covered:9.0%}{np.exp(width):7.2f}"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="of published CSVs")
    series = [rows for folder in parser.parse_args().folders for rows in series_of(folder)]
    if not series:
        sys.exit("no series of three numbers of ranks or more in these folders")
    parts: dict[str, pd.DataFrame] = {}
    tasks = [
        (str(number), task)
        for number, rows in enumerate(series)
        for task in tasks_of(str(number), rows, parts)
    ]  # fmt: skip
    points = pd.concat([rows.assign(run=name) for name, rows in parts.items()], ignore_index=True)
    found = {model.run: model for model in fit_all(points)}
    held = [
        cell
        for name, task in tasks
        if task.fitted in found and name in found
        for cell in held_of(task, parts[task.fitted], found[task.fitted], found[name])
    ]
    unfit = sum(str(number) not in found for number in range(len(series)))
    print(f"{len(series)} series, {unfit} of which are not fitted: their algorithms are unknown")
    for place, (title, library) in enumerate(TITLES.items()):
        print(f"\n{title}")
        print_table([cell for cell in held if library is None or cell.library == library], place)
    for system in SYSTEMS:
        print(f"\n{system}")
        print_table([cell for cell in held if cell.system.startswith(system)], None)
    print(f"\n{' and '.join(SYSTEMS)}")
    print_table([cell for cell in held if cell.system.startswith(SYSTEMS)], None)


if __name__ == "__main__":
    main()
