"""What does the library's own all-reduce take with MPI_IN_PLACE, over its time out of place? `in_place.py PYTHON…`.

For each MPI, number of ranks and size: both times (medians over launches) and in place / out of place, the median over
launches with the least and the largest; launches of `tests/ranks/in_place.py`. nccl-tests prints both; cells of this
program are out of place, as OSU's and IMB's are.
"""

import argparse
import json
from pathlib import Path
from statistics import median

from rank_programs import mpirun

from allreduce_bench.units import format_size, format_time

SIZES = [8, 4096, 65536, 262144, 1 << 20, 16 << 20]


def main() -> None:
    """Print a line for each MPI, number of ranks and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("interpreters", nargs="+", type=Path)
    parser.add_argument("--launches", type=int, default=5)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2])
    options = parser.parse_args()
    for python in options.interpreters:
        for ranks in options.ranks:
            launches = [_launch(python, ranks) for _ in range(options.launches)]
            print(f"{python.parent.parent.name}, {ranks} ranks: out of place, in place, ratio (least to largest)")
            for size_bytes in SIZES:
                out, within = ([launch[str(size_bytes)][way] for launch in launches] for way in (0, 1))
                ratios = [own / other for own, other in zip(within, out)]
                times = f"{format_time(median(out)):>9} {format_time(median(within)):>9}"
                ratio = f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
                print(f"{format_size(size_bytes):>8} {times}  {ratio}", flush=True)


def _launch(python: Path, ranks: int) -> dict[str, list[float]]:
    status, words = mpirun(python, ranks, "in_place.py", ",".join(map(str, SIZES)))
    if status:
        raise SystemExit(words)
    return json.loads(words.splitlines()[-1])


if __name__ == "__main__":
    main()
