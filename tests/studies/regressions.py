"""Does `compare` find what became slower, and nothing else, on this machine? `make regressions`.

A/A: two runs of the same thing, --aa times; counts cells that are called slower or faster, and those that stay
undecided. A/B: on one side each call waits for a tenth, two and three tenths of its time in a first run (slowed.py),
--ab times. The launches of the sides take turns, since a machine drifts. The threshold is 5 %. Exit status 1 where the
gate does not keep its promises: more than 4 % of equal cells slower or faster; a slower cell called faster, or one that
is 30 % slower the same; and, as long as launches of a cell differ by 10 % or less (median of the cells), less than 89 %
found of those that are 30 % slower.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from functools import lru_cache
from math import log
from pathlib import Path
from statistics import median, stdev

from costs import mpirun_of
from places import RANK_PROGRAMS
from slowed import SLOWED_VARIABLE

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.runs.folder import RunFolder

BENCH = ["-m", "allreduce_bench"]
MEASURED = [
    "-a",
    "native,ring",
    "--cell-time",
    "50ms",
    "--no-reference-times",
    "--sync",
    "barrier",
    "--thread-level",
    "single",
]
SIZES_AA, SIZES_AB = "8,1K,16K,64K,256K,1M", "64K,256K,1M"
SLOWDOWNS = (0.1, 0.2, 0.3)
THRESHOLD = "5%"
FALSE, FOUND = 0.04, 0.89  # shares of cells: at most, at least
PROMISED_SPREAD = 0.1  # of launches: up to it slower cells are found as promised


@lru_cache
def mpirun() -> list[str]:
    """What starts 2 ranks here."""
    return mpirun_of(sys.executable, 2, [])[1]


def measure(folder: Path, sizes: str, launches: int, delays_s: dict[str, float] | None = None) -> None:
    """Add the next launch to the run in `folder`, of 2 ranks and `launches` in all; with delays by slowed.py."""
    program = [str(RANK_PROGRAMS / "slowed.py")] if delays_s else BENCH
    words = ["run", *MEASURED, "--sizes", sizes, "--launches", str(launches), "--resume", "-o", str(folder)]
    environ = {**os.environ, SLOWED_VARIABLE: json.dumps(delays_s or {})}
    command = [*mpirun(), sys.executable, *program, *words]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        sys.exit(f"a launch failed with status {done.returncode}: {done.stderr.strip()}")


def cells(baseline: Path, new: Path) -> list[dict]:
    """What `compare --format json` says of each cell; and `spread`, by how much its launches in the baseline differ."""
    command = [sys.executable, *BENCH, "compare", str(baseline), str(new), "--threshold", THRESHOLD, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode == 2:
        sys.exit(f"compare refused: {done.stderr.strip()}")
    content = json.loads(done.stdout)
    assert done.returncode == int(content["failed"]), "the exit status is not what was found"
    spreads = {
        (row["competitor"], row["size_bytes"]): stdev(map(log, row["launch_medians"].values()))
        for row in summarise(RunFolder(baseline))
        if row["time_s"]
    }
    return [{**cell, "spread": spreads[cell["competitor"], cell["size_bytes"]]} for cell in content["cells"]]


def same_thing(place: Path, comparisons: int, launches: int) -> bool:
    """A/A: whether no more is slower or faster, or undecided, than promised."""
    compared: list[list[dict]] = []
    for i in range(comparisons):
        for launch in range(launches):
            for side in ("ab", "ba")[launch % 2]:
                measure(place / f"{side}{i}", SIZES_AA, launches)
        compared.append(cells(place / f"a{i}", place / f"b{i}"))
    equal = [cell for of_one in compared for cell in of_one]
    print(f"A/A, {comparisons} comparisons of {launches} launches a side: {verdict_counts(equal)}")
    wrong = [[cell for cell in of_one if cell["verdict"] in ("slower", "faster")] for of_one in compared]
    for cell in (cell for of_one in wrong for cell in of_one):
        print("  false:", line(cell))
    return sum(map(len, wrong)) <= FALSE * len(equal)


def slower_thing(place: Path, comparisons: int, launches: int) -> bool:
    """A/B: whether each slow-down is found as promised."""
    compared: dict[float, list[dict]] = {share: [] for share in SLOWDOWNS}
    for i in range(comparisons):
        for _ in range(3):
            measure(place / f"first{i}", SIZES_AB, 3)
        rows = summarise(RunFolder(place / f"first{i}"))
        usual_s = {f"{row['competitor']} {row['size_bytes']}": row["time_s"] for row in rows}
        for _ in range(launches):
            measure(place / f"fast{i}", SIZES_AB, launches)
            for share in SLOWDOWNS:
                delays_s = {name: share * time_s for name, time_s in usual_s.items()}
                measure(place / f"slow{i}_{share}", SIZES_AB, launches, delays_s)
        for share in SLOWDOWNS:
            compared[share] += cells(place / f"fast{i}", place / f"slow{i}_{share}")
    good = True
    for share, slowed_cells in compared.items():
        count = Counter(cell["verdict"] for cell in slowed_cells)
        title = f"A/B, slowed by {share:.0%}, {comparisons} comparisons of {launches} launches a side"
        print(f"{title}: {verdict_counts(slowed_cells)}")
        for cell in slowed_cells:
            print("  ", line(cell))
        good &= not count["faster"]
        good &= all(cell["reason"] for cell in slowed_cells if cell["verdict"] == "undecided")
        if share == max(SLOWDOWNS):
            is_rough = spread_of(slowed_cells) > PROMISED_SPREAD
            good &= not count["same"] and (is_rough or count["slower"] >= FOUND * len(slowed_cells))
    return good


def spread_of(compared: list[dict]) -> float:
    """By how much launches of a cell differ: the standard deviation of logarithms, median of the cells."""
    return median(cell["spread"] for cell in compared)


def verdict_counts(compared: list[dict]) -> str:
    """`60 cells: 0 slower, 1 faster, 59 same, 0 undecided, 0 failed; launches differ by 3.1%`."""
    count = Counter(cell["verdict"] for cell in compared)
    kinds = ", ".join(f"{count[kind]} {kind}" for kind in ("slower", "faster", "same", "undecided", "failed"))
    return f"{len(compared)} cells: {kinds}; launches differ by {spread_of(compared):.1%}"


def line(cell: dict) -> str:
    """A cell with its verdict, its ratio and the reason."""
    ratio = f" {cell['ratio']:.3f}" if cell["ratio"] else ""
    return f"{cell['name']}: {cell['verdict']}{ratio}; {cell['reason']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aa", type=int, default=20, help="comparisons of the same thing [20]")
    parser.add_argument("--ab", type=int, default=3, help="comparisons with what was made slower [3]")
    parser.add_argument("--launches-aa", type=int, default=5, help="a side [5]")
    parser.add_argument("--launches-ab", type=int, default=5, help="a side [5]")
    parser.add_argument("-o", "--output", type=Path, help="keep the runs there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = options.output or Path(folder)
        promises_kept = [not options.aa or same_thing(place, options.aa, options.launches_aa)]
        promises_kept.append(not options.ab or slower_thing(place, options.ab, options.launches_ab))
    sys.exit(0 if all(promises_kept) else "the promises were not kept, see above")


if __name__ == "__main__":
    main()
