"""Is a program that takes `Allreduce` for mpi4py's own ever slower, and how much memory does it take? Half an hour.

python tests/studies/adopting.py [--runs N] [--only varied,repeated,first] [PYTHON…]. Three programs, whose calls by
mpi4py and by `Allreduce` take turns in one process (`tests/ranks/adopted.py`): 2,000 calls of 500 lengths, on three
communicators, in all types; 2,000 calls of six lengths, beside the choices that trials without a budget find; and the
first 10 and 100 calls of 1 to 8 MiB on four virtual hosts with links of 100 Mbit/s, beside Gloo where torch is. Exit
status 1 where a median of the runs is above SLOWER, or more memory is taken than MORE_NBYTES.
"""

import argparse
import os
import sys
from statistics import median

from auto_choice import INSIDE, rows_of, start_here

from allreduce_bench.lab.lab import LabError, room
from allreduce_bench.units import format_size, parse_rate

SLOWER = 1.05  # times mpi4py's own
MORE_NBYTES = 64 * 2**20  # of a rank, beside what mpi4py's calls took
CALLS, FIRST = "2000", (10, 100)
HOSTS, RATE = 4, "100mbit"


def command(python: str, ranks: int, *options: str) -> list[str]:
    """What becomes the mpirun of the program."""
    return [python, os.path.abspath(__file__), str(ranks), *options]


def shared(python: str, what: str, runs: int) -> bool:
    """Print the ratios of a program in shared memory; whether they are as promised."""
    rows = [rows_of(command(python, 2, what, CALLS))[0] for _ in range(runs)]
    ratios = [row["times_s"]["ours"] / row["times_s"]["mpi4py"] for row in rows]
    more = max(row["more_nbytes"] for row in rows)
    words = f"{median(ratios):.3f} of mpi4py's time ({', '.join(f'{ratio:.3f}' for ratio in sorted(ratios))})"
    print(f"{python}, {what}, 2 ranks, {CALLS} calls: {words}; {format_size(more)} more memory", flush=True)
    if what == "repeated":
        fixed = median(row["times_s"]["fixed"] / row["times_s"]["mpi4py"] for row in rows)
        print(f"  fixed choices: {fixed:.3f}; settled on {rows[-1]['settled']}", flush=True)
    return median(ratios) <= SLOWER and more <= MORE_NBYTES


def first_calls(python: str, runs: int) -> bool:
    """Print the ratios of the first calls on virtual hosts; whether they are as promised."""
    rows = []
    for _ in range(runs):
        with room([parse_rate(RATE)] * HOSTS) as made:
            rows += rows_of(command(python, HOSTS, "first", str(FIRST[-1])), made)
    good = True
    for size_bytes, ways in rows[0]["times_s"].items():
        for calls in FIRST:
            for rival in [name for name in ways if name != "ours"]:
                taken = [row["times_s"][size_bytes] for row in rows]
                ratio = median(sum(times["ours"][:calls]) / sum(times[rival][:calls]) for times in taken)
                where = f"{python}, {HOSTS} hosts, {RATE}, {format_size(int(size_bytes))}"
                print(f"{where}, first {calls} calls: {ratio:.3f} of {rival}", flush=True)
                good &= ratio <= SLOWER
    return good


def main() -> None:
    """Print all lines."""
    if os.environ.pop(INSIDE, ""):
        start_here("adopted.py", int(sys.argv[1]), sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("interpreters", nargs="*", type=os.path.abspath)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="varied,repeated,first")
    options = parser.parse_args()
    passed, wanted = [], options.only.split(",")
    for python in options.interpreters or [sys.executable]:
        passed += [shared(python, what, options.runs) for what in ("varied", "repeated") if what in wanted]
        try:
            passed += [first_calls(python, options.runs)] if "first" in wanted else []
        except LabError as error:
            print(f"no virtual hosts: {error}")
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
