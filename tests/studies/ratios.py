"""`make ratios`: how fast ours are against every peer and limit, side by side on each MPI, with intervals and goals.

Both sides of a ratio are timed in one launch with the same buffers at pages, in turns (tests/ranks/rivals.py). On one
half of the launches, at each thread level, the level is found at which either side is fastest, and the best of each
there; the ratio comes from the other half: a choice among many would flatter itself. Where ranks outnumber cores the
level is the one that `run` takes: at others some MPIs do not yield, and a launch is fast or slow by chance. The ratio
is the geometric mean over launches, with the 90 % interval of that mean by Student's t on their logarithms. Programs of
others are held against ours launch by launch: see ratio_peers.py. What this version or this machine cannot do is
skipped by name. Exit status 1: some goal was not met. The history goes to results/ratios.csv.
"""

import argparse
import csv
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from math import exp, log, sqrt
from pathlib import Path
from statistics import fmean, median, stdev
from typing import NamedTuple

from costs import mpirun_of
from ratio_history import COLUMNS, PAGE, Ratio, read_ratios
from ratio_lab import LAUNCHED_ON, measure_lab
from ratio_peers import LEVEL, Absent, measure_peer, peer_of
from ratio_rows import (
    INTEL,
    LAB_ROWS,
    MPICH,
    OPEN_MPI,
    PEER_ROWS,
    ROWS,
    SERIES,
    SHOWN,
    Goal,
    Row,
    Series,
)
from scipy.stats import t as student

from allreduce_bench.runs.competitor import FORCED_PREFIX
from allreduce_bench.runs.library_algorithms import variables_at_start
from allreduce_bench.stats import geometric_mean

TESTS = Path(__file__).parents[1]
RIVALS, LOOP = TESTS / "ranks" / "rivals.py", TESTS / "ranks" / "osu_loop.c"
HISTORY = TESTS.parent / "results" / "ratios.csv"
LEVELS, CROWDED_LEVELS = ("single", "multiple"), ("multiple",)
SECONDS = 1.0  # of a launch
LEAST_LAUNCHES = 4  # two halves of which each has a spread
SHARE = 0.90  # of intervals
ESTIMATOR = f"geometric mean; {SHARE:.0%} interval by Student's t on logarithms"


class Side(NamedTuple):
    """An MPI: its interpreter, and its library and its program of the loops in C; empty: no mpicc or no header."""

    python: str
    mpi: str
    library: str
    stand_in: str = ""


class Measured(NamedTuple):
    """What the launches of a row gave: the ratio of each, or why there are none."""

    values: list[float]
    by: str
    level: str = ""


