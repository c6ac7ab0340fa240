"""Power cuts: is every cell there whose mark was on the disk, and none that was not measured so?

python tests/studies/power_cuts.py [--draws N] [--resumed N] [--seed S] [--interpreter PYTHON…]. Every change that the
starter and rank 0 of a run make to files is recorded: a run that is interrupted and gone on with, with stamps of all
calls. After each of them the power goes: tests/support/power_cut.py says what may be on the disk then. Each such state
is read: every cell must be there whose mark was waited for, with the times that it had, no cell may be there that was
not marked, nothing but one line may be said, and what `run --resume` would measure must be the other cells. Some states
are really gone on with. A line per MPI: changes, states, cells that were lost, false (times or marks that never were),
states that are no run yet, faults; resumed states and faults of them. Exit status 1 where something was lost or wrong.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from measured_runs import with_package
from places import RANK_PROGRAMS
from power_cut import ALL, CERTAIN, Disk, Fate, build, drawn, tree
from read_calls import calls_of
from recorded import RECORDED_VARIABLE
from recorded_operations import Operation, from_lines
from struck import finished

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.runs import typed_json
from allreduce_bench.runs.folder import RunFolder, key_of
from allreduce_bench.runs.rows import RunError

RUN = Path("results/run")  # below the folder that is watched: the folder around the run is new, too
MARKS = ".cells.csv"
MEASURED = ["-a", "native,ring", "--sizes", "8,1K,16K", "--iters", "20", "--launches", "2", "--record", "all"]
Cell = tuple[str, ...]  # launch, then its key
Times = dict[Cell, tuple[str, ...]]


@dataclass
class Tally:
    """What was found in the states of one recording."""

    states: int = 0
    waited_for: int = 0  # cells that had to be there, over all states
    lost: int = 0
    false: int = 0
    no_run: int = 0  # nothing was marked, and no run is there
    faults: Counter[str] = field(default_factory=Counter)


def record(python: Path, place: Path) -> list[Operation]:
    """The changes below `place`/disk of a run that is interrupted when half is measured, and of its second part."""
    disk, log = place / "disk", place / "log"
    disk.mkdir()
    environ = {**with_package(), RECORDED_VARIABLE: json.dumps([str(disk), str(log)])}
    words = [str(python), str(RANK_PROGRAMS / "recorded.py"), "run", "-o", str(disk / RUN)]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([*words, "-n", "2", *MEASURED], env=environ, **silent) as process:
        while process.poll() is None and len(finished(disk / RUN)) < 5:
            pass
        process.send_signal(signal.SIGTERM)
    subprocess.run([*words, "--resume"], env=environ, timeout=240, check=True, **silent)
    return from_lines(log)


def times_of(folder: RunFolder) -> Times:
    """The times of each finished cell, as they are written."""
    times: dict[Cell, list[str]] = {}
    for row in calls_of(folder):
        times.setdefault((row["launch"], *key_of(row)), []).append(row["time_s"])
    return {cell: tuple(values) for cell, values in times.items()}


def marked(path: str, content: bytes) -> set[Cell]:
    """The finished cells in a file of marks, whole lines only."""
    header, *rows = [line.split(",") for line in content.decode().split("\n")[:-1]] or [[]]
    marks = (dict(zip(header, row)) for row in rows)
    return {(Path(path).name.partition(".")[0], *key_of(mark)) for mark in marks if mark["state"] == "done"}


def states(
    operations: list[Operation], draws: int, seed: int
) -> Iterator[tuple[str, dict[str, bytes | None], set[Cell], set[Cell]]]:
    """For each possible state, once, its name, its files, the cells that must be in it, and those that may be."""
    draw, disk = random.Random(seed), Disk()
    seen: set[tuple[frozenset, ...]] = set()
    waited_for: dict[str, set[Cell]] = {}
    written: dict[str, set[Cell]] = {}
    for number, operation in enumerate(operations):
        disk.do(operation)
        path = operation.path
        if path.endswith(MARKS) and operation.kind in ("write", "sync"):
            cells = marked(path, disk.file(path).now)
            written[path] = cells
            if operation.kind == "sync":
                waited_for[path] = cells
        fates: list[Fate] = [*CERTAIN, *(drawn(draw) for _ in range(draws))]
        must, may = set().union(*waited_for.values()), set().union(*written.values())
        for fate in fates:
            files = disk.after_cut(fate)
            state = frozenset(files.items()), frozenset(must)  # what may be there only grows
            if state not in seen:
                seen.add(state)
                yield f"{number} ({operation.kind} {path}), {fate.name}", files, must, may


def judge(folder: RunFolder, must: set[Cell], may: set[Cell], truth: Times, tally: Tally) -> None:
    """Read a state as the program does, and add what was found to `tally`."""
    tally.states += 1
    tally.waited_for += len(must)
    try:
        plan = folder.plan()
        times = read_times(folder)
        pending = folder.pending(plan)
        left = {launch: {cell.key for cell in plan.cells(launch)} - folder.finished(launch) for launch in pending}
    except RunError as error:
        tally.lost += len(must)
        tally.no_run += not must
        if must:
            tally.faults[str(error)] += 1
        return
    tally.lost += len(must - times.keys())
    tally.false += sum(cell not in may or times[cell] != truth[cell] for cell in times)
    to_measure = {(launch.name, *map(str, key)) for launch, keys in left.items() for key in keys}
    planned = {(launch.name, *map(str, cell.key)) for launch in plan.planned_launches() for cell in plan.cells(launch)}
    if to_measure != planned - times.keys():
        tally.faults["resuming would measure other cells than are missing"] += 1


def read_times(folder: RunFolder) -> Times:
    """The times of each finished cell, once a report's rows have been made of them."""
    if not any(folder.finished(launch) for launch in folder.plan().planned_launches()):
        return {}
    summarise(folder)
    return times_of(folder)


