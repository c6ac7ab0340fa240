"""`make ratios`: how fast ours are against every peer and limit, side by side on each MPI, with intervals and goals.

Both sides of a ratio are timed in one launch with the same buffers, in turns (tests/ranks/rivals.py). A first launch at
each thread level finds the level at which the rival is fastest and the best of ours there; the ratio is the median over
further launches, with its 95 % interval by Student's t on their logarithms. What this version or this machine cannot do
is skipped by name. Exit status 1: some goal was not met. The history goes to results/ratios.csv; `report --ratios`
shows it.
"""

import argparse
import csv
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import NamedTuple

from costs import mpirun_of
from ratio_lab import LAUNCHED_ON, measure_lab
from ratio_rows import LAB_ROWS, MPICH, OPEN_MPI, ROWS, Goal, Row

from allreduce_bench.report.ratio_table import COLUMNS, Ratio
from allreduce_bench.stats import log_interval

TESTS = Path(__file__).parents[1]
RIVALS, LOOP = TESTS / "ranks" / "rivals.py", TESTS / "ranks" / "osu_loop.c"
HISTORY = TESTS.parent / "results" / "ratios.csv"
LEVELS = ("single", "multiple")
SECONDS = 1.0  # of a launch


class Side(NamedTuple):
    """An MPI: its interpreter, and its library of the C loop; none: why."""

    python: str
    mpi: str
    library: str


def main() -> int:
    """Measure the rows that are asked for; 1 if a goal was not met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("interpreters", nargs="*", type=os.path.abspath, default=[sys.executable])
    parser.add_argument("--only", default="", metavar="WORDS", help="rows that contain these words")
    parser.add_argument("--launches", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of one launch")
    parser.add_argument("--history", type=Path, default=HISTORY)
    chosen = parser.parse_args()
    found: list[Ratio] = []  # each is kept at once: all of them take long
    with tempfile.TemporaryDirectory() as folder:
        for python in chosen.interpreters:
            for ratio in ratios_of(side_of(python, Path(folder)), chosen.only, chosen.launches, chosen.seconds):
                print(line_of(ratio), flush=True)
                found.append(ratio)
                append(chosen.history, [ratio])
    if not found:
        parser.error(f"no row contains '{chosen.only}'")
    print(f"appended to {chosen.history}; a page: allreduce-bench report RUN --ratios {chosen.history}")
    return int(any(ratio.met is False for ratio in found))


def ratios_of(side: Side, words: str, launches: int, seconds: float) -> Iterator[Ratio]:
    """The ratios of one MPI, row by row."""
    for row in ROWS:
        if words in row.what:
            yield measured(row, side, launches, seconds)
    if lab := [row for row in LAB_ROWS if words in row.what]:
        values, how = measure_lab(side.python, lab, launches)
        for lab_row in lab:
            of_row = values.get(lab_row.what, [])
            by = f"{lab_row.algorithm}/{how}" if of_row else how
            yield judged(side.mpi, lab_row.what, lab_row.goals[side.mpi], of_row, by, LAUNCHED_ON)


def measured(row: Row, side: Side, launches: int, seconds: float) -> Ratio:
    """One ratio."""

    def ask(level: str, rivals: Sequence[str]) -> dict:
        question = {"count": max(1, row.nbytes // 4), "rivals": rivals, "seconds": seconds}
        return launch(side, row.ranks, {**question, "definition": row.definition, "library": side.library}, level)

    pilots = {level: ask(level, [row.rival, *row.ours]) for level in LEVELS}
    goal, absent = row.goals[side.mpi], pilots[LEVELS[0]]["absent"]
    present = [name for name in row.ours if name not in absent]
    if row.rival in absent or not present:
        lacking = [name for name in (row.rival, *row.ours) if name in absent]
        why = "; ".join(dict.fromkeys(absent[name] for name in lacking))
        return judged(side.mpi, row.what, goal, [], f"skipped: {why}", "")
    level = min(LEVELS, key=lambda level: pilots[level]["times"][row.rival])
    best = min(present, key=lambda name: pilots[level]["times"][name])
    values = []
    for _ in range(launches):
        ratio = ask(level, [row.rival, best])["ratios"][best]  # of blocks side by side
        values.append(1 / ratio if row.inverse else ratio)
    return judged(side.mpi, row.what, goal, values, best, level, upper=row.upper)


def judged(mpi: str, what: str, goal: Goal, values: Sequence[float], by: str, level: str, upper: bool = False) -> Ratio:
    """The row of the history; without values it was skipped."""
    date = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M")
    machine = f"{os.cpu_count()} cores, {processor()}"
    if not values:
        return Ratio(date, machine, mpi, what, None, None, None, 0, goal.words, None, by, level)
    middle = median(values)
    low, high = log_interval(values) if len(values) > 1 else (None, None)
    met = goal.met(high if upper and high is not None else middle)
    words = f"{goal.words} (upper end)" if upper else goal.words
    return Ratio(date, machine, mpi, what, middle, low, high, len(values), words, met, by, level)


def launch(side: Side, ranks: int, question: dict, level: str) -> dict:
    """What the ranks of one launch answer."""
    _, command = mpirun_of(side.python, ranks, [side.python, str(RIVALS), json.dumps(question)])
    environ = {**os.environ, "MPI4PY_RC_THREAD_LEVEL": level}
    result = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=600)
    if result.returncode:
        raise SystemExit(f"{' '.join(command)}: exit status {result.returncode}: {result.stderr.strip()[-2000:]}")
    return json.loads(next(line for line in result.stdout.splitlines() if line.startswith("{")))


def side_of(python: str, folder: Path) -> Side:
    """The MPI of an interpreter, with the C loop compiled by its own mpicc."""
    library, _ = mpirun_of(python, 1, ["true"])
    mpi = MPICH if MPICH in library else OPEN_MPI
    compiler, loop = Path(python).parent / "mpicc", folder / f"{mpi.replace(' ', '_')}.so"
    name = str(compiler) if compiler.exists() else shutil.which("mpicc")
    if name:
        command = [name, "-O2", "-shared", "-fPIC", "-o", str(loop), str(LOOP)]
        subprocess.run(command, capture_output=True, check=False)
    return Side(python, mpi, str(loop) if loop.exists() else "")


def processor() -> str:
    """The name of the processor, as the kernel gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def line_of(ratio: Ratio) -> str:
    """One line of the table."""
    if ratio.ratio is None:
        return f"  -      {ratio.mpi:<8}  {ratio.what}: {ratio.by}"
    spread = f" [{ratio.low:.2f}, {ratio.high:.2f}]" if ratio.low and ratio.high else ""
    verdict = "met" if ratio.met else "MISSED"
    how = f"goal {ratio.goal} ({ratio.by}, {ratio.thread_level})"
    return f"  {verdict:<6} {ratio.mpi:<8}  {ratio.what}: {ratio.ratio:.3f}{spread}, {how}"


def append(history: Path, found: Sequence[Ratio]) -> None:
    """Add rows at the end; a new file gets its header."""
    is_new = not history.exists()
    with open(history, "a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([COLUMNS] if is_new else [])
        writer.writerows(map(field_text, ratio) for ratio in found)


def field_text(value: object) -> object:
    """A value as it stands in the file."""
    return f"{value:.6g}" if isinstance(value, float) else int(value) if isinstance(value, bool) else value


if __name__ == "__main__":
    sys.exit(main())
