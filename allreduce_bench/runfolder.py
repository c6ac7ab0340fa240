"""Where a run keeps what, and reading it back without pandas; only what was finished is handed out."""

import csv
import json
import time
from collections.abc import Iterator, Sequence
from errno import ENOENT, ESTALE
from itertools import groupby, islice
from math import isfinite
from pathlib import Path

from .plan import ImportedPlan, Launch, Plan, PlanError
from .schema import CELLS, KINDS, REPETITIONS, SCHEMA_VERSION, STATES, names

Row = dict[str, str]
Block = dict[str, tuple[str, ...]]  # consecutive rows, column by column
CellKey = tuple[str, ...]  # the values of KEY, as written
KEY = (
    "algorithm",
    "executor",
    "count",
    "segment",
    "cache",
    "groups",
)  # what tells a cell from the others of its launch
NEEDED = ("ranks", "nbytes", "time_s")  # never empty
UNFINISHED = ("left out", "hung")  # states of a cell that a further attempt may still measure
KEPT = (*UNFINISHED, "wrong")  # states that count in every attempt
LOOK_AGAIN_S = (0.01, 0.1, 0.5)  # at a file that was replaced
BLOCK_ROWS = 512  # read at once: enough to handle them by columns, few enough to stay in the caches


class RunError(ValueError):
    """A folder that cannot be read as a run, in words."""


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
            return (ImportedPlan if run.get("imported") else Plan).from_json(run["plan"])
        except (KeyError, TypeError, AttributeError, PlanError) as error:
            raise RunError(f"{self.run_json}: damaged: {error}; restore it or measure anew") from error

    def imported(self) -> dict | None:
        """Where the times come from: tool, version, files with name and sha256, and what options said of them (`said`).

        None: they were measured here. Raises RunError.
        """
        imported = self.open().get("imported")
        known = {"tool": str, "files": list, "said": dict}
        if imported and not (isinstance(imported, dict) and all(type(imported.get(k)) is v for k, v in known.items())):
            raise RunError(f"{self.run_json}: damaged: imported is {imported!r:.60}; import the logs anew")
        return imported or None

    def attempts(self) -> list[dict]:
        """The facts of every attempt that finished a cell, in the order in which they started. Raises RunError."""
        marks = [path for path in self.launches.glob("*.cells.csv") if whole_rows(path, names(CELLS))]
        facts = [_launch_facts(path.with_name(path.name.replace(".cells.csv", ".json"))) for path in marks]
        return sorted(facts, key=lambda fact: (fact["started"], fact["launch"]))

    def marks(self) -> list[Row]:
        """One row per cell that ended in an attempt, as in CELLS. Raises RunError where there is none at all.

        A cell that two attempts have finished counts once: a job that was requeued may have been at work before its
        first start was dead. The first attempt stands, but a failed check is never hidden by it.
        """
        self.open()
        found = [row for path in sorted(self.launches.glob("*.cells.csv")) for row in whole_rows(path, names(CELLS))]
        if not found:
            raise RunError(f"{self.path}: half-written: no cell was finished; go on with 'run --resume -o {self.path}'")
        first: dict[tuple[str, ...], int] = {}
        for row in found:
            if row["state"] not in UNFINISHED:
                cell, attempt = (row["launch"], *key_of(row)), int(row["attempt"] or 0)
                first[cell] = min(attempt, first.get(cell, attempt))
        return [row for row in found if row["state"] in KEPT or _stands(row, first)]

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
            for block in whole_blocks(path, names(REPETITIONS)):
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

    def _marks_of(self, attempts: str) -> list[Row]:
        paths = self.launches.glob(f"{attempts}.cells.csv")
        return [row for path in paths for row in whole_rows(path, names(CELLS))]


def key_of(row: Row) -> CellKey:
    """The values of KEY."""
    return tuple(row[name] for name in KEY)


