"""Where a run keeps what, and reading it back without pandas; only what was finished is handed out."""

import json
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from errno import ENOENT, ESTALE
from itertools import groupby
from pathlib import Path

from .plan import ImportedPlan, Launch, Plan, PlanError
from .rows import Block, Row, RunError, read_blocks, read_rows
from .schema import CELLS, REPETITIONS, SCHEMA_VERSION, names

CellKey = tuple[str, ...]  # the values of KEY, as written
KEY = (
    "algorithm",
    "executor",
    "count",
    "segment",
    "cache",
    "groups",
)  # what tells a cell from the others of its launch
UNFINISHED = ("left out", "hung")  # states of a cell that a further attempt may still measure
KEPT = (*UNFINISHED, "wrong")  # states that count in every attempt
LOOK_AGAIN_S = (0.01, 0.1, 0.5)  # at a file that was replaced


class RunFolder:
    """The files of one run: run.json, and per attempt of a launch launches/<launch>.<attempt>.{json,csv,cells.csv}."""

    def __init__(self, path: Path):
        self.path = path
        self.run_json = path / "run.json"
        self.launches = path / "launches"
        self.summary_csv = path / "summary.csv"

    def open(self) -> dict:
        """The content of run.json. Raises RunError: absent, damaged, or of another schema version."""
        if not self.path.is_dir():
            raise RunError(f"{self.path}: no such folder; expected a run made by 'allreduce-bench run'")
        if not self.run_json.is_file():
            raise RunError(f"{self.path}: holds no run.json, so it is no run; name the folder of one run")
        run = read_json(self.run_json)
        version = run.get("schema_version")
        if type(version) is not int:
            raise RunError(f"{self.run_json}: damaged: it names no schema version; expected {SCHEMA_VERSION}")
        if version > SCHEMA_VERSION:
            raise RunError(
                f"{self.run_json}: of a newer schema, {version}; this program reads up to {SCHEMA_VERSION}: update it"
            )
        if version < SCHEMA_VERSION:
            raise RunError(
                f"{self.run_json}: of an older schema, {version}, that is no longer read; expected {SCHEMA_VERSION}"
            )
        return run

    def plan(self) -> Plan:
        """The plan of the run. Raises RunError."""
        run = self.open()
        try:
            return (ImportedPlan if run.get("imported") else Plan).from_json(run.get("plan"))
        except PlanError as error:
            raise RunError(f"{self.run_json}: damaged: {error}; restore it or measure anew") from error

    def imported(self) -> dict | None:
        """Where the times come from: tool, version, files with name and sha256, and what options said of them (`said`).

        None: they were measured here. Raises RunError.
        """
        imported = self.open().get("imported")
        kinds = {"tool": str, "files": list, "said": dict}
        if imported and not (isinstance(imported, dict) and all(type(imported.get(k)) is v for k, v in kinds.items())):
            raise RunError(f"{self.run_json}: damaged: imported is {imported!r:.60}; import the logs anew")
        return imported or None

    def attempts(self) -> list[dict]:
        """The facts of every attempt that finished a cell, in the order in which they started. Raises RunError."""
        marks = [path for path in self.launches.glob("*.cells.csv") if read_rows(path, names(CELLS))]
        facts = [_launch_facts(path.with_name(path.name.replace(".cells.csv", ".json"))) for path in marks]
        return sorted(facts, key=lambda fact: (fact["started"], fact["launch"]))

    def attempt_numbers(self) -> dict[Launch, list[int]]:
        """The attempts of every launch that was begun, in no order; files of other names do not count."""
        attempts_of: dict[Launch, list[int]] = defaultdict(list)
        for path in self.launches.glob("*.json"):
            name, _, attempt = path.stem.partition(".")
            with suppress(ValueError):
                launch, number = Launch.named(name), int(attempt)
                if path.name == f"{launch.name}.{number}.json":
                    attempts_of[launch].append(number)
        return attempts_of

    def marks(self) -> list[Row]:
        """One row per cell that ended in an attempt, as in CELLS. Raises RunError where there is none at all.

        A cell that two attempts have finished counts once: a job that was requeued may have been at work before its
        first start was dead. The first attempt stands, but a failed check is never hidden by it.
        """
        self.open()
        rows = [row for path in sorted(self.launches.glob("*.cells.csv")) for row in read_rows(path, names(CELLS))]
        if not rows:
            raise RunError(f"{self.path}: half-written: no cell was finished; go on with 'run --resume -o {self.path}'")
        first_attempts: dict[tuple[str, ...], int] = {}
        for row in rows:
            if row["state"] not in UNFINISHED:
                cell, attempt = (row["launch"], *key_of(row)), int(row["attempt"] or 0)
                first_attempts[cell] = min(attempt, first_attempts.get(cell, attempt))
        return [row for row in rows if row["state"] in KEPT or _is_first_finished(row, first_attempts)]

    def repetitions(self) -> Iterator[Row]:
        """The timed calls of finished cells, as in REPETITIONS; the rest of an interrupted cell is left out."""
        for block in self.blocks():
            for fields in zip(*block.values()):
                yield dict(zip(block, fields))

    def blocks(self) -> Iterator[Block]:
        """What `repetitions` gives, several times as fast: all rows of a block are of one cell and attempt.

        A cell may come in several blocks. Raises RunError.
        """
        done = {(row["launch"], row["attempt"], *key_of(row)) for row in self.marks() if row["state"] == "done"}
        for marks in sorted(self.launches.glob("*.cells.csv")):
            path = marks.with_name(marks.name.replace(".cells.csv", ".csv"))
            if not path.is_file():
                raise RunError(f"{path}: damaged: the raw times of {marks.name} are missing")
            for block in read_blocks(path, names(REPETITIONS)):
                start = 0
                for cell, rows in groupby(zip(*(block[name] for name in ("launch", "attempt", *KEY)))):
                    stop = start + len(list(rows))
                    if cell in done:
                        yield {name: values[start:stop] for name, values in block.items()}
                    start = stop

    def pending(self, plan: Plan, skip_hung: bool = False, among: Sequence[Launch] | None = None) -> list[Launch]:
        """The planned launches that have cells left, or those of them that are `among` these. Raises RunError."""
        launches = plan.planned_launches() if among is None else among
        return [launch for launch in launches if self.missing(plan, launch, skip_hung)]

    def missing(self, plan: Plan, launch: Launch, skip_hung: bool = False) -> int:
        """How many cells of the planned launch are left. Raises RunError."""
        return len({cell.key for cell in plan.cells(launch)} - self.finished(launch, skip_hung))

    def finished(self, launch: Launch, skip_hung: bool = False) -> set[CellKey]:
        """The cells of the planned launch that need no further attempt: all but those that hung or had no time left.

        With `skip_hung` also those that hung, in whichever launch of as many ranks.
        """
        rows = self._marks_of(f"{launch.name}.*")
        done = {key_of(row) for row in rows if row["state"] not in UNFINISHED}
        hung = self._marks_of(f"{launch.ranks}r-*") if skip_hung else []
        return done | {key_of(row) for row in hung if row["state"] == "hung"}

    def _marks_of(self, stem_pattern: str) -> list[Row]:
        paths = self.launches.glob(f"{stem_pattern}.cells.csv")
        return [row for path in paths for row in read_rows(path, names(CELLS))]


