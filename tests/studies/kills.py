"""Runs that are killed, hundreds of times: is anything lost, measured twice, or left behind?

python tests/studies/kills.py [--kills N] [--seed S] [--interpreter PYTHON…] [--kind KIND…]. A run of 2 to 4 ranks is
struck at a random moment, in every way of KINDS in turn, with each interpreter's MPI in turn; then it is gone on with.
Prints each kill after which something was wrong, then a table, per way and MPI: kills; cells that were marked as
finished and are not there afterwards (lost); cells that one attempt has finished twice (doubled), and two attempts
(again); processes that are there LEFT_S after the starter has ended (left); seconds until all had ended, median and
most; how often a struck rank was named; kills that were followed by something else that is wrong. Exit status 1 where
anything was lost, doubled, measured again, left behind or wrong. Several studies may run at the same time.
"""

import argparse
import csv
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import NamedTuple

from measured_runs import with_package

from allreduce_bench.runs.folder import RunFolder, key_of

LEFT_S = 5.0  # after the starter's end nobody may be there
END_S = 60.0  # in which a struck run must end
MARK = "ALLREDUCE_BENCH_KILL"  # the variable by which the processes of one run are found
INTERRUPTED = 130  # the status of a starter that was asked to end
ALGORITHMS, SIZES = ("native", "ring"), ("8", "1K", "16K", "128K")


class Kind(NamedTuple):
    """A way to strike a run."""

    victim: str  # rank, mpirun, starter, or group: that of the starter's processes, as a terminal strikes
    number: signal.Signals

    @property
    def name(self) -> str:
        """`rank-kill`."""
        return f"{self.victim}-{self.number.name.removeprefix('SIG').lower()}"


KINDS = {
    kind.name: kind
    for kind in (
        Kind("rank", signal.SIGKILL),
        Kind("rank", signal.SIGSTOP),
        Kind("mpirun", signal.SIGKILL),
        Kind("starter", signal.SIGKILL),
        Kind("group", signal.SIGKILL),
        Kind("starter", signal.SIGTERM),
        Kind("starter", signal.SIGHUP),
        Kind("starter", signal.SIGINT),
        Kind("group", signal.SIGINT),
    )
}


@dataclass
class Outcome:
    """What one kill did."""

    label: str = ""
    lost: int = 0
    doubled: int = 0
    again: int = 0
    left: int = 0
    ended_s: float | None = None  # from the kill until every process had ended; None: it was resumed at once
    rank_named: bool | None = None  # None: nobody need be named
    faults: list[str] = field(default_factory=list)


class Finished(NamedTuple):
    """A cell that an attempt has marked as finished."""

    launch: str
    attempt: str
    key: tuple[str, ...]


def finished(folder: Path) -> list[Finished]:
    """Every mark of a finished cell as it stands in the files, repeated ones included."""
    found = []
    for path in folder.glob("launches/*.cells.csv"):
        with open(path, newline="", errors="replace") as file:
            rows = csv.DictReader(line for line in file if line.endswith("\n"))
            found += [Finished(row["launch"], row["attempt"], key_of(row)) for row in rows if row["state"] == "done"]
    return found


def cells_of(marks: list[Finished]) -> set[tuple]:
    """What was finished, whoever has."""
    return {(mark.launch, mark.key) for mark in marks}


def processes(mark: str) -> dict[int, dict[str, str]]:
    """Process id -> environment of all that were started with `mark`, zombies left out."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:  # it has ended, or is somebody else's
            continue
        if f"{MARK}={mark}".encode() in words:
            pairs = (word.decode(errors="replace").partition("=") for word in words)
            found[int(path.parent.name)] = {name: value for name, _, value in pairs}
    return found


def parent(pid: int) -> int:
    """The process that started it, or 0 where it is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def rank_of(environ: dict[str, str]) -> int:
    """The rank that a process is, by what its launcher told it; -1: none."""
    return int(environ.get("OMPI_COMM_WORLD_RANK") or environ.get("PMI_RANK") or -1)


def victims(kind: Kind, starter: int, mark: str, rank: int) -> Iterator[int]:
    """The processes that are to be struck; a process group as its negative number."""
    if kind.victim == "group":
        yield -starter
    elif kind.victim == "starter":
        yield starter
    else:
        for pid, environ in processes(mark).items():
            if rank_of(environ) == rank if kind.victim == "rank" else parent(pid) == starter:
                yield pid


