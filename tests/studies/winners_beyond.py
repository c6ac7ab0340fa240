"""Is the fastest beyond the measured ranks named rightly? Published series: `winners_beyond.py FOLDER ...`.

Every CSV below the folders that the importers read counts: where two series or more of one system were measured on
the same numbers of ranks. The numbers up to each are fitted in turn, and the fastest at 2, 4, 8 and 16 times its
largest is chosen among the series that were measured there: as `predict` does; by always keeping the winner at the
largest number of ranks that is fitted; and by the least predicted time.

Regret is the time of the choice over the lowest. For each distance its geometric mean, 90th percentile and maximum, and
the share of cells with the fastest chosen. Exit status 1: no system was found, or what `predict` does is worse in the
geometric mean than always keeping the winner by more than 1 %.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from held_out import series_of

from allreduce_bench.models.fitting import fit_all
from allreduce_bench.models.machine import Machine
from allreduce_bench.models.prediction import CompetingModels, Layout, competing_models

DISTANCES = (2, 4, 8, 16)
LEAST_COUNTS = 2  # that are fitted
WAYS = ("predict", "winner kept", "least time")
MOST_WORSE = 1.01
SYSTEM = ["run", "dtype", "op"]


def systems_of(folders: Sequence[Path]) -> list[pd.DataFrame]:
    """Return the points of each system: series of one run, type and operation."""
    rows = [one for folder in folders for one in series_of(folder)]
    if not rows:
        return []
    grouped = [group for _, group in pd.concat(rows, ignore_index=True).groupby(SYSTEM, dropna=False)]
    return [group for group in grouped if group.groupby("competitor").ngroups > 1]


def parts_of(systems: Sequence[pd.DataFrame]) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Yield what is fitted, and what is chosen for."""
    for points in systems:
        counts = sorted(set(points["ranks"].tolist()))
        for place in range(LEAST_COUNTS, len(counts)):
            beyond = points[points["ranks"].isin([counts[place - 1] * distance for distance in DISTANCES])]
            if len(beyond):
                yield points[points["ranks"] <= counts[place - 1]], beyond


def regrets(group: CompetingModels, largest: int, beyond: pd.DataFrame) -> Iterator[tuple[int, dict[str, float]]]:
    """Yield at each number of ranks and size of `beyond` the distance, and the regret of each of WAYS."""
    measured_at_largest = {
        (name, cell.size_bytes): cell.time_s
        for name, model in group.models.items()
        for cell in model.cells
        if cell.ranks == largest
    }
    for (ranks, size_bytes), cells in beyond.groupby(["ranks", "size_bytes"]):
        measured_s = cells.groupby("competitor")["time_s"].median().to_dict()
        names = [name for name, model in group.models.items() if model.competitor in measured_s]
        names = [name for name in names if (name, size_bytes) in measured_at_largest]
        if len(names) < 2:
            continue
        rivals = CompetingModels([group.models[name] for name in names], group.layout)
        chosen = rivals.fastest(ranks, size_bytes)
        assert chosen is not None
        kept = min(names, key=lambda name: measured_at_largest[name, size_bytes])
        least = min(rivals.models, key=lambda name: rivals.predict(name, ranks, size_bytes).time_s or np.inf)
        at = {name: measured_s[model.competitor] for name, model in rivals.models.items()}
        of_way = dict(zip(WAYS, (chosen.predicted.series, kept, least)))
        yield round(ranks / largest), {way: at[name] / min(at.values()) for way, name in of_way.items()}


def main() -> None:
    """Print a line for each distance and way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="of published CSVs")
    found: dict[int, list[dict[str, float]]] = defaultdict(list)
    fits = 0
    for fitted, beyond in parts_of(systems_of(parser.parse_args().folders)):
        models = tuple(fit_all(fitted))
        if len(models) > 1:
            (group,) = competing_models(Machine(models), (), Layout(extrapolate=True))
            fits += 1
            for distance, of_way in regrets(group, int(fitted["ranks"].max()), beyond):
                found[distance].append(of_way)
    if not found:
        sys.exit("no system with two series on three numbers of ranks or more in these folders")
    print(f"{fits} fits of systems")
    print(f"{'ranks':<9}{'cells':>6}  {'by':<13}{'mean regret':>12}{'P90':>8}{'most':>8}{'fastest':>9}")
    is_kept = True
    for distance in sorted(found):
        means = {}
        for way in WAYS:
            regret = np.array([of_way[way] for of_way in found[distance]])
            means[way] = float(np.exp(np.log(regret).mean()))
            head = f"{distance:>2} times {len(regret):>6}" if way == WAYS[0] else ""
            print(f"{head:<15}  {way:<13}{means[way]:12.3f}{np.quantile(regret, 0.9):8.2f}", end="")
            print(f"{regret.max():8.2f}{np.mean(regret == 1):9.0%}", flush=True)
        is_kept &= means["predict"] <= MOST_WORSE * means["winner kept"]
    sys.exit(0 if is_kept else "predict chooses worse than the winner at the largest number of ranks, see above")


if __name__ == "__main__":
    main()
