"""The layout of a run folder, and reading it back without pandas; only finished cells are returned."""

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

from ..units import printable, shell_word
from .attempt import Attempt, Damage, calls_of_cell, lost_attempts, read_attempt
from .files import nearest_name
from .plan import ImportedPlan, Launch, Plan, PlanError
from .rows import Row, RunError
from .schema import LAYOUT, UNFINISHED
from .typed_json import read_json

CellKey = tuple[str, ...]  # the values of KEY, as written
# columns that identify a cell within its launch
KEY = ("competitor", "size_bytes")
KEPT = (*UNFINISHED, "wrong")  # states that count in every attempt
FILE_NAME = re.compile(r"([^.]+)\.([1-9][0-9]{0,8})(?:\.json|\.calls\.csv|\.cells\.csv)")  # launch and attempt


class RunFolder:
    """The files of one run: run.json, and for each attempt launches/LAUNCH.ATTEMPT.{json,calls.csv,cells.csv}."""

    def __init__(self, path: Path):
        self.path = path
        self.run_json = path / "run.json"
        self.launches = path / "launches"
        self.summary_csv = path / "summary.csv"
        self._run_crc32: str | None = None  # None: not read yet
        self._read_attempt: Callable[..., Attempt] = partial(read_attempt, self.launches)

    def remember(self) -> "RunFolder":
        """Read no attempt again: for commands that ask for many things of a run that stays as it is."""
        self._read_attempt = cache(self._read_attempt)
        return self

    def open(self) -> dict:
        """Return the content of run.json. Raises RunError: absent, damaged, or of another layout."""
        try:
            run = read_json(self.run_json)
        except RunError:
            if self.path.is_file():
                log = shell_word(self.path)
                raise RunError(
                    f"{self.path}: a file; expected the folder of a run; 'allreduce-bench import {log}' reads a log"
                ) from None
            if not self.path.is_dir():
                near = nearest_name(self.path)
                raise RunError(f"{self.path}: no such folder; {near}'allreduce-bench show' lists the runs") from None
            if names := alternated_names(self.path):
                first, *others = (shell_word(self.path / name) for name in names)
                commands = ", ".join(f"allreduce-bench compare {first} {other}" for other in others)
                raise RunError(
                    f"{self.path}: holds the runs {', '.join(names)}, whose launches alternate; name one of them, or "
                    f"compare them: {commands}"
                ) from None
            if not os.path.lexists(self.run_json):
                raise RunError(
                    f"{self.path}: contains no run.json, so it is not a run; name the folder of a run"
                ) from None
            raise
        if self.launches.is_symlink():
            raise RunError(f"{self.launches}: a symbolic link; expected a folder: put the files there themselves")
        if (found := run.get("layout", run.get("schema_version"))) != LAYOUT or "layout" not in run:
            raise RunError(
                f"{self.run_json}: a run of layout {found!r:.20}; expected layout {LAYOUT}: measure again, or read it "
                "with the version of allreduce-bench that made it"
            )
        if "crc32" not in run:
            raise RunError(f"{self.run_json}: damaged: its checksum is missing; restore it or measure again")
        self._run_crc32 = str(run["crc32"])
        return run

    @property
    def run_crc32(self) -> str:
        """Checksum of run.json, which identifies the files of this run; empty: it has none. Raises RunError."""
        if self._run_crc32 is None:
            self.open()
        return self._run_crc32 or ""

    def plan(self) -> Plan:
        """Return the plan of the run. Raises RunError."""
        run = self.open()
        try:
            return (ImportedPlan if run.get("imported") else Plan).from_json(run.get("plan"))
        except PlanError as error:
            raise RunError(f"{self.run_json}: damaged: {error}; restore it or measure again") from error

    def imported(self) -> dict | None:
        """Return the source of imported times: tool, version, files with name and sha256, and words of options
        (`said`).

        None: they were measured here. Raises RunError.
        """
        return self.open().get("imported") or None

    def alternated(self) -> list[str]:
        """Return the runs whose launches alternate with those of this one, as paths from it. Raises RunError."""
        return self.open().get("alternated", [])

    @property
    def resumed_path(self) -> Path:
        """The folder that --resume takes: its own, or the one around the runs whose launches alternate."""
        with suppress(RunError):
            return self.path.parent if self.alternated() else self.path
        return self.path

    def kept(self, wanted: Callable[[Launch], bool] = lambda launch: True, with_calls: bool = True) -> list[Attempt]:
        """Return every attempt of the wanted launches with its intact cells, see `attempt.read_attempt`."""
        found = [(launch, number) for launch, numbers in self.attempt_numbers().items() for number in numbers]
        found.sort(key=lambda attempt: f"{attempt[0].name}.{attempt[1]}")
        return [
            self._read_attempt(launch, number, self.run_crc32, with_calls) for launch, number in found if wanted(launch)
        ]

    def attempts(self) -> list[dict]:
        """Return the facts of every attempt that finished a cell, in the order of their start. Raises RunError."""
        facts = [attempt.facts for attempt in self.kept(with_calls=False) if attempt.cells]
        return sorted(facts, key=lambda fact: (fact["started"], fact["launch"]))

    def damages(self) -> list[Damage]:
        """Return the damages of the run; the cells concerned count as missing, see `attempt.Damage`."""
        return [
            *lost_attempts(self.launches, self.attempt_numbers(), self._imported_launches()),
            *(damage for attempt in self.kept() for damage in attempt.damages),
        ]

    def _imported_launches(self) -> list[Launch]:
        """Return the launches kept in an imported run; if it does not list them, one of each number of ranks."""
        imported = self.imported()
        if not imported:
            return []
        kept = imported.get("launches")
        return [Launch.named(name) for name in kept] if kept else [Launch(n, 1) for n in self.plan().ranks]

    def attempt_numbers(self) -> dict[Launch, list[int]]:
        """Return the attempt numbers of every launch that was begun, unordered; files of other names do not count."""
        attempts_of: dict[Launch, dict[int, None]] = defaultdict(dict)
        names_there: list[str] = []
        with suppress(FileNotFoundError):
            names_there = os.listdir(self.launches)
        for name in names_there:
            if match := FILE_NAME.fullmatch(name):
                with suppress(ValueError):
                    attempts_of[Launch.named(match[1])][int(match[2])] = None
        return {launch: list(numbers) for launch, numbers in attempts_of.items()}

    def marks(self) -> list[Row]:
        """Return one row per cell that ended in an attempt, as in CELLS. Raises RunError if there is none at all.

        A cell that two attempts finished counts once: a requeued job may have started before its first start was dead.
        The first attempt wins, but never hides a failed check.
        """
        self.open()
        return self._counted(self.kept())

    def _counted(self, kept: list[Attempt]) -> list[Row]:
        """Return the rows of `marks`, of these attempts. Raises RunError."""
        rows = [row for attempt in kept for row in attempt.cells]
        if not rows:
            way = f"to continue: allreduce-bench run --resume -o {shell_word(self.resumed_path)}"
            if any(attempt.damages for attempt in kept):
                raise RunError(f"{self.path}: damaged: no intact cell is left; {way}")
            raise RunError(f"{self.path}: half-written: no cell was finished; {way}")
        first_attempts: dict[tuple[str, ...], int] = {}
        for row in rows:
            if row["state"] not in UNFINISHED:
                cell, attempt = (row["launch"], *key_of(row)), int(row["attempt"] or 0)
                first_attempts[cell] = min(attempt, first_attempts.get(cell, attempt))
        return [row for row in rows if row["state"] in KEPT or _is_first_finished(row, first_attempts)]

    def calls(self) -> Iterator[tuple[Row, bytes]]:
        """Yield each finished cell, its mark, with its calls, rows of CALLS without a header. Raises RunError.

        The rest of an interrupted cell is left out.
        """
        self.open()
        kept = self.kept()
        counted = {
            (row["launch"], row["attempt"], *key_of(row)) for row in self._counted(kept) if row["state"] == "done"
        }
        for attempt in kept:
            for mark in attempt.cells:
                if mark["calls"] != "0" and (mark["launch"], mark["attempt"], *key_of(mark)) in counted:
                    yield mark, calls_of_cell(attempt, mark)

    def pending(self, plan: Plan, skip_hung: bool = False, among: Sequence[Launch] | None = None) -> list[Launch]:
        """Return the planned launches with cells left, restricted to `among` if given. Raises RunError."""
        launches = plan.planned_launches() if among is None else among
        return [launch for launch in launches if self.cells_left(plan, launch, skip_hung)]

    def cells_left(self, plan: Plan, launch: Launch, skip_hung: bool = False) -> int:
        """Return the number of cells left in the planned launch. Raises RunError."""
        return len({cell.key for cell in plan.cells(launch)} - self.finished(launch, skip_hung))

    def finished(self, launch: Launch, skip_hung: bool = False) -> set[CellKey]:
        """Return the cells of the planned launch that need no further attempt: all but those that hung or had no time
        left.

        With `skip_hung` also those that hung, in any launch of as many ranks.
        """
        rows = self._cells(lambda other: other == launch)
        done = {key_of(row) for row in rows if row["state"] not in UNFINISHED}
        hung = self._cells(lambda other: other.ranks == launch.ranks, with_calls=False) if skip_hung else []
        return done | {key_of(row) for row in hung if row["state"] == "hung"}

    def _cells(self, wanted: Callable[[Launch], bool], with_calls: bool = True) -> list[Row]:
        return [row for attempt in self.kept(wanted, with_calls) for row in attempt.cells]