def wait_for_moment(draw: random.Random, cells: int, folder: Path, process: subprocess.Popen) -> bool:
    """Wait until some of `cells` are finished, or some time is over: before, between and after launches, too.

    False: the run ended before.
    """
    number, since_s = (draw.randrange(cells), draw.uniform(0, 0.05)) if draw.random() < 0.7 else (0, draw.uniform(0, 3))
    while len(finished(folder)) < number:
        if process.poll() is not None:
            return False
        time.sleep(0.01)
    time.sleep(since_s)
    return process.poll() is None


def strike(kind: Kind, rank: int, process: subprocess.Popen, mark: str) -> bool:
    """Send the signal as soon as there is somebody to send it to; whether there was."""
    while process.poll() is None:
        if struck := list(victims(kind, process.pid, mark, rank))[:1]:
            try:
                os.killpg(-struck[0], kind.number) if struck[0] < 0 else os.kill(struck[0], kind.number)
            except ProcessLookupError:
                continue
            return True
        time.sleep(0.01)
    return False


def left_behind(mark: str, patience_s: float) -> int:
    """How many are still there after so long; they are ended then."""
    deadline = time.monotonic() + patience_s
    while (left := processes(mark)) and time.monotonic() < deadline:
        time.sleep(0.02)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return len(left)


