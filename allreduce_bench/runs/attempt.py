"""One start of a launch, read from its files and verified: its facts, its ended cells, and what is damaged.

`4r-1.1.calls.csv` has a row a timed call, the rows of a cell one after the other; `4r-1.1.cells.csv` a line a cell, a
mark, written when all of its rows are on disk. A mark ends with the CRC-32 of its rows and of itself, begun with that
of run.json, of the name of the attempt and of both header lines. So a changed, moved or lost row is found, and the cell
counts as missing; what a killed process left half written has no mark, or a torn one, and is no damage. A column
that was added after an attempt was written reads as empty.

The files are read in the order JSON, cells, calls, in which a later one holds at least what an earlier one counts: so
an attempt in progress is never taken for a damaged one.
"""

import csv
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from .cell import Launch
from .files import open_kept, phrase, read_kept
from .rows import Row, RunError, checked_row, csv_bytes
from .schema import CALLS, CELLS, Column, checksum, names
from .typed_json import read_object

HEADERS = tuple(csv_bytes([names(columns)]) for columns in (CALLS, CELLS))
CELL_OF_CALL = 2  # leading columns that say which cell a call is of
CRC_DIGITS = 8  # at the end of a mark


class Damage(NamedTuple):
    """A part of a run that is not as it was written; the cells concerned count as missing."""

    path: Path  # the file
    found: str  # what is wrong with it, a phrase
    launch: Launch
    cell: Row | None = None  # the mark of the cell; None: several, or unknown


class Calls(NamedTuple):
    """The rows of one cell in the file of calls."""

    begin: int  # offset in the file
    size_bytes: int
    rows: int
    crc32: int


class Attempt(NamedTuple):
    """The files of one start of a launch."""

    launch: Launch
    number: int
    launches: Path  # the folder
    facts: dict  # of its JSON file; empty where that is damaged
    cells: list[Row]  # the marks of whole cells
    damages: list[Damage]
    calls: dict[tuple[str, str], Calls] = {}  # where the calls of these cells lie; empty: not looked at
    columns: Sequence[str] = ()  # of its file of calls

    def path(self, ending: str) -> Path:
        """Return the path of its file with this ending."""
        return self.launches / f"{self.launch.name}.{self.number}{ending}"

    @property
    def is_sealed(self) -> bool:
        """Whether it ended properly and recorded that."""
        return "cells" in self.facts

    def without(self, ending: str, found: str) -> "Attempt":
        """Return the attempt without its cells, because one of its files is damaged."""
        return self._replace(cells=[], damages=[*self.damages, Damage(self.path(ending), found, self.launch)])


def read_attempt(launches: Path, launch: Launch, number: int, run_crc32: str, with_calls: bool = True) -> Attempt:
    """Return the attempt; without `with_calls` calls and stamps are not read, and the marks trusted.

    Raises PermissionError for a file that may not be read.
    """
    attempt = Attempt(launch, number, launches, {}, [], [])
    try:
        attempt = attempt._replace(facts=_facts(attempt, run_crc32))
    except PermissionError:  # it may be as it was written
        raise
    except (RunError, OSError) as error:
        begun = any(attempt.path(ending).exists() for ending in (".cells.csv", ".calls.csv"))
        return attempt.without(".json", phrase(error)) if begun else attempt
    try:
        attempt = _read_cells(attempt, run_crc32, with_calls)
    except PermissionError:
        raise
    except (RunError, OSError) as error:
        is_of_calls = getattr(error, "filename", None) == str(attempt.path(".calls.csv"))
        return attempt.without(".calls.csv" if is_of_calls else ".cells.csv", phrase(error))
    return _drop_damaged_stamps(attempt) if with_calls else attempt


def _facts(attempt: Attempt, run_crc32: str) -> dict:
    """Return the content of its JSON file, which its checksum holds together. Raises RunError, OSError."""
    facts = read_object(attempt.path(".json"))
    if "crc32" not in facts:
        raise RunError("its checksum is missing: the file was changed")
    if (facts.get("launch"), facts.get("attempt")) != (attempt.launch.name, attempt.number):
        raise RunError(f"it belongs to launch {facts.get('launch')}, attempt {facts.get('attempt')}")
    if facts.get("run_crc32") != run_crc32:
        raise RunError("it belongs to another run")
    return facts


