"""How well are times predicted that were held out? Ranks and sizes of published series: `held_out.py FOLDER ...`.

Every CSV below the folders that the importers read counts: its series with three numbers of ranks or more; each folder
has its tables, then all together. Cells whose launches are in two states have no time and are left out. Held out are
the largest number of ranks, the middle one, the two largest; and sizes, above and below those that are fitted, up to 2,
4 and 16 times away. Everything is done without them: the choice of the form, the fit, its intervals.

For each a line of ours, and for the same cells the best uniform alpha-beta fit (of the algorithms that the series may
be priced as), the trend (a + b log2 p per size; in size: a + b n per number of ranks) and the geometric mean of both.
Median and 90th percentile of |predicted / measured - 1| in percent; the share of cells within their 90 % interval; the
median of its upper over its lower end; the mean interval score of log times (Gneiting and Raftery, 2007: width and 20
times what lies outside); the share of cells that `predict` gives no time for unless --extrapolate is given. Forced
algorithms and a library's own choice apart. Exit status 1: no series was found.

A line `systems out`: ours, but what was chosen on published series is chosen here on all other systems than the one
that is predicted, so that none of its own cells has a say: the constants of the intervals (`TYPICAL`,
`WIDER_PER_DOUBLING`) by the interval score; and, of a library's own choice on other ranks, whether its
form, a rival or the mean of form and trend counts, by the mean log error. A system is a run of the importers.
"""

import argparse
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import exp, log, log2, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from allreduce_bench.importers import LogError, LogWarning
from allreduce_bench.importers import points as points_of_log
from allreduce_bench.models.fitting import TYPICAL, WIDER_PER_DOUBLING, doublings_beyond, plain
from allreduce_bench.models.known_algorithms import is_library
from allreduce_bench.models.machine import Machine
from allreduce_bench.models.prediction import Layout, competing_models
from allreduce_bench.models.series import HALF, KEYS, FittedSeries, fit_series

LEAST_COUNTS = 3  # numbers of ranks of a series
DISTANCES = (2, 4, 16)  # in size
SHARES = (0.5, 0.75)  # of the sizes that are fitted
LEAST_SIZES = 4  # that are fitted
OUTSIDE = 20  # 2 / (1 - 0.9): weight of what lies outside of an interval
RIVALS = ("ours", "systems out", "uniform", "trend", "mean of both")
WITH_INTERVALS = RIVALS[:2]
WAYS = ("form", *RIVALS[2:], "form and trend")  # to predict a library's own choice on other ranks
CONSTANTS = list(product((0.15, 0.25, 0.35, 0.5, 0.7), (0.15, 0.3, 0.6)))  # tried as TYPICAL, WIDER_PER_DOUBLING
TITLES = {"all series": None, "forced algorithms": False, "libraries' own choice": True}
LAYOUT, EVERYWHERE = Layout(), Layout(extrapolate=True)


class Held(NamedTuple):
    """A held-out cell: times in seconds."""

    folder: Path
    system: str
    kind: str
    library: bool
    measured_s: float
    times_s: dict[str, float]  # by RIVALS and WAYS, where there is one
    interval_s: dict[str, tuple[float, float]]  # by WITH_INTERVALS
    refused: bool
    own_log: float  # half width of the series itself
    doublings: float  # of the ranks and sizes beyond the fitted ones
    wider_log: float  # by which its interval is wider than by both

    def half_log(self, constants: tuple[float, float]) -> float:
        """Return the half width of the interval by other constants, without the bounds that it may be raised to."""
        typical, wider = constants
        return sqrt(self.own_log * typical) * (1 + wider * self.doublings) + self.wider_log

    def score(self, constants: tuple[float, float]) -> float:
        """Return the interval score by other constants."""
        half = self.half_log(constants)
        return 2 * half + OUTSIDE * max(self.off_log("ours") - half, 0)

    def off_log(self, way: str) -> float:
        """Return the absolute log error of one of RIVALS and WAYS; that of ours if it has no time here."""
        return abs(log(self.times_s.get(way, self.times_s["ours"]) / self.measured_s))

    @property
    def has_ways(self) -> bool:
        """Return whether it is a library's own choice on other ranks."""
        return self.library and not self.kind.startswith("size")


class Task(NamedTuple):
    """A series with a part of its cells to fit and another to predict."""

    folder: Path
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