def key_of(row: Row) -> CellKey:
    """The values of KEY."""
    return tuple(row[name] for name in KEY)


def _is_first_finished(row: Row, first_attempts: dict[tuple[str, ...], int]) -> bool:
    """Whether its attempt is the first one that finished this cell of its launch."""
    return first_attempts[(row["launch"], *key_of(row))] == int(row["attempt"] or 0)


def run_names(folders: Sequence[RunFolder]) -> list[str]:
    """A name for each folder that tells it from the others: its own, or its path where two are called the same."""
    paths = [folder.path.resolve() for folder in folders]
    own = [path.name for path in paths]
    return [str(path) if own.count(path.name) > 1 else path.name for path in paths]


def _launch_facts(path: Path) -> dict:
    facts = read_json(path)
    if missing := {"started", "launch", "ranks", "oversubscribed", "mpi", "findings"} - set(facts):
        raise RunError(f"{path}: damaged: it lacks {', '.join(sorted(missing))}")
    return facts


def read_json(path: Path) -> dict:
    """The object in a JSON file. Raises RunError."""
    try:
        value = json.loads(_read_text(path))
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{path}: damaged: {error}; expected a JSON object") from error
    if not isinstance(value, dict):
        raise RunError(f"{path}: damaged: expected a JSON object, found {type(value).__name__}")
    return value


def _read_text(path: Path) -> str:
    """The text of a file; one that another node has just replaced may be gone under its old handle: look again."""
    for pause_s in LOOK_AGAIN_S:
        try:
            return path.read_text(encoding="utf-8")
        except OSError as error:
            if error.errno not in (ESTALE, ENOENT):
                raise
        time.sleep(pause_s)
    return path.read_text(encoding="utf-8")