def examine(operations: list[Operation], truth: Times, draws: int, seed: int, place: Path) -> Tally:
    """Judge all states."""
    tally = Tally()
    for name, files, must, may in states(operations, draws, seed):
        build(files, place)
        before = (tally.lost, tally.false, tally.faults.total())
        try:
            with patch.object(typed_json, "LOOK_AGAIN_S", ()):  # nobody replaces a file here
                judge(RunFolder(place / RUN), must, may, truth, tally)
        except Exception as error:  # noqa: BLE001  # what it is, is the finding
            tally.faults[f"{type(error).__name__}: {error}"] += 1
        if before != (tally.lost, tally.false, tally.faults.total()) and tally.faults.total() + tally.lost < 20:
            print(f"  after change {name}: {tally}", flush=True)
        empty(place)
    return tally


def empty(place: Path) -> None:
    """Remove what is in a folder."""
    for path in place.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def resume(python: Path, folder: Path, must: set[Cell], cells: int) -> str:
    """What is wrong with a state that was gone on with; empty: nothing."""
    before = set(finished(folder))
    words = [str(python), "-m", "allreduce_bench", "run", "-o", str(folder), "--resume"]
    words += [] if (folder / "run.json").exists() else ["-n", "2", *MEASURED]
    done = subprocess.run(words, env=with_package(), capture_output=True, text=True, timeout=240, check=False)
    last = (done.stderr.splitlines() or ["nothing said"])[-1]
    if done.returncode or "Traceback" in done.stderr:
        return "" if not must and done.returncode == 2 and "damaged" in last else f"status {done.returncode}: {last}"
    after = times_of(RunFolder(folder))
    again = {mark for mark in finished(folder) if mark not in before and (mark.launch, *mark.key) in must}
    return f"{len(after)} cells, {len(again)} measured again" if len(after) != cells or again else ""


def study(python: Path, draws: int, resumed: int, seed: int, place: Path) -> bool:
    """Record a run over an MPI and cut it everywhere; whether all is as promised."""
    operations = record(python, place)
    replayed = Disk()
    for operation in operations:
        replayed.do(operation)
    replay, there = replayed.after_cut(ALL), tree(place / "disk")
    missed = [name for name in replay.keys() | there.keys() if replay.get(name, b"") != there.get(name, b"")]
    assert not missed, f"the recording missed changes of {missed}"
    truth, states_at = times_of(RunFolder(place / "disk" / RUN)), place / "states"
    states_at.mkdir()
    tally = examine(operations, truth, draws, seed, states_at)
    print(
        f"{python}: {len(operations)} changes, {tally.states} states: {tally.lost} of {tally.waited_for} cells lost, "
        f"{tally.false} false, {tally.no_run} no run yet, {tally.faults.total()} faults",
        flush=True,
    )
    for fault, number in tally.faults.most_common(5):
        print(f"    {number} x {fault[:300]}")
    everything = list(states(operations, draws, seed))
    faults = 0
    for name, files, must, _ in random.Random(seed).sample(everything, min(resumed, len(everything))):
        build(files, states_at)
        if fault := resume(python, states_at / RUN, must, len(truth)):
            print(f"  resumed after change {name}: {fault}", flush=True)
            faults += 1
        empty(states_at)
    print(f"{python}: {resumed} states resumed, {faults} faults", flush=True)
    return not (tally.lost or tally.false or tally.faults or faults)


def main() -> None:
    """Record and cut with every interpreter."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=40, help="drawn states after each change [40]")
    parser.add_argument("--resumed", type=int, default=40, help="states that are gone on with, for each MPI [40]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--interpreter", nargs="+", type=os.path.abspath, default=[sys.executable], metavar="PYTHON")
    options = parser.parse_args()
    kept = []
    for python in options.interpreter:
        with tempfile.TemporaryDirectory() as place:
            kept.append(study(Path(python), options.draws, options.resumed, options.seed, Path(place)))
    sys.exit(not all(kept))


if __name__ == "__main__":
    main()
