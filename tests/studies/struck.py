"""What is struck: a command that leaves things behind which count, and how it is gone on with. One class a kind."""

import csv
import json
import re
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple

import reading_commands
from places import RANK_PROGRAMS
from read_calls import calls_of
from striking import Way

from allreduce_bench.health.pair_folder import PairFolder, failed_pairs, whole_pairs
from allreduce_bench.programs.choices import KIND as CHOICES
from allreduce_bench.runs.folder import RunFolder, alternated_names, key_of
from allreduce_bench.runs.rows import RunError

INTERRUPTED = 130  # the status of a command that was asked to end
KILLED = 128 + signal.SIGKILL  # of a program that was killed, as shells have it
BEGIN_S = 3.0  # in which a command is struck before its first result
RESUMED_S = 240.0  # in which what is gone on with must end
DRAFT = re.compile(r"^\.new-|\.tmp$")  # of a folder, of a file
NAMED, SIZES = ("native", "ring", "ring@pipelined", "ring@compiled"), ("8", "4K")
MEASURED = len(NAMED) + 1  # with native@compiled
OF_A_RUN = tuple(
    Way(victim, number)
    for victim, number in (
        ("rank", signal.SIGKILL),
        ("rank", signal.SIGSTOP),
        ("mpirun", signal.SIGKILL),
        ("starter", signal.SIGKILL),
        ("group", signal.SIGKILL),
        ("starter", signal.SIGTERM),
        ("starter", signal.SIGHUP),
        ("starter", signal.SIGINT),
        ("group", signal.SIGINT),
    )
)
IN_A_ROOM = (Way("daemon", signal.SIGKILL), Way("room", signal.SIGKILL), Way("inner", signal.SIGKILL))


@dataclass
class Outcome:
    """What one kill did."""

    label: str = ""
    lost: int = 0
    doubled: int = 0
    again: int = 0
    left: int = 0
    shared: int = 0  # files in shared memory
    ended_s: float | None = None  # from the kill until every process had ended; None: it was resumed at once
    rank_named: bool | None = None  # None: nobody need be named
    faults: list[str] = field(default_factory=list)


class Finished(NamedTuple):
    """A cell that an attempt has marked as finished."""

    launch: str
    attempt: str
    key: tuple[str, ...]