def _is_first_finished(row: Row, first_attempts: dict[tuple[str, ...], int]) -> bool:
    """Return whether its attempt is the first one that finished this cell of its launch."""
    return first_attempts[(row["launch"], *key_of(row))] == int(row["attempt"] or 0)


def key_of(row: Row) -> CellKey:
    """Return the values of KEY."""
    return tuple(row[name] for name in KEY)


def alternated_names(path: Path) -> list[str]:
    """Return the names of the runs in a folder whose launches alternate, in order; empty: it holds none."""
    found = []
    for run_json in sorted(path.glob("[a-z]/run.json")):
        with suppress(RunError, OSError):
            if read_json(run_json).get("alternated"):
                found.append(run_json.parent.name)
    return found


def run_names(folders: Sequence[RunFolder]) -> list[str]:
    """Return a unique name for each folder, as `unique_names` does."""
    return unique_names([folder.path for folder in folders])


def unique_names(paths: Sequence[Path]) -> list[str]:
    """Return a unique name for each path, in printable letters: its own, or the whole path if several share that."""
    whole = [path.resolve() for path in paths]
    own = [printable(path.name) for path in whole]
    return [printable(str(path)) if own.count(name) > 1 else name for path, name in zip(whole, own)]


def merged_sources(folder: RunFolder) -> list[dict[str, Any]]:
    """Return the sources of a merged run: name, sha256, seed and {their launch: ours}; else none. Raises RunError."""
    return folder.open().get("merged", [])


def merged_sources_sentence(merged: Sequence[dict[str, Any]]) -> str:
    """Format as `a (sha256 0123456789abcdef, seed 1); b (sha256 ..., seed 2, 8r-1 as 8r-6)`."""
    descriptions = []
    for source in merged:
        renamed = [f"{old} as {new}" for old, new in source["launches"].items() if old != new]
        details = [f"sha256 {source['sha256'][:16]}", f"seed {source['seed']}", *renamed]
        descriptions.append(f"{source['name']} ({', '.join(details)})")
    return "; ".join([*descriptions, "the cells are in the order of the seed and the launch of each source"])
