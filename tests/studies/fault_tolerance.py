"""What does fault tolerance cost where nothing is lost? Launches with and without `--with-ft ulfm`, in turns.

python tests/studies/fault_tolerance.py [--ranks P] [--turns N] [--sizes 8,64K,1M]: Open MPI only. Each turn has a
launch without, one with `mpirun --with-ft ulfm`, the other way round in the next turn; a ratio is that of launches of
the same turn, with its 95 % interval (Student's t of the logarithms). Beside it what an agreement after each call
takes, as `survive` measures it: the median over its launches, with the range.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from math import exp, log
from pathlib import Path
from statistics import mean, median, stdev

from measured_runs import bench, with_package
from ratio_lab import medians_of
from scipy.stats import t as student

ALGORITHMS = ("native", "ring", "recursive_doubling")
ULFM = ("--launcher-args", "--with-ft ulfm")
QUICK = ("--launches", 1, "--executor", "sendrecv", "--no-reference-times", "--min-time", "0.3s", "--cell-time", "1s")


def times(ranks: int, size: str, folder: Path, *words: str) -> dict[str, float]:
    """Algorithm -> the median time of a call in one launch, seconds. Raises RuntimeError where it fails."""
    names = ",".join(ALGORITHMS)
    done = bench(Path(sys.executable), "run", "-n", ranks, "-a", names, "--sizes", size, *QUICK, *words, "-o", folder)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return medians_of(folder)[0]


def agreements(ranks: int, size: str, turns: int) -> list[float]:
    """Seconds of the agreement after a call, of each launch."""
    words = ["-n", str(ranks), "-a", "ring", "--sizes", size, "--way", "ulfm", "--kill", f"{ranks - 1}@4"]
    command = [sys.executable, "-m", "allreduce_bench", "survive", *words, "--calls", "6", "--format", "json"]
    found = []
    for _ in range(turns):
        done = subprocess.run(command, capture_output=True, text=True, env=with_package(), check=False)
        one = json.loads(done.stdout)["outcomes"][0]
        found.append(one["before_with_agreement"]["median_s"] - one["before"]["median_s"])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--sizes", default="8,64K,1M")
    asked = parser.parse_args()
    print(f"{asked.ranks} ranks on {os.cpu_count()} cores, {asked.turns} turns")
    for size in asked.sizes.split(","):
        turns: list[tuple[dict[str, float], dict[str, float]]] = []
        with tempfile.TemporaryDirectory() as folder:
            for turn in range(asked.turns):
                ways = [(), ULFM][:: -1 if turn % 2 else 1]
                found = {bool(way): times(asked.ranks, size, Path(folder, f"{turn}{bool(way)}"), *way) for way in ways}
                turns.append((found[False], found[True]))
        for name in ALGORITHMS:
            logs = [log(with_ft[name] / without[name]) for without, with_ft in turns]
            half = student.ppf(0.975, len(logs) - 1) * stdev(logs) / len(logs) ** 0.5
            ends = f"{exp(mean(logs)):.2f} [{exp(mean(logs) - half):.2f}, {exp(mean(logs) + half):.2f}]"
            plain, tolerant = (1e6 * median(turn[place][name] for turn in turns) for place in (0, 1))
            print(f"{size:>5} {name:18} without {plain:8.1f} us, with {tolerant:8.1f} us, ratio {ends}", flush=True)
        took = [1e6 * one for one in agreements(asked.ranks, size, asked.turns)]
        print(f"{size:>5} agreement {median(took):.0f} us ({min(took):.0f} to {max(took):.0f})", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
