"""Does `compare` find what became slower, and nothing else, on this machine? `make regressions`.

A/A: two runs of the same thing, --aa times; counts cells that are called slower or faster. A/B: on one side each call
waits for a tenth, and for three tenths, of its time in a first run (slowed.py), --ab times. The launches of the sides
take turns, since a machine drifts. Exit status 1 where the gate does not keep its promises: more than 5 % of the A/A
cells slower or faster, or a share of them; a slow-down of 10 % called the same or faster; less than 90 % of those of
30 % found. On a loaded machine the intervals are wide, and the last one is not to be had.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from functools import lru_cache
from pathlib import Path

from places import RANK_PROGRAMS
from ratios import mpirun_of
from slowed import SLOWED_VARIABLE

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.runs.folder import RunFolder

BENCH = ["-m", "allreduce_bench"]
MEASURED = ["-a", "native,ring", "--cell-time", "50ms", "--no-floors", "--sync", "barrier", "--thread-level", "single"]
SIZES_AA, SIZES_AB = "8,1K,16K,64K,256K,1M", "64K,256K,1M"
SLOWDOWNS = (0.1, 0.3)
FALSE_ALARMS, FOUND = 0.05, 0.9  # shares: at most, at least


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
    """What `compare --format json` says of each cell."""
    command = [sys.executable, *BENCH, "compare", str(baseline), str(new), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode == 2:
        sys.exit(f"compare refused: {done.stderr.strip()}")
    content = json.loads(done.stdout)
    assert done.returncode == int(content["failed"]), "the exit status is not what was found"
    return content["cells"]


def same_thing(place: Path, comparisons: int, launches: int) -> bool:
    """A/A: whether no more is slower or faster than promised."""
    compared: list[dict] = []
    for i in range(comparisons):
        for launch in range(launches):
            for side in ("ab", "ba")[launch % 2]:
                measure(place / f"{side}{i}", SIZES_AA, launches)
        compared += cells(place / f"a{i}", place / f"b{i}")
    wrong = [cell for cell in compared if cell["verdict"] in ("slower", "faster")]
    print(f"A/A, {comparisons} comparisons of {launches} launches a side: {verdict_counts(compared)}")
    for cell in wrong:
        print("  false:", line(cell))
    return len(wrong) <= FALSE_ALARMS * len(compared)


def slower_thing(place: Path, comparisons: int, launches: int) -> bool:
    """A/B: whether each slow-down is found as promised."""
    compared: dict[float, list[dict]] = {share: [] for share in SLOWDOWNS}
    for i in range(comparisons):
        for _ in range(3):
            measure(place / f"first{i}", SIZES_AB, 3)
        rows = summarise(RunFolder(place / f"first{i}"))
        usual_s = {f"{row['executor']} {row['nbytes']}": row["time_s"] for row in rows}
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
        good &= not count["same"] + count["faster"]
        good &= all(cell["reason"] for cell in slowed_cells if cell["verdict"] == "undecided")
        good &= share < max(SLOWDOWNS) or count["slower"] >= FOUND * len(slowed_cells)
    return good


def verdict_counts(compared: list[dict]) -> str:
    """`60 cells: 0 slower, 1 faster, 59 same, 0 undecided, 0 failed`."""
    count = Counter(cell["verdict"] for cell in compared)
    return f"{len(compared)} cells: " + ", ".join(
        f"{count[kind]} {kind}" for kind in ("slower", "faster", "same", "undecided", "failed")
    )


def line(cell: dict) -> str:
    """A cell with its verdict, its ratio and its interval."""
    numbers = f"{cell['ratio']:.3f} [{cell['low']:.3f}, {cell['high']:.3f}]" if cell["low"] else ""
    return f"{cell['name']}: {cell['verdict']} {numbers} {cell['reason'] or ''}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aa", type=int, default=20, help="comparisons of the same thing [20]")
    parser.add_argument("--ab", type=int, default=3, help="comparisons with what was made slower [3]")
    parser.add_argument("--launches-aa", type=int, default=5, help="a side [5]")
    parser.add_argument("--launches-ab", type=int, default=10, help="a side [10]")
    parser.add_argument("-o", "--output", type=Path, help="keep the runs there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = options.output or Path(folder)
        promises_kept = [not options.aa or same_thing(place, options.aa, options.launches_aa)]
        promises_kept.append(not options.ab or slower_thing(place, options.ab, options.launches_ab))
    sys.exit(0 if all(promises_kept) else "the promises were not kept, see above")


if __name__ == "__main__":
    main()