def seed_of(run_crc32: str, launch: str, attempt: int, headers: Sequence[bytes] = HEADERS) -> int:
    """Return the value with which the checksums of an attempt begin."""
    return crc32(f"{run_crc32} {launch}.{attempt}\n".encode() + b"".join(headers))


def columns_in(header: bytes, columns: Sequence[Column], file: str = "") -> list[str]:
    """Return the columns that a `file` has: all but some that may be empty. Raises RunError for other ones."""
    found = header.decode(errors="replace").removesuffix("\n").split(",")
    if found != [column.name for column in columns if column.name in found or not column.may_be_empty]:
        raise RunError(f"{file}the first line is not the header of this layout")
    return found


def mark_line(mark: Row, seed: int) -> bytes:
    """Return the line of a cell; `seed` is the checksum of its rows."""
    content = csv_bytes([[mark[name] for name in names(CELLS)[:-1]] + [""]]).removesuffix(b"\n")
    return content + f"{crc32(content, seed):08x}\n".encode()


def _read_cells(attempt: Attempt, run_crc32: str, with_calls: bool) -> Attempt:
    """Return the attempt with its whole cells, and what is damaged. Raises RunError, OSError.

    Not `with_calls`: only the marks of cells without calls are verified.
    """
    path, file = attempt.path(".cells.csv"), attempt.path(".calls.csv")
    header, newline, body = _content(path).partition(b"\n")
    if not newline:
        if attempt.is_sealed or _size(file) > len(HEADERS[0]):
            raise RunError("it is cut off" if header else "it is empty or missing")
        return attempt  # its ranks were killed before they wrote any
    columns = columns_in(header, CELLS)
    calls_header, rows = _header_and_rows(attempt, file, with_calls)
    columns_of_calls = columns_in(calls_header, CALLS, f"{file.name}: ")
    seed = seed_of(run_crc32, attempt.launch.name, attempt.number, (calls_header, header + newline))
    calls = _calls_by_cell(rows, len(calls_header), seed)
    cells: dict[bytes, Row] = {}  # by their lines: one that is there twice counts once
    damages: list[Damage] = []
    *lines, torn = body.split(b"\n")
    for line in lines:
        mark = _row_of(line, columns)
        if mark and (mark["calls"] != "0" and not with_calls or _is_whole(line, mark, calls.get(cell_of(mark)), seed)):
            cells[line] = {"launch": attempt.launch.name, "attempt": str(attempt.number), **mark}
        elif attempt.is_sealed or b"\0" not in line:  # as after a power cut
            found = f"its row, or one of its calls in {file.name}, was changed or is lost"
            damages.append(Damage(path, found, attempt.launch, mark))
    if attempt.is_sealed and not damages and (torn or len(cells) != attempt.facts["cells"]):
        found = f"it has {len(cells)} whole rows of cells, expected {attempt.facts['cells']}"
        damages.append(Damage(path, found, attempt.launch))
    damages = [*attempt.damages, *damages]
    return attempt._replace(cells=[*cells.values()], damages=damages, calls=calls, columns=columns_of_calls)


def _is_whole(line: bytes, mark: Row, at: Calls | None, seed: int) -> bool:
    """Return whether a mark, and the rows of its cell, are as they were written."""
    if mark["calls"] == "0":
        at = None
    crc = crc32(line[:-CRC_DIGITS], at.crc32 if at else seed)
    return mark["calls"] == (str(at.rows) if at else "0") and line.endswith(f",{crc:08x}".encode())


def cell_of(mark: Row) -> tuple[str, str]:
    """Return what tells the rows of a cell from others of its attempt."""
    return mark[CALLS[0].name], mark[CALLS[1].name]


def _header_and_rows(attempt: Attempt, file: Path, with_rows: bool) -> tuple[bytes, bytes]:
    """Return the first line of the file of calls, and all of it but a last line that was cut off. Raises OSError.

    The first line is that of this version where there is none yet.
    """
    with open_kept(file) as opened:
        content = opened.read() if with_rows else opened.readline()
    is_begun = content or attempt.is_sealed
    return content[: content.find(b"\n") + 1] if is_begun else HEADERS[0], content[: content.rfind(b"\n") + 1]