def main() -> int:
    """Measure the rows that are asked for; 1 if a goal was not met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("interpreters", nargs="*", type=os.path.abspath, default=[sys.executable])
    parser.add_argument("--only", default="", metavar="WORDS", help="rows that contain these words")
    parser.add_argument("--launches", type=int, default=10, help=f"of each row, {LEAST_LAUNCHES} or more")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of one launch")
    parser.add_argument("--history", type=Path, default=HISTORY)
    chosen = parser.parse_args()
    if chosen.launches < LEAST_LAUNCHES:
        parser.error(f"--launches {chosen.launches}: expected {LEAST_LAUNCHES} or more")
    found: list[Ratio] = []  # each is kept at once: all of them take long
    with tempfile.TemporaryDirectory() as folder:
        for python in filter(has_mpi, chosen.interpreters):
            for ratio in ratios_of(side_of(python, Path(folder)), chosen.only, chosen.launches, chosen.seconds):
                print(line_of(ratio), flush=True)
                found.append(ratio)
                append(chosen.history, [ratio])
    if not found:
        parser.error(f"no row contains '{chosen.only}'")
    print(f"appended to {chosen.history}")
    return int(any(ratio.met is False for ratio in found))


def has_mpi(python: str) -> bool:
    """Whether an interpreter is there and finds an MPI; says where it does not."""
    command = [python, "-c", "from allreduce_bench.launching.find import find_launcher; find_launcher()"]
    try:
        found = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        found = False
    if not found:
        print(f"  -      skipped: {python} finds no MPI", flush=True)
    return found


def ratios_of(side: Side, words: str, launches: int, seconds: float) -> Iterator[Ratio]:
    """The ratios of one MPI, row by row."""
    yield from peer_ratios(side, words, launches)
    for series in SERIES:
        yield from series_ratios(side, series, words, launches, seconds)
    for row in ROWS:
        if words in row.what:
            yield judged(side.mpi, row.what, row.goals[side.mpi], measured(row, side, launches, seconds))
    if lab := [row for row in LAB_ROWS if words in row.what]:
        values, how = measure_lab(side.python, lab, launches)
        for lab_row in lab:
            of_row = values.get(lab_row.what, [])
            absent = how if how.startswith("skipped") else f"skipped: {lab_row.rival} has no time"
            by = f"{lab_row.algorithm}/{how}" if of_row else absent
            yield judged(side.mpi, lab_row.what, lab_row.goals[side.mpi], Measured(of_row, by, LAUNCHED_ON))


def peer_ratios(side: Side, words: str, launches: int) -> Iterator[Ratio]:
    """The rows against programs of others: the launches at one number of ranks give all its sizes."""
    for ranks in dict.fromkeys(row.ranks for row in PEER_ROWS):
        name, why, peer, ratios = "IMB-MPI1" if side.mpi == INTEL else "osu_allreduce", "", None, {}
        try:
            peer = peer_of(side.python, ranks, side.mpi == INTEL, side.stand_in)
            name = peer.name
        except Absent as reason:
            why = str(reason)
        rows = [row._replace(what=row.what.format(peer=name)) for row in PEER_ROWS if row.ranks == ranks]
        asked = [row for row in rows if words in row.what]
        try:
            ratios = measure_peer(side.python, peer, ranks, launches) if peer and asked else {}
        except Absent as reason:
            why = str(reason)
        for row in asked:
            by = (
                f"skipped: {why}"
                if row.size_bytes not in ratios
                else ", ".join(filter(None, ("native/compiled", peer.note)))
            )
            answer = Measured(ratios.get(row.size_bytes, []), by, LEVEL)
            yield judged(side.mpi, row.what, row.goal, answer, peer.placement if peer else PAGE)


def series_ratios(side: Side, series: Series, words: str, launches: int, seconds: float) -> Iterator[Ratio]:
    """The rows of several sizes, and what they are together where all are asked for."""
    answers: dict[str, Measured] = {}
    mean, worst = series.together
    is_whole = words in mean or words in worst
    for row in series.rows:
        if is_whole or words in row.what:
            answers[row.what] = measured(row, side, launches, seconds)
            yield judged(side.mpi, row.what, row.goals[side.mpi], answers[row.what])
    if not is_whole or not all(answer.values for answer in answers.values()):
        return
    over_all = [geometric_mean(values) for values in zip(*(answer.values for answer in answers.values()))]
    yield judged(side.mpi, mean, SHOWN, Measured(over_all, f"{len(answers)} sizes", "of each size"))
    last = min(answers, key=lambda what: geometric_mean(answers[what].values))
    by = f"{last.split(', ')[1]}: {answers[last].by}"
    yield judged(side.mpi, worst, SHOWN, answers[last]._replace(by=by))


def measured(row: Row, side: Side, launches: int, seconds: float) -> Measured:
    """The ratios of one row: both sides chosen on one half of the launches, the ratios taken from the other."""

    def ask(level: str, rivals: Sequence[str]) -> dict:
        question = {"count": max(1, row.size_bytes // 4), "rivals": rivals, "seconds": seconds}
        return launch(side, row.ranks, {**question, "definition": row.definition, "library": side.library}, level)

    half, levels = launches // 2, CROWDED_LEVELS if row.ranks > (os.cpu_count() or 1) else LEVELS
    tried = {level: [ask(level, [*row.theirs, *row.ours])] for level in levels}
    absent = tried[levels[0]][0]["absent"]
    theirs, ours = ([name for name in names if name not in absent] for names in (row.theirs, row.ours))
    if not theirs or not ours:
        lacking = [name for name in (*row.theirs, *row.ours) if name in absent]
        first, *others = dict.fromkeys(absent[name] for name in lacking)
        return Measured([], f"skipped: {first}{f'; and {len(others)} more' if others else ''}")
    for level in levels:
        tried[level] += [ask(level, [*theirs, *ours]) for _ in range(half - 1)]

    def fastest(names: Sequence[str], level: str) -> str:
        return max(names, key=lambda name: geometric_mean([answer["ratios"][name] for answer in tried[level]]))

    def best_time(level: str) -> float:
        return min(median(answer["times"][fastest(side, level)] for answer in tried[level]) for side in (theirs, ours))

    level = min(levels, key=best_time)
    rival, best = fastest(theirs, level), fastest(ours, level)
    ratios = [ask(level, [rival, best])["ratios"][best] for _ in range(launches - half)]
    by = f"{best} against {rival}" if len(row.theirs) > 1 else best
    return Measured([1 / ratio if row.inverse else ratio for ratio in ratios], by, level)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The interval of the geometric mean of two or more positive values, by Student's t on their logarithms."""
    logs = [log(value) for value in values]
    reach = student.ppf((1 + SHARE) / 2, len(logs) - 1) * stdev(logs) / sqrt(len(logs))
    return exp(fmean(logs) - reach), exp(fmean(logs) + reach)