def tasks_of(folder: Path, name: str, rows: pd.DataFrame, parts: dict[str, pd.DataFrame]) -> Iterator[Task]:
    """Yield what is held out of one series, and put into `parts` what is fitted."""
    parts[name] = rows
    counts, sizes = sorted(set(rows["ranks"])), sorted(set(rows["size_bytes"]))
    held_counts = {"largest p": counts[-1:], "middle p": counts[len(counts) // 2 : len(counts) // 2 + 1]}
    if len(counts) > LEAST_COUNTS:
        held_counts["two largest"] = counts[-2:]
    for kind, chosen in held_counts.items():
        held = rows["ranks"].isin(chosen)
        parts[f"{name} {kind}"] = rows[~held]
        yield Task(folder, kind, f"{name} {kind}", rows[held])
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
                yield Task(folder, f"size {'above' if upward else 'below'}, {farther} times", part, held)


def plain_time_s(found: FittedSeries, cells: list[tuple[int, int]], every: FittedSeries) -> np.ndarray:
    """Return the times of the best uniform fit at `cells`; `every` observes them, too."""
    seen = found.observed
    fits = [(plain(seen, name, seen.at(seen.counts)), name) for name in seen.paths]
    best, _ = min(fits, key=lambda fit: fit[0].loss)
    place = {
        cell: row for row, cell in enumerate(zip(every.observed.ranks.tolist(), every.observed.size_bytes.tolist()))
    }
    return np.exp(best.log_time(every.observed))[[place[cell] for cell in cells]]


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


def held_of(task: Task, fitted: pd.DataFrame, found: FittedSeries, every: FittedSeries) -> Iterator[Held]:
    """Yield the predicted cells of a task."""
    system = str(task.held["run"].iloc[0])
    cells = task.held.groupby(["ranks", "size_bytes"], as_index=False)["time_s"].median()
    timed = set(zip(every.observed.ranks.tolist(), every.observed.size_bytes.tolist()))  # without those in two states
    cells = cells[[cell in timed for cell in zip(cells["ranks"].tolist(), cells["size_bytes"].tolist())]]
    usual, asked = (competing_models(Machine((found.model,)), (), layout)[0] for layout in (LAYOUT, EVERYWHERE))
    (series,) = asked.models
    (without_trend,) = competing_models(Machine((replace(found.model, trend=()),)), (), EVERYWHERE)
    lines = found.observed.trend(found.observed.counts) if is_library(found.model.algorithm) else ()
    half = replace(found.model, trend=lines, trend_share=HALF)
    (with_half,) = competing_models(Machine((half,)), (), EVERYWHERE)
    uniform = plain_time_s(found, list(zip(cells["ranks"].tolist(), cells["size_bytes"].tolist())), every)
    trend = trend_time_s(fitted, cells, task.kind.startswith("size"))
    library = is_library(found.model.algorithm)
    for row, uniform_s, trend_s in zip(cells.to_dict("records"), uniform.tolist(), trend):
        predicted = asked.at(series, row["ranks"], row["size_bytes"]).prediction
        times_s = {"uniform": uniform_s}
        if np.isfinite(trend_s):
            times_s |= {"trend": trend_s, "mean of both": exp((log(uniform_s) + log(trend_s)) / 2)}
        interval_s, wider_log = {}, 0.0
        end = found.model.size_end(row["size_bytes"])
        doublings = doublings_beyond(row["ranks"], found.model.ranks) + abs(log2(row["size_bytes"] / end))
        if predicted is not None:
            times_s["ours"] = times_s["systems out"] = times_s["form"] = predicted.time_s
            if found.model.trend and (form := without_trend.at(series, row["ranks"], row["size_bytes"]).prediction):
                times_s["form"] = form.time_s
            if lines and (both := with_half.at(series, row["ranks"], row["size_bytes"]).prediction):
                times_s["form and trend"] = both.time_s
            if predicted.low_s and predicted.high_s:
                interval_s["ours"] = predicted.low_s, predicted.high_s
                half_log = (found.model.reach_log or 0.0) * (1 + WIDER_PER_DOUBLING * doublings)
                wider_log = max(0.0, log(predicted.high_s / predicted.time_s) - half_log)
        yield Held(
            task.folder,
            system,
            task.kind,
            library,
            row["time_s"],
            times_s,
            interval_s,
            usual.at(series, row["ranks"], row["size_bytes"]).prediction is None,
            (found.model.reach_log or 0.0) ** 2 / TYPICAL,
            doublings,
            wider_log,
        )


def with_systems_out(held: Sequence[Held]) -> None:
    """Add the times and intervals by what is best on all other systems, and print that."""
    timed = [cell for cell in held if "ours" in cell.interval_s]
    scores = np.array([[cell.score(constants) for constants in CONSTANTS] for cell in timed])
    for system in sorted({cell.system for cell in timed}):
        is_own = np.array([cell.system == system for cell in timed])
        if is_own.all():
            return
        best = CONSTANTS[int(scores[~is_own].mean(axis=0).argmin())]
        others = [cell for cell in timed if cell.has_ways and cell.system != system]
        way = min(WAYS, key=lambda way: sum(cell.off_log(way) for cell in others)) if others else "ours"
        print(f"without {system}: constants {best}, a library by {way}")
        for cell in (cell for cell, own in zip(timed, is_own) if own):
            time_s, factor = (
                cell.times_s.get(way if cell.has_ways else "ours", cell.times_s["ours"]),
                exp(cell.half_log(best)),
            )
            cell.times_s["systems out"], cell.interval_s["systems out"] = time_s, (time_s / factor, time_s * factor)


def print_table(held: Sequence[Held]) -> None:
    """Print a line for each kind and rival."""
    print(f"{'held out':<24}{'cells':>6}  {'by':<13}{'median':>7}{'P90':>8}{'covered':>9}{'width':>7}", end="")
    print(f"{'score':>7}{'refused':>9}")
    by_kind = defaultdict(list)
    for cell in held:
        by_kind[cell.kind].append(cell)
    for kind, cells in by_kind.items():
        for rival in RIVALS:
            timed = [cell for cell in cells if rival in cell.times_s]
            if not timed:
                continue
            off = np.abs([cell.times_s[rival] / cell.measured_s - 1 for cell in timed])
            head = f"{kind:<24}{len(cells):>6}" if rival == RIVALS[0] else " " * 30
            line = f"{head}  {rival:<13}{100 * np.median(off):7.1f}{100 * np.quantile(off, 0.9):8.0f}"
            print(line + (interval_columns(cells, rival) if rival in WITH_INTERVALS else ""), flush=True)


def interval_columns(cells: Sequence[Held], rival: str) -> str:
    """Return coverage, width and score of the intervals, and the share refused."""
    with_one = [(cell.interval_s[rival], cell.measured_s) for cell in cells if rival in cell.interval_s]
    if not with_one:
        return ""
    low, high = np.log([interval for interval, _ in with_one]).T
    measured = np.log([measured_s for _, measured_s in with_one])
    outside = np.maximum(low - measured, 0) + np.maximum(measured - high, 0)
    score = np.mean(high - low + OUTSIDE * outside)
    refused = np.mean([cell.refused for cell in cells])
    return f"{np.mean(outside == 0):9.0%}{np.median(np.exp(high - low)):7.2f}{score:7.2f}{refused:9.0%}"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="of published CSVs")
    folders = parser.parse_args().folders
    series = [(folder, rows) for folder in folders for rows in series_of(folder)]
    if not series:
        sys.exit("no series of three numbers of ranks or more in these folders")
    parts: dict[str, pd.DataFrame] = {}
    tasks = [
        (str(number), task)
        for number, (folder, rows) in enumerate(series)
        for task in tasks_of(folder, str(number), rows, parts)
    ]
    points = pd.concat([rows.assign(run=name) for name, rows in parts.items()], ignore_index=True)
    found = {one.model.run: one for one in fit_series(points) if isinstance(one, FittedSeries)}
    held = [
        cell
        for name, task in tasks
        if task.fitted in found and name in found
        for cell in held_of(task, parts[task.fitted], found[task.fitted], found[name])
    ]
    unfit = sum(str(number) not in found for number in range(len(series)))
    print(f"{len(series)} series, {unfit} of which are not fitted: their algorithms are unknown")
    with_systems_out(held)
    for folder, (title, library) in product([*(folders if len(folders) > 1 else ()), None], TITLES.items()):
        print(f"\n{folder or 'all folders'}: {title}")
        in_folder = [cell for cell in held if folder in (None, cell.folder)]
        print_table([cell for cell in in_folder if library is None or cell.library == library])


if __name__ == "__main__":
    main()
