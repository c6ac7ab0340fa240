"""Which all-reduces that go wrong does a run catch? 27 ways, in every operation and type, on both MPIs.

python tests/studies/faults.py [--cell-time S] [--cells M] [PYTHON…]. Prints for each MPI and number of ranks a line per
fault: in how many settings (operation, type, count, native or ring, warm or cold) its cell ended as wrong; whoever
remembers results counts, too, where numbers made that at most 1 % of the timed calls could be left out. Then the same
of compiled tables whose rows are wrong in some calls of a batch; how often faults of one call in N were caught,
and how often the number of checked calls promises it. Exit status 1 where a fault that always comes back was missed, a
sound all-reduce was accused, or a promise is off by 4 standard deviations.
"""

import argparse
import json
import os
import sys
from collections import defaultdict
from pathlib import Path

from rank_programs import mpirun

RANKS = ("2", "3", "4")
ONE_OF = (5, 20, 100)


def lines(python: Path, ranks: str, *options: str, program: str = "faults.py") -> list[dict]:
    """What rank 0 of a program printed. Raises RuntimeError where it failed."""
    status, words = mpirun(python, int(ranks), program, *options, timeout_s=3600)
    if status:
        raise RuntimeError(f"{python}, {ranks} ranks: {words}")
    return [json.loads(line) for line in words.splitlines() if line.startswith("{")]


def table_of_faults(python: Path, cell_time: str, sample: bool) -> int:
    """Print a line per fault, with the columns of the numbers of ranks; how many cells ended as they should not."""
    caught: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    missed = []
    for ranks in RANKS:
        for line in lines(python, ranks, "--cell-time", cell_time, *(["--sample"] if sample else [])):
            caught[line["fault"]][ranks].append(line["caught"])
            if line["caught"] != (line["fault"] != "none"):
                missed.append(f"{ranks} ranks, {line['fault']}: {line['setting']}: {line['state']}")
    print(
        f"\n{python}: settings in which the cell ended as wrong, or remembering saved under 1 %\n{'':44}"
        + "".join(f"{n:>4} ranks" for n in RANKS)
    )
    for fault, by_ranks in caught.items():
        cells = [f"{sum(by_ranks[n])} of {len(by_ranks[n])}" if n in by_ranks else "" for n in RANKS]
        print(f"  {fault:42}" + "".join(f"{cell:>10}" for cell in cells), flush=True)
    print(*(f"  not as it should be: {words}" for words in missed), sep="\n", end="\n" if missed else "")
    return len(missed)


def table_of_tables(python: Path, sample: bool) -> int:
    """Print a line per fault of compiled tables, 2 and 4 ranks; how many cells ended as they should not."""
    print(f"{python}, compiled tables: cells that ended as wrong, of those whose rows were wrong")
    missed = 0
    for ranks in ("2", "4"):
        found = lines(python, ranks, *(["--sample"] if sample else []), program="faulty_tables.py")
        for fault in dict.fromkeys(line["fault"] for line in found):
            cells = [line for line in found if line["fault"] == fault]
            caught, wrong = (sum(map(bool, (line[key] for line in cells))) for key in ("caught", "changed"))
            print(f"  {ranks} ranks, {fault:42}: {caught} of {wrong}; {len(cells) - wrong} were sound", flush=True)
        odd = [line for line in found if line["caught"] != (line["changed"] > 0)]
        missed += len(odd)
        print(*(f"  not as it should be: {line['fault']} {line['setting']}" for line in odd), sep="\n", end="")
    return missed


def table_of_chances(python: Path, cells: int) -> int:
    """Print how often faults of one call in N were caught, and the mean of what was promised; how many are off."""
    print(f"{python}: faults of one call in N, at random, {cells} cells of 2 ranks")
    off = 0
    for most in ONE_OF:
        found = lines(python, "2", "--one-of", str(most), "--cells", str(cells), "--cell-time", "0.02")
        promised = [line["promised"] for line in found]
        share, mean = sum(line["caught"] for line in found) / cells, sum(promised) / cells
        deviation = sum(chance * (1 - chance) for chance in promised) ** 0.5 / cells
        off += abs(share - mean) > 4 * deviation + 1 / cells
        print(
            f"  N = {most:4}: caught {share:6.1%}, promised {mean:6.1%} (standard deviation {deviation:.1%})",
            flush=True,
        )
    return off


def main() -> None:
    """Both tables with every interpreter."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("interpreters", nargs="*", type=os.path.abspath)
    parser.add_argument("--cell-time", default="0.5", help="seconds, as of run [0.5]")
    parser.add_argument("--cells", type=int, default=400, help="of each N [400]")
    parser.add_argument("--sample", action="store_true", help="every seventh setting")
    options = parser.parse_args()
    failed = 0
    for interpreter in options.interpreters or [sys.executable]:
        failed += table_of_faults(Path(interpreter), options.cell_time, options.sample)
        failed += table_of_tables(Path(interpreter), options.sample)
        failed += table_of_chances(Path(interpreter), options.cells)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