def _stands(row: Row, first: dict[tuple[str, ...], int]) -> bool:
    """Whether its attempt is the first one that finished this cell of its launch."""
    return first[(row["launch"], *key_of(row))] == int(row["attempt"] or 0)


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
        value = json.loads(_text_of(path))
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: damaged: {error}; expected a JSON object") from error
    if not isinstance(value, dict):
        raise RunError(f"{path}: damaged: expected a JSON object, found {type(value).__name__}")
    return value


def _text_of(path: Path) -> str:
    """The text of a file; one that another node has just replaced may be gone under its old handle: look again."""
    for pause_s in LOOK_AGAIN_S:
        try:
            return path.read_text(encoding="utf-8")
        except OSError as error:
            if error.errno not in (ESTALE, ENOENT):
                raise
        time.sleep(pause_s)
    return path.read_text(encoding="utf-8")


def whole_rows(path: Path, columns: list[str]) -> list[Row]:
    """The rows of a CSV file; a last line that was cut off is left out. Raises RunError for other columns."""
    return [dict(zip(block, fields)) for block in whole_blocks(path, columns) for fields in zip(*block.values())]


def whole_blocks(path: Path, columns: list[str]) -> Iterator[Block]:
    """What `whole_rows` gives, at most BLOCK_ROWS rows at once. Raises RunError."""
    with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
        reader = csv.reader(line for line in file if line.endswith("\n"))
        try:
            header = next(reader, columns)
            if header != columns:
                raise RunError(
                    f"{path}: damaged: its columns are not those of schema version {SCHEMA_VERSION}: {','.join(header)}"
                )
            while rows := [(reader.line_num, fields) for fields in islice(reader, BLOCK_ROWS)]:
                yield _block(path, columns, rows)
        except csv.Error as error:
            raise RunError(f"{path}, line {reader.line_num}: damaged: {error}") from error


def _block(path: Path, columns: list[str], rows: list[tuple[int, list[str]]]) -> Block:
    """Rows, each after the number of its last line, column by column. Raises RunError."""
    block = dict(zip(columns, map(_shared, zip(*(fields for _, fields in rows)))))
    complete = {len(fields) for _, fields in rows} == {len(columns)}
    if not complete or not all(_all_fit(name, values) for name, values in block.items()):
        for line, fields in rows:
            _refuse_damage(f"{path}, line {line}", columns, fields)
    return block


def _refuse_damage(place: str, columns: list[str], fields: list[str]) -> None:
    """Raises RunError where a row does not hold what its columns say."""
    if len(fields) != len(columns):
        raise RunError(f"{place}: damaged: {len(fields)} fields, expected {len(columns)}")
    row = dict(zip(columns, fields))
    signed = row.get("valid") == "0"  # a clock that ran backwards
    for name, value in row.items():
        if not _fits(name, value, signed):
            raise RunError(f"{place}: damaged: {name} is '{value}'")


def _shared(values: tuple[str, ...]) -> tuple[str, ...]:
    """`values`, as one object where they are all equal, as most columns are: compared and kept for less."""
    return values[:1] * len(values) if values.count(values[0]) == len(values) else values


def _all_fit(name: str, values: tuple[str, ...]) -> bool:
    """Whether surely all values of a column hold what it says: the same question as `_fits`, answered at once."""
    if KINDS[name] != "real":
        return all(_fits(name, value, False) for value in set(values))
    if name in NEEDED and not all(values):
        return False
    try:
        numbers = list(map(float, filter(None, values)))
    except ValueError:
        return False
    return all(map(isfinite, numbers)) and min(numbers, default=0) >= 0


def _fits(name: str, value: str, signed: bool) -> bool:
    """Whether a field holds what its column says; most may be empty. Times are negative only where `signed`."""
    if name == "state":
        return value in STATES
    if not value:
        return name not in NEEDED
    kind = KINDS[name]
    if kind == "text":
        return True
    try:
        if kind == "real":
            return isfinite(float(value)) and (signed or float(value) >= 0)
        return int(value) >= 0
    except ValueError:
        return False