class Struck(ABC):
    """A command in a new folder, to be struck in some `way`."""

    ways: Sequence[Way] = OF_A_RUN
    number: int  # of the things that it makes

    def __init__(self, draw: Random, python: Path, place: Path, way: Way):
        self.draw, self.place, self.way = draw, place, way
        self.bench = [str(python), "-m", "allreduce_bench"]
        self.ranks = draw.randint(2, 4)
        self.rank = draw.randrange(self.ranks)
        self.folder = place / "kept"

    def variables(self) -> dict[str, str]:
        """Of its environment: what Open MPI leaves on the disk goes with the folder."""
        return {"PRTE_MCA_prte_tmpdir_base": str(self.place)}

    @abstractmethod
    def begin(self, timeout: str = "60s") -> list[str]:
        """The command line; `timeout` is its patience with ranks that stop, where it has one."""

    @abstractmethod
    def kept(self) -> list:
        """What has been finished so far as it stands in the files, repeated ones included; it may not be lost."""

    @abstractmethod
    def go_on(self, outcome: Outcome, kept: list, environ: dict[str, str]) -> None:
        """Read what is there, finish it, and count what is lost, doubled and done again of what was `kept` before."""

    def moment(self) -> tuple[int, float]:
        """How many of its things are finished when it is struck, and how many seconds later."""
        if self.draw.random() < 0.7:
            return self.draw.randrange(self.number), self.draw.uniform(0, 0.05)
        return 0, self.draw.uniform(0, BEGIN_S)

    def has_begun(self) -> bool:
        """Whether the command has come to its own work."""
        return self.folder.exists()

    def judge_words(self, outcome: Outcome, status: int, lines: list[str], has_kept: bool) -> None:
        """Hold what the struck command said, and its status, against what it promises.

        The signal itself may end a starter that is not yet at work, or an interrupted one that has said so, or one
        whose last words, `next:`, have said that all is done.
        """
        way, last = self.way, lines[-1] if lines else ""
        if any("Traceback" in line for line in lines):
            outcome.faults.append(f"a traceback: {lines}")
        if way.number is signal.SIGKILL and way.victim in ("starter", "group"):
            return
        by_signal = status == -way.number and way.victim in ("starter", "group")
        has_said = last.startswith("error: ")
        is_over = " next: " in last
        interrupted = status == INTERRUPTED and way.number is not signal.SIGKILL and last.startswith("error: interrupt")
        well = status == 0 or interrupted or (status == self.failed and has_said)
        if not (well or (by_signal and (has_said or is_over or not has_kept))):
            outcome.faults.append(f"status {status}: {last or 'nothing said'}")
        if way.victim == "rank" and status:
            self.judge_name(outcome, last, has_kept)

    failed = 1  # the status of one whose ranks were struck

    def judge_name(self, outcome: Outcome, last: str, has_kept: bool) -> None:
        """The last line must name the rank; one that dies at the start may not have been heard of yet."""
        outcome.rank_named = f"rank {self.rank} " in last
        if has_kept and not outcome.rank_named:
            outcome.faults.append(f"the rank is not named: {last}")

    def finish(self, outcome: Outcome, words: Sequence[str], environ: dict[str, str], statuses=(0,)) -> bool:
        """Run the command that goes on, to its end; whether it ended as it should."""
        try:
            result = subprocess.run(
                words, env=environ, capture_output=True, text=True, timeout=RESUMED_S, check=False, cwd=self.place
            )
        except subprocess.TimeoutExpired as error:
            outcome.faults.append(f"resumed, and had not ended after {RESUMED_S:g} s: {(error.stderr or b'')[-300:]!r}")
            return False
        if result.returncode not in statuses:
            last = (result.stderr.splitlines() or ["nothing said"])[-1]
            outcome.faults.append(f"resumed with status {result.returncode}: {last}")
        return result.returncode in statuses

    def read(self, outcome: Outcome, path: Path, commands: Sequence[str]) -> None:
        """Read what the struck command has left: that may be refused, in one line."""
        for name in commands:
            if fault := reading_commands.fault_of(reading_commands.read(name, path, self.place)):
                outcome.faults.append(f"{name}: {fault}")


def finished(folder: Path) -> list[Finished]:
    """Every mark of a finished cell as it stands in the files, repeated ones included; of alternated runs all."""
    found = []
    for path in [*folder.glob("launches/*.cells.csv"), *folder.glob("[a-z]/launches/*.cells.csv")]:
        run, (launch, attempt, *_) = _run_of(path.parents[1], folder), path.name.split(".")
        with open(path, newline="", errors="replace") as file:
            rows = csv.DictReader(line for line in file if line.endswith("\n"))
            found += [Finished(run + launch, attempt, key_of(row)) for row in rows if row["state"] == "done"]
    return found


def _run_of(path: Path, folder: Path) -> str:
    """What the launches of a run are told apart by: `a/`; nothing where it is the only one."""
    return "" if path == folder else f"{path.name}/"


def cells_of(marks: list[Finished]) -> set[tuple]:
    """What was finished, whoever has."""
    return {(mark.launch, mark.key) for mark in marks}


def readable(folder: Path) -> set[tuple]:
    """The finished cells that the program itself reads, with their times."""
    found: set[tuple] = set()
    for path in [folder / name for name in alternated_names(folder)] or [folder]:
        run, name = RunFolder(path), _run_of(path, folder)
        with suppress(RunError):  # nothing is there yet
            marks = {(name + row["launch"], key_of(row)) for row in run.marks() if row["state"] == "done"}
            found |= marks & {(name + row["launch"], key_of(row)) for row in calls_of(run)}
    return found


