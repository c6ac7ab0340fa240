"""Do archives of PICO, imported as they lie, have the cells and times of published rows of the same archives?

One line a system: cells in both, only imported, only published; how many times are equal to 1e-6, of all calls and
without warm-ups, which the published rows have and the import leaves out where PICO's own summary does; how many
numbers of ranks are equal, and which are not. Exit status 1 if a cell is in one of them only, or a time of all calls
differs. Without arguments the sample in tests/data is read.
"""

import argparse
import csv
import sys
import warnings
from collections import Counter, defaultdict
from pathlib import Path

import pandas as pd
from places import DATA

from allreduce_bench.importers import Imported, LogWarning, read
from allreduce_bench.stats import median

EQUAL = 1e-6
Cell = tuple[str, str, str, int, str]  # system, allocation, algorithm, elements, type


def imported_cells(folder: Path) -> dict[Cell, Imported]:
    """The rows of a folder, by cell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LogWarning)
        rows = read(folder)
    return {(row.system, row.launch.partition(",")[0], row.competitor, row.count, row.dtype): row for row in rows}


def published_cells(path: Path, cells: dict[Cell, Imported]) -> dict[Cell, dict[str, str]]:
    """The published rows of the same allocations, by cell."""
    allocations = {cell[:2] for cell in cells}
    with open(path, newline="") as file:
        rows = [row for row in csv.DictReader(file) if (row["system"], row["allocation"]) in allocations]
    return {(row["system"], row["allocation"], row["algorithm"], int(row["count"]), row["dtype"]): row for row in rows}


def study(folder: Path, published: Path) -> int:
    """Print a line a system; the number of cells that differ."""
    ours = imported_cells(folder)
    theirs = published_cells(published, ours)
    counted: dict[str, Counter] = defaultdict(Counter)
    ranks: dict[str, Counter] = defaultdict(Counter)
    for cell in {**ours, **theirs}:
        counts = counted[cell[0]]
        if cell not in theirs or cell not in ours:
            counts["only imported" if cell in ours else "only published"] += 1
            continue
        row, other = ours[cell], theirs[cell]
        expected_s = float(other["median_s"])
        counts["in both"] += 1
        counts["all calls"] += abs(median(row.times_s) - expected_s) <= EQUAL * expected_s
        counts["as imported"] += abs((row.time_s or 0.0) - expected_s) <= EQUAL * expected_s
        counts["ranks"] += row.ranks == int(other["ranks"])
        if row.ranks != int(other["ranks"]):
            ranks[cell[0]][f"{row.ranks} where the published rows have {other['ranks']}"] += 1
    names = ("in both", "only imported", "only published", "all calls", "as imported", "ranks")
    print(pd.DataFrame({system: [counts[name] for name in names] for system, counts in counted.items()}, names).T)
    for system, differing in ranks.items():
        for words, count in differing.items():
            print(f"{system}: {count} x {words}")
    return sum(
        counts["only imported"] + counts["only published"] + counts["in both"] - counts["all calls"]
        for counts in counted.values()
    )


def main() -> None:
    """Compare a folder with a CSV of published rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=DATA / "pico", help="of archives and their metadata")
    parser.add_argument("published", nargs="?", type=Path, default=DATA / "pico_published.csv")
    options = parser.parse_args()
    sys.exit(1 if study(options.folder, options.published) else 0)


if __name__ == "__main__":
    main()