def judged(mpi: str, what: str, goal: Goal, answer: Measured, placement: str = PAGE) -> Ratio:
    """The row of the history; without values it was skipped."""
    date = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M")
    values, where = answer.values, (date, machine(), mpi, what)
    if not values:
        return Ratio(*where, None, None, None, 0, goal.words, None, answer.by, answer.level, placement, ESTIMATOR)
    middle = geometric_mean(values)
    low, high = interval(values) if len(values) > 1 else (None, None)
    met = goal.met(middle, low, high)
    how = (len(values), goal.words, met, answer.by, answer.level, placement, ESTIMATOR)
    return Ratio(*where, middle, low, high, *how)


def launch(side: Side, ranks: int, question: dict, level: str) -> dict:
    """What the ranks of one launch answer."""
    _, command = mpirun_of(side.python, ranks, [side.python, str(RIVALS), json.dumps(question)])
    environ = {**os.environ, "MPI4PY_RC_THREAD_LEVEL": level, **told_at_start(side.mpi, question["rivals"])}
    result = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=600)
    if result.returncode:
        raise SystemExit(f"{' '.join(command)}: exit status {result.returncode}: {result.stderr.strip()[-2000:]}")
    return json.loads(next(line for line in result.stdout.splitlines() if line.startswith("{")))


def told_at_start(mpi: str, rivals: Sequence[str]) -> dict[str, str]:
    """What tells Intel MPI its algorithm, from the start of a launch on; of several none, and each is absent there."""
    told = {name for name, *_ in (rival.split("/") for rival in rivals) if name.startswith(FORCED_PREFIX)}
    return variables_at_start(*told, mpi) if mpi == INTEL and len(told) == 1 else {}


def side_of(python: str, folder: Path) -> Side:
    """The MPI of an interpreter, with the C loop compiled by its own mpicc."""
    library, _ = mpirun_of(python, 1, ["true"])
    mpi = next((name for name in (MPICH, INTEL) if name in library), OPEN_MPI)
    compiler, loop = Path(python).parent / "mpicc", folder / f"{mpi.replace(' ', '_')}.so"
    name = str(compiler) if compiler.exists() else None if mpi == INTEL else shutil.which("mpicc")
    program = loop.with_suffix("")
    for options, made in ((["-shared", "-fPIC"], loop), (["-DSTAND_IN"], program)) if name else ():
        subprocess.run([name, "-O2", *options, "-o", str(made), str(LOOP)], capture_output=True, check=False)
    return Side(python, mpi, *(str(made) if made.exists() else "" for made in (loop, program)))


def machine() -> str:
    """`2 cores, AMD EPYC, family 25 model 1`: names of processors of clouds do not say which one it is."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        text = ""
    found = {
        name: re.search(rf"^{name}\s*:\s*(.+)$", text, re.MULTILINE) for name in ("model name", "cpu family", "model")
    }
    values = {name: match[1].strip() for name, match in found.items() if match}
    words = [f"{os.cpu_count()} cores", values.get("model name", platform.machine())]
    if "cpu family" in values and "model" in values:
        words.append(f"family {values['cpu family']} model {values['model']}")
    return ", ".join(words)


def line_of(ratio: Ratio) -> str:
    """One line of the table."""
    if ratio.ratio is None:
        return f"  -      {ratio.mpi:<9}  {ratio.what}: {ratio.by}"
    spread = f" [{ratio.low:.2f}, {ratio.high:.2f}]" if ratio.low and ratio.high else ""
    verdict = "shown" if ratio.met is None else "met" if ratio.met else "MISSED"
    how = f"{f'goal {ratio.goal} ' if ratio.goal and ratio.met is not None else ''}({ratio.by}, {ratio.thread_level})"
    return f"  {verdict:<6} {ratio.mpi:<9}  {ratio.what}: {ratio.ratio:.3f}{spread}, {how}"


def append(history: Path, found: Sequence[Ratio]) -> None:
    """Add rows at the end; a new file gets its header. Raises RunError for another one."""
    if history.exists():
        read_ratios(history)
    else:
        write(history, "w", [COLUMNS])
    write(history, "a", found)


def write(history: Path, mode: str, rows: Sequence[Sequence]) -> None:
    """Write rows of values."""
    with open(history, mode, newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([field_text(value) for value in row] for row in rows)


def field_text(value: object) -> object:
    """A value as it stands in the file."""
    return f"{value:.6g}" if isinstance(value, float) else int(value) if isinstance(value, bool) else value


if __name__ == "__main__":
    sys.exit(main())