def compare_marks(outcome: Outcome, kept: list[Finished], marks: list[Finished]) -> None:
    """Count what is lost, doubled and measured again in `marks`, that were `kept` before."""
    outcome.lost += len(set(kept) - set(marks))
    outcome.doubled = len(marks) - len(set(marks))
    outcome.again = len(set(marks)) - len(cells_of(marks))


class StruckRun(Struck):
    """`run` of each way, about 2 seconds on quiet cores; what counts are its cells."""

    options: Sequence[str] = ()
    runs = 1

    def __init__(self, draw: Random, python: Path, place: Path, way: Way):
        super().__init__(draw, python, place, way)
        self.launches = draw.choice((1, 1, 2))
        self.number = self.runs * self.launches * MEASURED * len(SIZES)

    def begin(self, timeout: str = "60s") -> list[str]:
        """As `Struck`."""
        measured = ["-a", ",".join(NAMED), "--sizes", ",".join(SIZES), "--iters", "5", "--no-reference-times"]
        measured += ["--segment", "1K", "--window", "2"]
        many = ["-n", str(self.ranks), "--launches", str(self.launches), "--timeout", timeout]
        return [*self.bench, "run", "-o", str(self.folder), *many, *measured, *self.options]

    def kept(self) -> list[Finished]:
        """As `Struck`."""
        return finished(self.folder)

    def has_begun(self) -> bool:
        """As `Struck`."""
        return any(self.folder.glob("**/run.json"))

    def go_on(self, outcome: Outcome, kept: list[Finished], environ: dict[str, str]) -> None:
        """As `Struck`; neither a draft of the folder nor of a file may be left."""
        begun = self.has_begun()
        if kept:
            outcome.lost += len(cells_of(kept) - readable(self.folder))
        if begun:
            self.read(outcome, self.folder, self.draw.sample(reading_commands.OF_A_RUN, 2))
        words = [*self.bench, "run", "-o", str(self.folder), "--resume"] if begun else self.begin()
        if not self.finish(outcome, words, environ):
            return
        compare_marks(outcome, kept, finished(self.folder))
        if len(whole := readable(self.folder)) != self.number:
            outcome.faults.append(f"{len(whole)} of {self.number} cells after resuming")
        if drafts := [path.name for path in self.place.rglob("*") if DRAFT.search(path.name)]:
            outcome.faults.append(f"drafts are left: {drafts}")


class StruckAgainst(StruckRun):
    """`run --against`: launches of two runs alternate."""

    options = ("--against", "--cache cold")
    runs = 2


class StruckLab(StruckRun):
    """`run` over two virtual hosts, whose room can be struck, too, and the daemon of the second host."""

    ways = (*OF_A_RUN, *IN_A_ROOM)
    options = ("--virtual-hosts", "2", "--link-rate", "1gbit")

    def variables(self) -> dict[str, str]:
        """None: every virtual host has a disk of its own, which ends with it."""
        return {}


