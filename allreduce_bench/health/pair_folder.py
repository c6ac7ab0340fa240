"""The folder of a check of nodes in pairs: its settings, times and failures.

`health.json` has the settings and never changes. `pairs.csv` grows by whole rounds: a row per timed message, and one
per pair that failed. A last line without its end was truncated, and is ignored.
"""

import csv
import io
import json
import os
from collections.abc import Collection, Iterable
from math import isfinite
from pathlib import Path
from typing import NamedTuple

from ..runs.files import read_kept
from ..runs.recorder import append_to, write_whole
from ..runs.rows import RunError, csv_bytes
from ..runs.typed_json import Natural, Positive, read_as
from ..units import printable

SCHEMA = "urn:allreduce-bench:health-asked:1"
PAIRS, FIGURE = "pairs.csv", "health.png"
LONGEST_FAILURE = 300  # characters
SMALL, LARGE = 8, 4 << 20  # bytes of a message


class PairRow(NamedTuple):
    """A message from one node to another, or a pair that failed."""

    round: int  # from 1, over all launches; a repeated round gets a new number
    source: str
    dest: str
    size_bytes: int | None = None
    repetition: int | None = None  # from 1
    time_s: float | None = None  # half of a round trip of a small message; of a large one until its answer
    alone: bool = False  # no other pair was measured at the time
    failure: str = ""  # why there is no time


class CheckSettings(NamedTuple):
    """The settings of a check."""

    nodes: tuple[str, ...]
    small_nbytes: Natural = SMALL  # messages that measure latency
    large_nbytes: Natural = LARGE  # messages that measure bandwidth
    small_repetitions: Positive = 10
    large_repetitions: Positive = 5  # in each direction
    command: tuple[str, ...] = ()
    virtual_rates_bytes_per_s: tuple[float, ...] = ()  # of the links of virtual hosts; empty: real ones


class PairFolder:
    """The files of one check."""

    def __init__(self, path: Path):
        self.path = path
        self.asked_json = path / "health.json"
        self.rounds_json = path / "rounds.json"
        self.pairs_csv = path / PAIRS

    def begin(self, asked: CheckSettings) -> None:
        """Create the folder, or resume the check in it. Raises RunError if that check has other settings."""
        if not self.asked_json.exists():
            if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
                raise RunError(f"{self.path}: already exists and holds no check; choose another folder with -o")
            self.path.mkdir(parents=True, exist_ok=True)
            write_whole(self.asked_json, json.dumps({"schema": SCHEMA, **asked._asdict()}, indent=1).encode() + b"\n")
            return
        kept = self.read_settings()
        for name in ("nodes", "small_nbytes", "large_nbytes", "small_repetitions", "large_repetitions"):
            if getattr(kept, name) != getattr(asked, name):
                said = f"other {name.replace('_', ' ')}"
                if name == "large_repetitions":
                    said = f"--repetitions {kept.large_repetitions}, not {asked.large_repetitions}"
                raise RunError(f"{self.path}: holds a check with {said}; choose another folder with -o")

    def read_settings(self) -> CheckSettings:
        """Read the settings. Raises RunError if they are damaged or of another version."""
        try:
            kept = json.loads(read_kept(self.asked_json))
            if kept.pop("schema") != SCHEMA:
                raise ValueError("another version")
            return read_as(CheckSettings, kept)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RunError(f"{self.asked_json}: damaged ({error}); expected {SCHEMA}; begin a new check") from error

    def rows(self) -> list[PairRow]:
        """Return all rows, in order. Raises RunError for a line that this check did not write."""
        if not self.pairs_csv.exists():
            return []
        text = read_kept(self.pairs_csv).decode(errors="replace")
        lines = list(csv.reader(io.StringIO(text[: text.rfind("\n") + 1])))
        if not lines:
            return []
        if tuple(lines[0]) != PairRow._fields:
            raise RunError(f"{self.pairs_csv}, line 1: expected the columns {','.join(PairRow._fields)}; begin anew")
        nodes, rows = {*self.read_settings().nodes}, list[PairRow]()
        line_of: dict[tuple, int] = {}  # of each message
        for number, line in enumerate(lines[1:], start=2):
            place = f"{self.pairs_csv}, line {number}"
            row = _row(line, place, nodes)
            if row[:5] in line_of and not row.failure:
                raise RunError(f"{place}: the message of line {line_of[row[:5]]} again; remove one of the two lines")
            line_of[row[:5]] = number
            rows.append(row)
        return rows

    def append(self, rows: Iterable[PairRow]) -> None:
        """Add rows, synced to the disk. A truncated last line is removed first. Raises OSError."""
        handle = os.open(self.pairs_csv, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            os.ftruncate(handle, _whole_nbytes(handle))
            head = [] if os.fstat(handle).st_size else [PairRow._fields]
            append_to(handle, csv_bytes([*head, *map(_fields, rows)]))
        finally:
            os.close(handle)


def whole_pairs(rows: Iterable[PairRow], asked: CheckSettings) -> dict[frozenset[str], list[PairRow]]:
    """Return the rows of each pair whose last round is complete; other rounds are ignored."""
    of_pair: dict[frozenset[str], list[PairRow]] = {}
    for row in rows:
        pair = frozenset((row.source, row.dest))
        kept = of_pair.setdefault(pair, [])
        if kept and kept[-1].round != row.round:
            kept.clear()
        kept.append(row)
    number = asked.small_repetitions + 2 * asked.large_repetitions
    return {pair: kept for pair, kept in of_pair.items() if len(kept) == number and not any(r.failure for r in kept)}


def failed_pairs(rows: Iterable[PairRow]) -> dict[frozenset[str], str]:
    """Return the reason of each pair that failed."""
    return {frozenset((row.source, row.dest)): row.failure for row in rows if row.failure}


def _whole_nbytes(handle: int) -> int:
    """Return the length of a file up to the end of its last whole line."""
    size = os.fstat(handle).st_size
    tail = os.pread(handle, 1 << 16, max(0, size - (1 << 16)))
    return size - len(tail) + tail.rfind(b"\n") + 1


def _fields(row: PairRow) -> list[object]:
    failure = " ".join(row.failure.split())[:LONGEST_FAILURE]
    values = row._replace(failure=failure)
    return ["" if value is None else int(value) if isinstance(value, bool) else value for value in values]


def _row(line: list[str], place: str, nodes: Collection[str]) -> PairRow:
    try:
        round_, source, dest, size_bytes, repetition, time_s, alone, failure = line
        row = PairRow(
            int(round_),
            printable(source),
            printable(dest),
            int(size_bytes) if size_bytes else None,
            int(repetition) if repetition else None,
            float(time_s) if time_s else None,
            alone == "1",
            printable(failure),
        )
    except ValueError as error:
        raise RunError(f"{place}: damaged: {','.join(line)[:60]!r}; remove the line, or begin a new check") from error
    if row.time_s is not None and not (isfinite(row.time_s) and row.time_s > 0):
        raise RunError(f"{place}: damaged: a time of {row.time_s:g} s; remove the line, or begin a new check")
    if strangers := {row.source, row.dest} - {*nodes}:
        raise RunError(f"{place}: {min(strangers)} is no node of this check; remove the line, or begin a new check")
    return row