def _calls_by_cell(content: bytes, begin: int, seed: int) -> dict[tuple[str, str], Calls]:
    """Return the rows of each cell in a file of calls, from the offset `begin` on."""
    found: dict[tuple[str, str], Calls] = {}
    while begin < len(content):
        cell, beginning = _beginning(content[begin : content.index(b"\n", begin) + 1])
        last = re.compile(rb"\n(?!%b)" % re.escape(beginning)).search(content, begin)
        end = last.end() if last else len(content)
        calls = Calls(begin, end - begin, content.count(b"\n", begin, end), crc32(content[begin:end], seed))
        # rows that are apart from the others of their cell make it another one
        found[cell if cell not in found else (*cell[:1], f"{cell[1]} again at {begin}")] = calls
        begin = end
    return found


def _beginning(line: bytes) -> tuple[tuple[str, str], bytes]:
    """Return the cell of a row, and the bytes with which all rows of that cell begin."""
    with suppress(ValueError, csv.Error):
        (fields,) = csv.reader([line.decode()])
        if len(fields) > CELL_OF_CALL:
            return (fields[0], fields[1]), csv_bytes([fields[:CELL_OF_CALL] + [""]])[:-1]
    return ("", f"damaged {line[:40]!r}"), line


def _row_of(line: bytes, columns: list[str]) -> Row | None:
    """Return the values of a mark; None if they are none."""
    with suppress(RunError, ValueError, csv.Error):
        (fields,) = csv.reader([line.decode()])
        return dict.fromkeys(names(CELLS), "") | checked_row(columns, fields)
    return None


def calls_of_cell(attempt: Attempt, mark: Row) -> bytes:
    """Return the rows of a whole cell, with all columns of CALLS. Raises OSError."""
    calls = attempt.calls[cell_of(mark)]
    with open_kept(attempt.path(".calls.csv")) as file:
        file.seek(calls.begin)
        rows = file.read(calls.size_bytes)
    if attempt.columns == names(CALLS):
        return rows
    found = csv.DictReader(StringIO(rows.decode()), attempt.columns)
    return csv_bytes([row.get(name, "") for name in names(CALLS)] for row in found)


def _content(path: Path) -> bytes:
    """Return the content of a file of a run; empty if it does not exist. Raises OSError."""
    with suppress(FileNotFoundError):
        return read_kept(path)
    return b""


def _drop_damaged_stamps(attempt: Attempt) -> Attempt:
    """Return the attempt without the cells whose stamps are damaged."""
    cells: list[Row] = []
    damages: list[Damage] = []
    for mark in attempt.cells:
        path, found = attempt.launches / mark["stamps"], ""
        if mark["stamps"]:
            try:
                found = "" if checksum(read_kept(path)) == mark["stamps_crc32"] else "the file was changed"
            except OSError as error:
                found = phrase(error)
        if found:
            damages.append(Damage(path, found, attempt.launch, mark))
        else:
            cells.append(mark)
    return attempt._replace(cells=cells, damages=[*attempt.damages, *damages])


def _size(path: Path) -> int:
    """Return the size of a file in bytes; 0 if it does not exist."""
    try:
        return os.lstat(path).st_size
    except FileNotFoundError:
        return 0


def lost_attempts(
    launches: Path, attempts_of: Mapping[Launch, Sequence[int]], imported: Sequence[Launch] = ()
) -> list[Damage]:
    """Return the damages of launches with a later attempt but no file of an earlier one, or with no files at all.

    `imported`: launches that must be there, since nobody measures them again.
    """
    lost = [
        Damage(launches / f"{launch.name}.1.json", "all files of this launch are lost", launch)
        for launch in imported
        if launch not in attempts_of
    ]
    for launch, numbers in attempts_of.items():
        if number := next((number for number in range(1, max(numbers)) if number not in numbers), None):
            lost.append(Damage(launches / f"{launch.name}.{number}.json", "all files of this attempt are lost", launch))
    return lost
