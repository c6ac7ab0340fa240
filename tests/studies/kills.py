"""Ranks that are stopped or killed, hundreds of times: is the right one named, is nothing lost, is nobody left?

python tests/studies/kills.py [--kills N] [PYTHON…]. For each interpreter's MPI a random rank of 2 to 5 is stopped or
killed when two cells are done; then the run is gone on with. Prints each kill that went wrong, then a line: kills,
rank named, completed by --resume, seconds until the run had ended. Exit status 1 where one went wrong.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from measured_runs import bench, done
from test_hang import strike, words

CELLS = 12  # of the run of `words`


def kill(draw: random.Random, python: Path, folder: Path) -> tuple[str, float]:
    """Why it went wrong, empty where it did not; seconds of the run that was struck."""
    ranks = draw.randint(2, 5)
    victim, name = draw.randrange(ranks), draw.choice(("STOP", "KILL"))
    label = f"{ranks} ranks, SIG{name} to rank {victim}"
    command, start = [str(python), "-m", "allreduce_bench", *words(ranks, folder)], time.monotonic()
    try:
        status, stderr = strike(command, folder, victim, signal.Signals[f"SIG{name}"])
    except AssertionError as fault:
        return f"{label}: {fault or 'it ended before, or left somebody behind'}", time.monotonic() - start
    seconds = time.monotonic() - start
    if status != 1 or f"rank {victim} on " not in stderr.splitlines()[-1]:
        return f"{label}: status {status}, {(stderr.splitlines() or ['nothing said'])[-1]}", seconds
    kept = done(folder)
    resumed = bench(python, "run", "--resume", "-o", folder)
    cells = done(folder)
    if resumed.returncode or not len(cells) == len(set(cells)) == CELLS or not set(kept) <= set(cells):
        return f"{label}: resumed with status {resumed.returncode}, {len(set(cells))} of {CELLS} cells", seconds
    return "", seconds


def main() -> None:
    """Strike so often with every interpreter."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("interpreters", nargs="*", type=os.path.abspath)
    parser.add_argument("--kills", type=int, default=100, help="with each interpreter [100]")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    failed = 0
    for interpreter in options.interpreters or [sys.executable]:
        draw, faults, seconds = random.Random(options.seed), 0, []
        for _ in range(options.kills):
            with tempfile.TemporaryDirectory() as place:
                fault, struck_s = kill(draw, Path(interpreter), Path(place) / "run")
            seconds.append(struck_s)
            if fault:
                print(f"  wrong: {fault}", flush=True)
                faults += 1
        print(
            f"{interpreter}: {options.kills} kills, {options.kills - faults} named and completed, "
            f"ended after {median(seconds):.1f} s (at most {max(seconds):.1f})",
            flush=True,
        )
        failed += faults
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