def heed_signals() -> None:
    """What shells and nohup have a process in the background ignore is heeded again."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def command(python: Path, folder: Path, ranks: int, launches: int, timeout: str) -> list[str]:
    """A run of about 2 seconds on quiet cores."""
    measured = ["-a", ",".join(ALGORITHMS), "--sizes", ",".join(SIZES), "--iters", "40", "--no-reference-times"]
    many = ["-n", str(ranks), "--launches", str(launches), "--timeout", timeout]
    return [str(python), "-m", "allreduce_bench", "run", "-o", str(folder), *many, *measured]


def kill(draw: random.Random, python: Path, kind: Kind, place: Path) -> Outcome | None:
    """Strike one run and go on with it; None where it had ended before."""
    ranks, folder, mark = draw.randint(2, 4), place / "run", f"{os.getpid()}-{time.monotonic_ns()}"
    rank, at_once, launches = draw.randrange(ranks), draw.random() < 0.5, draw.choice((1, 1, 2))
    cells = launches * len(ALGORITHMS) * len(SIZES)
    begin = command(python, folder, ranks, launches, "1s" if kind.number is signal.SIGSTOP else "10s")
    environ = {**with_package(), "PRTE_MCA_prte_tmpdir_base": str(place)}
    with open(place / "stderr", "w+") as stderr:
        process = subprocess.Popen(
            begin,
            env={**environ, MARK: mark},
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
            preexec_fn=heed_signals,
        )
        try:
            if not wait_for_moment(draw, cells, folder, process):
                return None
            kept, begun, has_begun = finished(folder), time.monotonic(), (folder / "run.json").exists()
            if not strike(kind, rank, process, mark):
                return None
            outcome = Outcome(f"{kind.name}, rank {rank} of {ranks}, {len(kept)} cells finished")
            try:
                status = process.wait(END_S)
            except subprocess.TimeoutExpired:
                outcome.faults.append(f"had not ended after {END_S:g} s")
                return outcome
            if not (at_once and kind.number is signal.SIGKILL and kind.victim in ("starter", "group")):
                outcome.left = left_behind(mark, LEFT_S)
                outcome.ended_s = time.monotonic() - begun
            stderr.seek(0)
            if has_begun:  # before, Python itself or the reader of the command line says what it says
                judge_words(outcome, kind, rank, status, stderr.read().splitlines(), bool(kept))
            go_on(outcome, begin, folder, environ, kept, cells)
            outcome.left += left_behind(mark, LEFT_S)
            return outcome
        finally:
            left_behind(mark, 0)
            process.wait()


def judge_words(outcome: Outcome, kind: Kind, rank: int, status: int, lines: list[str], has_cells: bool) -> None:
    """Hold what the struck run said, and its status, against what it promises.

    The signal itself may end a starter that is not yet at work, or an interrupted one that has said so.
    """
    last = lines[-1] if lines else ""
    if any("Traceback" in line for line in lines):
        outcome.faults.append(f"a traceback: {lines}")
    if kind.number is signal.SIGKILL and kind.victim in ("starter", "group"):
        return
    by_signal = status == -kind.number and kind.victim != "rank"
    has_said = last.startswith("error: ")
    interrupted = status == INTERRUPTED and kind.victim != "rank" and last.startswith("error: interrupted")
    if not (status == 0 or interrupted or (status == 1 and has_said) or (by_signal and (has_said or not has_cells))):
        outcome.faults.append(f"status {status}: {last or 'nothing said'}")
    if kind.victim == "rank" and status:
        outcome.rank_named = f"rank {rank} " in last
        if has_cells and not outcome.rank_named:  # one that dies at the start may not have been heard of yet
            outcome.faults.append(f"the rank is not named: {last}")


def go_on(
    outcome: Outcome, begin: list[str], folder: Path, environ: dict[str, str], kept: list[Finished], cells: int
) -> None:
    """Resume the run, or begin it where it had not begun, and hold what is there afterwards against `kept`."""
    begun = (folder / "run.json").exists()
    if kept:
        outcome.lost += len(cells_of(kept) - readable(folder))
    words = [*begin[:6], "--resume"] if begun else begin
    resumed = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=240, check=False)
    if resumed.returncode:
        last = (resumed.stderr.splitlines() or ["nothing said"])[-1]
        outcome.faults.append(f"resumed with status {resumed.returncode}: {last}")
    compare_marks(outcome, kept, finished(folder))
    if len(whole := readable(folder)) != cells:
        outcome.faults.append(f"{len(whole)} of {cells} cells after resuming")


def compare_marks(outcome: Outcome, kept: list[Finished], marks: list[Finished]) -> None:
    """Count what is lost, doubled and measured again in `marks`, that were `kept` before."""
    outcome.lost += len(set(kept) - set(marks))
    outcome.doubled = len(marks) - len(set(marks))
    outcome.again = len(set(marks)) - len(cells_of(marks))


def readable(folder: Path) -> set[tuple]:
    """The finished cells that the program itself reads, with their times."""
    run = RunFolder(folder)
    marks = {(row["launch"], key_of(row)) for row in run.marks() if row["state"] == "done"}
    return marks & {(row["launch"], key_of(row)) for row in run.repetitions()}


COLUMNS = ("kills", "lost", "doubled", "again", "left", "median s", "most s", "named", "wrong")


def line(name: str, outcomes: list[Outcome]) -> str:
    """A row of the table."""
    named = [outcome.rank_named for outcome in outcomes if outcome.rank_named is not None]
    seconds = [outcome.ended_s for outcome in outcomes if outcome.ended_s is not None]
    fields = [
        len(outcomes),
        sum(outcome.lost for outcome in outcomes),
        sum(outcome.doubled for outcome in outcomes),
        sum(outcome.again for outcome in outcomes),
        sum(outcome.left for outcome in outcomes),
        f"{median(seconds):.1f}" if seconds else "-",
        f"{max(seconds):.1f}" if seconds else "-",
        f"{sum(named)} of {len(named)}" if named else "-",
        sum(bool(outcome.faults) for outcome in outcomes),
    ]
    return format_row(name, fields)


def format_row(name: str, fields: Sequence[object]) -> str:
    return f"{name:28}" + "".join(f"{field!s:>10}" for field in fields)


def is_wrong(outcome: Outcome) -> bool:
    """Whether a promise was broken."""
    return bool(outcome.lost or outcome.doubled or outcome.again or outcome.left or outcome.faults)


def killed(draw: random.Random, python: Path, kind: Kind) -> Outcome:
    """One kill that came before the end of its run."""
    while True:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
            if outcome := kill(draw, python, kind, Path(place)):
                return outcome


def main() -> None:
    """Strike so often, in all ways, with every interpreter."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=500, help="in all [500]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--interpreter", nargs="+", type=os.path.abspath, default=[sys.executable], metavar="PYTHON")
    parser.add_argument("--kind", nargs="+", choices=KINDS, default=list(KINDS))
    options = parser.parse_args()
    draw = random.Random(options.seed)
    outcomes: dict[str, list[Outcome]] = {}
    ways = [(KINDS[kind], Path(python)) for kind in options.kind for python in options.interpreter]
    with suppress(KeyboardInterrupt):  # what was struck until then is worth a table, too
        for number in range(options.kills):
            kind, python = ways[number % len(ways)]
            outcome = killed(random.Random(draw.getrandbits(64)), python, kind)
            outcomes.setdefault(f"{kind.name}, {python.parent.parent.name}", []).append(outcome)
            if is_wrong(outcome):
                print(f"  kill {number}: {python}: {outcome}", flush=True)
    print(format_row("way, MPI", COLUMNS))
    for name, of_way in outcomes.items():
        print(line(name, of_way))
    everything = [outcome for of_way in outcomes.values() for outcome in of_way]
    print(line("all", everything))
    sys.exit(any(map(is_wrong, everything)))


if __name__ == "__main__":
    main()