class StruckProgram(Struck):
    """`exec` of a program that saves choices of `Allreduce` and lines of StepMonitor; both count as they are saved."""

    ways = tuple(way for way in OF_A_RUN if way.number is not signal.SIGSTOP)  # nobody watches a rank that stops
    failed = KILLED
    number = 100  # steps

    def begin(self, timeout: str = "60s") -> list[str]:
        """As `Struck`."""
        self.folder.mkdir(exist_ok=True)
        program = [self.bench[0], str(RANK_PROGRAMS / "kept_choices.py"), str(self.folder), str(self.number)]
        return [*self.bench, "exec", "-n", str(self.ranks), "--", *program]

    @property
    def log(self) -> Path:
        """The lines of StepMonitor."""
        return self.folder / "steps.jsonl"

    def has_begun(self) -> bool:
        """As `Struck`."""
        return self.log.exists()

    def kept(self) -> list[str]:
        """The whole lines of the log."""
        text = self.log.read_text() if self.log.exists() else ""
        return [line for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def go_on(self, outcome: Outcome, kept: list[str], environ: dict[str, str]) -> None:
        """As `Struck`."""
        choices = self.folder / "choices.json"
        before = choices.read_bytes() if choices.exists() else b""
        if before and json.loads(before)["kind"] != CHOICES:
            outcome.faults.append("choices are no choices")
        if self.log.exists():
            self.read(outcome, self.log, ["stragglers"])
        if before:
            self.read(outcome, choices, ["choice"])
        if not self.finish(outcome, self.begin(), environ):
            return
        now = self.kept()
        outcome.lost += len(kept) - sum(old == new for old, new in zip(kept, now))
        outcome.doubled += len(now) - len(set(now))
        if json.loads(now[-1])["kind"] != "end":
            outcome.faults.append(f"the log ends with {now[-1][:60]}")
        if not json.loads(choices.read_bytes())["choices"] and json.loads(before or '{"choices": []}')["choices"]:
            outcome.faults.append("choices were forgotten")
        self.read(outcome, self.log, ["stragglers"])


class StruckHealth(Struck):
    """`health` of three virtual hosts; what counts are the rows of its pairs."""

    ways = StruckLab.ways
    number = 3  # pairs
    variables = StruckLab.variables

    def __init__(self, draw: Random, python: Path, place: Path, way: Way):
        super().__init__(draw, python, place, way)
        self.rank = draw.randrange(3)

    def begin(self, timeout: str = "60s") -> list[str]:
        """As `Struck`."""
        words = ["health", "-o", str(self.folder), "--timeout", timeout]
        return [*self.bench, "lab", "run", "--hosts", "3", "--rate", "1gbit", "--", *words]

    def has_begun(self) -> bool:
        """As `Struck`."""
        return (self.folder / "health.json").exists()

    def kept(self) -> list:
        """The pairs that are whole."""
        if not self.has_begun():
            return []
        folder = PairFolder(self.folder)
        whole = whole_pairs(folder.rows(), folder.read_settings())
        return [tuple(rows) for rows in whole.values()]

    def judge_name(self, outcome: Outcome, last: str, has_kept: bool) -> None:
        """A node whose rank dies is named in what was found, not in a last line."""

    def judge_words(self, outcome: Outcome, status: int, lines: list[str], has_kept: bool) -> None:
        """Pairs of a rank that was struck have failed: status 1, with sentences about them on stdout."""
        if self.way.victim in ("rank", "daemon", "mpirun") and status == 1 and "Traceback" not in "".join(lines):
            return
        super().judge_words(outcome, status, lines, has_kept)

    def go_on(self, outcome: Outcome, kept: list, environ: dict[str, str]) -> None:
        """As `Struck`: a pair that has failed stays so; all others are there in the end, once."""
        self.read(outcome, self.folder, ["health"] if self.has_begun() else [])
        before = PairFolder(self.folder).rows() if self.has_begun() else []
        if not self.finish(outcome, self.begin(), environ, statuses=(0, 1)):
            return
        folder = PairFolder(self.folder)
        rows, asked = folder.rows(), folder.read_settings()
        outcome.lost += len(before) - sum(old == new for old, new in zip(before, rows))
        whole, failed = whole_pairs(rows, asked), failed_pairs(rows)
        outcome.lost += sum(tuple(whole.get(frozenset((of[0].source, of[0].dest)), ())) != of for of in kept)
        outcome.doubled += len(rows) - len(set(rows))
        may_fail = self.way.victim in ("rank", "daemon", "mpirun")
        if len(whole) + len(failed) != self.number or (failed and not may_fail):
            outcome.faults.append(f"{len(whole)} pairs are whole, {len(failed)} failed: {list(failed.values())[:1]}")
        self.read(outcome, self.folder, ["health"])
