"""Is the fastest beyond the measured ranks named rightly? Published series: `winners_beyond.py FOLDER ...`.

Every CSV below the folders that the importers read counts: where two series or more of one system were measured on
the same numbers of ranks. The numbers up to each are fitted in turn, and the fastest at 2, 4 and 8 times its largest
is chosen among the series that were measured there: by the models (the least predicted time); by keeping the winner at
the largest number of ranks that is fitted; and by whichever of these two had the lower regret at that number, held out
within the fitted ones (`series.kept_to`), as `predict` does.

Regret is the time of the choice over the lowest. For each distance its geometric mean, 90th percentile and maximum, and
the share of cells with the fastest chosen. Exit status 1: no system was found, or what `predict` does is worse in the
geometric mean than the better of the two by more than 1 %.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from held_out import series_of

from allreduce_bench.models.machine import Machine
from allreduce_bench.models.prediction import CompetingModels, competing_models
from allreduce_bench.models.series import FittedSeries, fit_series, with_kept_winners

DISTANCES = (2, 4, 8)
LEAST_COUNTS = 2  # that are fitted
WAYS = ("the models", "winner kept", "predict")
MOST_WORSE = 1.01
SYSTEM = ["system", "cache", "dtype", "op"]


def systems_of(folders: Sequence[Path]) -> list[pd.DataFrame]:
    """Return the points of each system: series of one run, cache, type and operation."""
    rows = [one.assign(system=one["run"].astype(str)) for folder in folders for one in series_of(folder)]
    if not rows:
        return []
    points = pd.concat(rows, ignore_index=True)
    grouped = [group for _, group in points.groupby(SYSTEM, dropna=False)]
    return [group for group in grouped if group.groupby("competitor").ngroups > 1]


def parts_of(systems: Sequence[pd.DataFrame]) -> dict[str, tuple[pd.DataFrame, pd.DataFrame]]:
    """Return by name what is fitted, and what is chosen for."""
    parts = {}
    for number, points in enumerate(systems):
        counts = sorted(set(points["ranks"].tolist()))
        for place in range(LEAST_COUNTS, len(counts)):
            largest = counts[place - 1]
            beyond = points[points["ranks"].isin([largest * distance for distance in DISTANCES])]
            if len(beyond):
                fitted = points[points["ranks"] <= largest]
                parts[f"{number} to {largest}"] = fitted, beyond
    return parts


def regrets(group: CompetingModels, beyond: pd.DataFrame) -> Iterator[tuple[int, dict[str, float]]]:
    """Yield at each number of ranks and size of `beyond` the distance, and the regret of each of WAYS."""
    largest = group.largest_common
    for (ranks, size_bytes), cells in beyond.groupby(["ranks", "size_bytes"]):
        measured = cells.groupby("competitor")["time_s"].median()
        names = [name for name, model in group.models.items() if model.competitor in measured.index]
        timed = {name: one.prediction.time_s for name in names if (one := group.at(name, ranks, size_bytes)).prediction}
        kept = {name: time_s for name, time_s in group.measured_s(size_bytes).items() if name in timed}
        if len(timed) < 2 or len(kept) < 2 or largest is None:
            continue
        by_models, by_keeping = (min(times, key=lambda name: times[name]) for times in (timed, kept))
        chosen = by_keeping if group.keeps_winner(ranks) else by_models
        choice = dict(zip(WAYS, (by_models, by_keeping, chosen)))
        at = {name: measured[group.models[name].competitor] for name in timed}
        yield round(ranks / largest), {way: at[name] / min(at.values()) for way, name in choice.items()}


def main() -> None:
    """Print a line for each distance and way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="of published CSVs")
    parts = parts_of(systems_of(parser.parse_args().folders))
    if not parts:
        sys.exit("no system with two series on three numbers of ranks or more in these folders")
    points = pd.concat([fitted.assign(run=name) for name, (fitted, _) in parts.items()], ignore_index=True)
    fitted = with_kept_winners([one for one in fit_series(points) if isinstance(one, FittedSeries)])
    found: dict[int, list[dict[str, float]]] = defaultdict(list)
    keeping = 0
    groups = competing_models(Machine(tuple(one.model for one in fitted)))
    for group in groups:
        run = next(iter(group.models.values())).run
        keeping += any(model.winner_kept_to for model in group.models.values())
        for distance, of_way in regrets(group, parts[run][1]):
            found[distance].append(of_way)
    print(f"{len(groups)} fits of systems, {keeping} of which keep the winner")
    print(f"{'ranks':<8}{'cells':>6}  {'by':<14}{'mean regret':>12}{'P90':>8}{'most':>8}{'fastest':>9}")
    kept = bool(found)
    for distance in sorted(found):
        means = {}
        for way in WAYS:
            regret = np.array([of_way[way] for of_way in found[distance]])
            means[way] = float(np.exp(np.log(regret).mean()))
            head = f"{distance} times {len(regret):>6}" if way == WAYS[0] else " " * 14
            print(f"{head:<14}  {way:<14}{means[way]:12.3f}{np.quantile(regret, 0.9):8.2f}", end="")
            print(f"{regret.max():8.2f}{np.mean(regret == 1):9.0%}", flush=True)
        kept &= means["predict"] <= MOST_WORSE * min(means.values())
    sys.exit(0 if kept else "predict chooses worse than one of the two would, see above")


if __name__ == "__main__":
    main()
