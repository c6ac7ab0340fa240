"""What do native and ours take by where vectors lie? Drawn over the difference, on each MPI.

An interpreter measures a run for each placement of the vectors, whose launches alternate (`--against`). Times are those
of the summaries, over the time at pages. Writes `placement.csv` and `placement.png`,
and says how much the machine's own copy takes at a difference of 16 bytes.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from string import ascii_lowercase

import pandas as pd
from matplotlib.figure import Figure

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.machine.copies import DELTA, close_copy_factor
from allreduce_bench.machine.node import node_facts
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.schema import NUMPY, PAGE
from allreduce_bench.units import format_size

ALGORITHMS = ("native", "ring", "recursive_doubling")
DIFFERENCES = (0, 4, 8, 16, 28, 32, 64, 1024, 4080)
SIZES = "4K,64K,256K,1M,16M"
SHOWN = 0.45, 4.5  # times that at pages; what lies beyond, where ranks share cores, is drawn at the edge
COLOURS = {"native": "#000000", "ring": "#0072b2", "recursive_doubling": "#d55e00"}


def main() -> int:
    """Measure each MPI, write the table and the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("interpreters", nargs="*", type=os.path.abspath, default=[sys.executable])
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/placement"))
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--launches", type=int, default=5)
    parser.add_argument("--cell-time", default="60ms")
    asked = parser.parse_args()
    frames = [measured(python, asked) for python in asked.interpreters]
    table = pd.concat(frames, ignore_index=True)
    asked.output.mkdir(parents=True, exist_ok=True)
    table.to_csv(asked.output / "placement.csv", index=False, float_format="%.6g")
    draw(table).savefig(asked.output / "placement.png", dpi=110)
    facts = node_facts()
    print(f"{facts['processor']}, {facts['processor_family']}, {facts['libc']}: ", end="")
    print(f"a copy of 64 KiB takes {close_copy_factor():.2f} times as long at a difference of {DELTA}")
    for (mpi, ranks, algorithm), of in table.groupby(["mpi", "ranks", "competitor"], sort=False):
        close, far = (of[of["is_close"] == kind]["over_page"].dropna() for kind in (1, 0))
        numpy_s = of[of["placement"] == NUMPY]["over_page"]
        print(
            f"{mpi}, {ranks} ranks, {algorithm}: {close.min():.2f} to {close.max():.2f} times the time at pages at ",
            end="",
        )
        print(
            f"differences of 1 to 31, {far.min():.2f} to {far.max():.2f} elsewhere, numpy {numpy_s.max():.2f} at most"
        )
    return 0


def measured(python: str, asked: argparse.Namespace) -> pd.DataFrame:
    """A row for each algorithm, size, number of ranks and placement on the MPI of `python`."""
    placements = [PAGE, NUMPY, *map(str, DIFFERENCES)]
    with tempfile.TemporaryDirectory() as folder:
        words = ["-n", asked.ranks, "-a", ",".join(ALGORITHMS), "--sizes", asked.sizes, "--placement", PAGE]
        words += ["--launches", str(asked.launches), "--cell-time", asked.cell_time, "-o", f"{folder}/P"]
        words += [word for placement in placements[1:] for word in ("--against", f"--placement {placement}")]
        command = [python, "-m", "allreduce_bench", "run", *words, "--no-reference-times"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            raise SystemExit(f"{' '.join(command)}: exit status {result.returncode}: {result.stderr.strip()[-2000:]}")
        runs = [RunFolder(Path(folder, "P", name)) for name in ascii_lowercase[: len(placements)]]
        rows = [(placement, row) for placement, run in zip(placements, runs) for row in summarise(run)]
        library = runs[0].attempts()[0]["mpi"]["library"]
    at_page = {
        (row["ranks"], row["competitor"], row["size_bytes"]): row["time_s"] for where, row in rows if where == PAGE
    }
    return pd.DataFrame(
        [
            {
                "mpi": library,
                "ranks": row["ranks"],
                "competitor": row["competitor"],
                "size_bytes": row["size_bytes"],
                "placement": placement,
                "is_close": int(placement.isdigit() and 0 < int(placement) < 32),
                "time_s": row["time_s"],
                "over_page": row["time_s"] / at_page[row["ranks"], row["competitor"], row["size_bytes"]],
                "launches": row["launches"],
            }
            for placement, row in rows
            if row["time_s"]
        ]
    )


def draw(table: pd.DataFrame) -> Figure:
    """A row of panels for each MPI and number of ranks, a panel for each size: time over that at pages.

    Differences of 1 to 31 bytes are grey.
    """
    groups, sizes = list(table.groupby(["mpi", "ranks"], sort=False)), sorted(table["size_bytes"].unique())
    places = [NUMPY, *(str(difference) for difference in DIFFERENCES)]
    figure = Figure(figsize=(3.2 * len(sizes), 2.1 * len(groups) + 0.8), layout="constrained")
    panels = figure.subplots(len(groups), len(sizes), sharex=True, sharey="row", squeeze=False)
    for panels_of_row, ((mpi, ranks), of) in zip(panels, groups):
        for axes, size_bytes in zip(panels_of_row, sizes):
            axes.axvspan(places.index("4") - 0.5, places.index("28") + 0.5, color="#eeeeee", zorder=0)
            axes.axhline(1, color="#999999", linewidth=0.8)
            for algorithm, line in of[of["size_bytes"] == size_bytes].groupby("competitor", sort=False):
                values = line.set_index("placement")["over_page"].reindex(places).clip(*SHOWN)
                axes.plot(
                    range(len(places)),
                    values,
                    "o-",
                    markersize=3,
                    linewidth=1,
                    color=COLOURS[algorithm],
                    label=algorithm,
                )
            axes.set_yscale("log", base=2)
            axes.set_ylim(*SHOWN)
            axes.set_yticks([0.5, 1, 2, 4], ["0.5", "1", "2", "4"])
            axes.set_title(f"{mpi}, {ranks} ranks, {format_size(int(size_bytes))}", fontsize=8)
            axes.set_xticks(range(len(places)), places, rotation=90, fontsize=7)
        panels_of_row[0].set_ylabel("time over that at pages", fontsize=8)
    for axes in panels[-1]:
        axes.set_xlabel("output - input, bytes modulo 4096", fontsize=8)
    figure.legend(
        *panels[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=len(ALGORITHMS), fontsize=8
    )
    return figure


if __name__ == "__main__":
    sys.exit(main())
