"""Marks and raw times of an attempt, verified against their checksums.

A mark is a line about one cell; it holds the checksum of its own line, of the preceding mark, and of the rows of its
cell. So changed, lost or moved data is detected, while a killed process leaves no damage behind.
"""

import csv
import io
import os
from collections.abc import Iterator
from contextlib import suppress
from io import BufferedReader
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from .files import open_kept, read_kept
from .plan import Launch
from .rows import Block, Row, RunError, blocks_of, checked_header, checked_row, csv_bytes
from .schema import CELLS, CHECKED, FORMER, REPETITIONS, UNCHECKED_VERSION, UNFINISHED, checksum, first_link, names

# limits of what is read
MOST_HEADER_NBYTES = 65536
MOST_LINES = 64  # of one mark: its reason may span several
PIECE_NBYTES = 2**20  # read at once

# leading columns that rows and marks share
COMMON = [row.name for row, _ in takewhile(lambda pair: pair[0] == pair[1], zip(REPETITIONS, CELLS))]


class Damage(NamedTuple):
    """A part of a run that is not as it was written; the cells concerned count as missing."""

    path: Path  # the file
    found: str  # what is wrong with it, a phrase
    launch: Launch
    cell: Row | None = None  # the mark of the cell; None: several, or unknown


class Attempt(NamedTuple):
    """The files of one start of a launch."""

    launch: Launch
    number: int
    launches: Path  # the folder
    facts: dict  # of its JSON file; empty where that is damaged
    cells: list[Row]  # the marks of whole cells; rows_begin_nbytes is where their rows were found
    damages: list[Damage]

    def path(self, ending: str) -> Path:
        """Return the path of its file with this ending."""
        return self.launches / f"{self.launch.name}.{self.number}{ending}"

    @property
    def is_checked(self) -> bool:
        """Whether its files hold checksums."""
        return self.facts["schema_version"] != UNCHECKED_VERSION

    @property
    def is_sealed(self) -> bool:
        """Whether it ended properly and recorded that."""
        return "last_mark_crc32" in self.facts

    def without(self, ending: str, found: str) -> "Attempt":
        """Return the attempt without its cells, because one of its files is damaged."""
        return self._replace(cells=[], damages=[*self.damages, Damage(self.path(ending), found, self.launch)])


class Marks(NamedTuple):
    """The marks read from the lines of an attempt."""

    cells: list[Row]  # of the intact lines
    damages: list[tuple[str, Row | None]]  # what was found, and the cell if known


class EndOfMarks(NamedTuple):
    """The state of an attempt that a further mark needs."""

    columns: list[str]  # of the file
    last_crc32: str | None  # of the mark it follows; None: the file holds no checksums
    rows_end_nbytes: int  # of the rows accounted for
    is_torn: bool  # the last line was cut off


class _Line(NamedTuple):
    content: bytes
    crc32: str | None  # None: it does not fit


def whole_marks(columns: list[str], body: bytes, first: str | None, last: str | None, run_crc32: str) -> Marks:
    """Return the marks in `body`, the lines after the header, and the damages found.

    `first`: the link of the first mark, None: not known. `last`: the checksum of the last mark if the attempt was
    sealed; then cut-off lines are damage, too, which otherwise a killed process leaves behind.
    """
    lines = list(_lines_of(body, run_crc32))
    cells: list[Row] = []
    damages: list[tuple[str, Row | None]] = []
    known = {first, *(line.crc32 for line in lines)}
    seen: set[str] = set()
    unfit: list[bytes] = []
    is_moved = False
    possible = {first}  # what the next mark may follow
    for content, link in lines:
        if link is None:
            unfit.append(content)
            continue
        row = _row_of(columns, content)
        if link in seen:
            damages.append(("its row is there twice", row))
            continue
        if row["follows"] not in possible and (first or seen):
            damages += [("a row was changed", _perhaps_row_of(columns, line)) for line in unfit]
            if not unfit and row["follows"] not in known:
                damages.append(("one or more rows before this cell are lost", row))
            is_moved |= row["follows"] in known
        unfit = []  # if none is missing, the lines between were cut off: no mark follows them
        seen.add(link)
        possible = {*possible, link} if row["state"] in UNFINISHED else {link}  # the supervisor writes marks, too
        cells.append(row)
    damages += [("a row was changed", _perhaps_row_of(columns, line)) for line in unfit if last or _was_whole(line)]
    if is_moved:
        damages.append(("rows are in the wrong order", None))
    if last is not None and not damages and last not in {first, *seen}:
        damages.append(("the last rows are lost", None))
    return Marks(cells, damages)


def end_of_marks(cells: Path, rows: Path, run_crc32: str) -> EndOfMarks | None:
    """Return the state after the last mark in `cells`; None if its ranks were killed before they wrote its header.

    None, too, if the header is damaged. `rows`: the file of its raw times. Raises OSError, RunError.
    """
    try:
        content = read_kept(cells)
    except FileNotFoundError:
        return None
    header, newline, body = content.partition(b"\n")
    columns = header.decode(errors="replace").split(",")
    if not newline or not set(columns) <= {*names(CELLS), *FORMER}:
        return None
    if not CHECKED.intersection(columns):
        return EndOfMarks(columns, None, 0, not content.endswith(b"\n"))
    header_of_rows = first_line(rows)
    launch, _, attempt = rows.stem.partition(".")
    first = first_link(header_of_rows + header + newline, launch, int(attempt), run_crc32)
    end = EndOfMarks(columns, first, len(header_of_rows), not content.endswith(b"\n"))
    for line, link in _lines_of(body, run_crc32):
        if link is not None:
            row = _row_of(columns, line)
            end_nbytes = int(row["rows_begin_nbytes"] or 0) + int(row["rows_nbytes"] or 0)
            end = end._replace(last_crc32=link, rows_end_nbytes=end_nbytes)
    return end


def _lines_of(body: bytes, run_crc32: str) -> Iterator[_Line]:
    """Yield the lines of marks; quoted text may span several lines of the file."""
    parts, i = io.BytesIO(body).readlines(), 0
    while i < len(parts):
        for number in range(1, MOST_LINES + 1 if b'"' in parts[i] else 2):
            content = b"".join(parts[i : i + number])
            if content.endswith(f"{checksum(content[:-9], run_crc32)}\n".encode()):
                yield _Line(content, content[-9:-1].decode())
                break
        else:
            number = 1
            yield _Line(parts[i], None)
        i += number


def _row_of(columns: list[str], line: bytes) -> Row:
    """Return the values of a line. Raises RunError if they do not fit their columns."""
    try:
        (fields,) = csv.reader([line.decode()])
    except (ValueError, csv.Error) as error:
        raise RunError(f"a row is not CSV: {error}") from error
    return {**dict.fromkeys(names(CELLS), ""), **checked_row(columns, fields)}


def _perhaps_row_of(columns: list[str], line: bytes) -> Row | None:
    """Return the values of a changed line, if they could be those of a cell."""
    with suppress(RunError):
        return _row_of(columns, line)
    return None


def _was_whole(line: bytes) -> bool:
    """Return whether a line that does not fit its checksum was not just cut off, or filled up after a power cut."""
    return line.endswith(b"\n") and bool(line.strip(b"\0\n"))


def phrase(error: Exception) -> str:
    """Describe an error without the path."""
    if isinstance(error, FileNotFoundError):
        return "the file is missing"
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def first_line(path: Path) -> bytes:
    """Return the first line of a file with its end; empty where there is none."""
    try:
        with open_kept(path) as file:
            return file.readline(MOST_HEADER_NBYTES)
    except OSError:
        return b""  # reported when the rows are read


def without_damaged(attempt: Attempt) -> Attempt:
    """Return the attempt without the cells whose raw times or stamps are damaged, with the damages."""
    if any(mark["rows"] != "0" for mark in attempt.cells):
        try:
            attempt = _with_whole_rows(attempt)
        except (RunError, OSError) as error:
            marks = [mark for mark in attempt.cells if mark["rows"] == "0" or mark["state"] != "done"]
            damage = Damage(attempt.path(".csv"), phrase(error), attempt.launch)
            attempt = attempt._replace(cells=marks, damages=[*attempt.damages, damage])
    return _with_whole_stamps(attempt) if any(mark["stamps_crc32"] for mark in attempt.cells) else attempt


def _with_whole_rows(attempt: Attempt) -> Attempt:
    """Return the attempt with the cells whose rows are intact, wherever they are now. Raises RunError, OSError."""
    path = attempt.path(".csv")
    cells: list[Row] = []
    damages: list[Damage] = []
    with open_kept(path) as file:
        header = _header(file)
        present = checked_header(header.removesuffix(b"\n"), names(REPETITIONS))
        common = [name for name in COMMON if name in present]
        if not attempt.is_checked:
            return attempt
        begins: dict[bytes, int] | None = None  # offsets of the rows of each cell
        for mark in attempt.cells:
            if not _is_whole(file, mark, int(mark["rows_begin_nbytes"])):
                begins = _begins(file, len(common)) if begins is None else begins
                begin = begins.get(_beginning(csv_bytes([[mark[name] for name in common] + [""]]), len(common)), 0)
                if not _is_whole(file, mark, begin):
                    found = "the rows of a cell were changed" if begin else "the rows of a cell are lost"
                    damages.append(Damage(path, found, attempt.launch, mark))
                    continue
                mark = {**mark, "rows_begin_nbytes": str(begin)}
            cells.append(mark)
        surplus_nbytes = _surplus_nbytes(attempt, cells, len(header), os.fstat(file.fileno()).st_size)
    if surplus_nbytes and not damages and not attempt.damages:  # else they are part of that damage
        damages.append(Damage(path, f"{surplus_nbytes:,} bytes do not belong to any cell", attempt.launch))
    return attempt._replace(cells=cells, damages=[*attempt.damages, *damages])


def _is_whole(file: BufferedReader, mark: Row, begin: int) -> bool:
    """Return whether the rows at `begin` match the checksum of the mark."""
    file.seek(begin)
    return _checksum(file, int(mark["rows_nbytes"])) == mark["rows_crc32"]


def _checksum(file: BufferedReader, nbytes: int) -> str:
    """Return the checksum of the next `nbytes` bytes, or of all that are left."""
    value = 0
    while nbytes > 0 and (piece := file.read(min(nbytes, PIECE_NBYTES))):
        value = crc32(piece, value)
        nbytes -= len(piece)
    return f"{value:08x}"


def _begins(file: BufferedReader, fields: int) -> dict[bytes, int]:
    """Return the offset of the rows of each cell, by the first `fields` of its rows."""
    begins: dict[bytes, int] = {}
    position = 0
    file.seek(0)
    for line in file:
        begins.setdefault(_beginning(line, fields), position)
        position += len(line)
    return begins


def _beginning(line: bytes, fields: int) -> bytes:
    """Return the first `fields` of a row, which identify its cell."""
    return b",".join(line.split(b",", fields)[:fields])


def _surplus_nbytes(attempt: Attempt, cells: list[Row], begin: int, end: int) -> int:
    """Return the number of bytes that no cell accounts for, not counting those after the last mark of a killed
    attempt.
    """
    surplus, position = 0, begin
    for mark in sorted(cells, key=lambda mark: int(mark["rows_begin_nbytes"])):
        first, length = int(mark["rows_begin_nbytes"]), int(mark["rows_nbytes"])
        surplus += max(0, first - position)
        position = max(position, first + length)
    return surplus + (end - position if attempt.is_sealed else 0)


def _with_whole_stamps(attempt: Attempt) -> Attempt:
    """Return the attempt with the cells whose stamps are intact."""
    cells: list[Row] = []
    damages: list[Damage] = []
    for mark in attempt.cells:
        if not mark["stamps_crc32"]:
            cells.append(mark)
            continue
        path = attempt.launches / mark["stamps"]
        try:
            with open_kept(path) as file:
                is_whole = _checksum(file, os.fstat(file.fileno()).st_size) == mark["stamps_crc32"]
            found = "" if is_whole else "the file was changed"
        except OSError as error:
            found = phrase(error)
        if found:
            damages.append(Damage(path, found, attempt.launch, mark))
        else:
            cells.append(mark)
    return attempt._replace(cells=cells, damages=[*attempt.damages, *damages])


def blocks_of_cell(attempt: Attempt, mark: Row) -> Iterator[Block]:
    """Yield the rows of a whole cell, at most BLOCK_ROWS at once. Raises OSError, RunError."""
    path, columns = attempt.path(".csv"), names(REPETITIONS)
    place = f"{path}, {mark['algorithm']} {mark['nbytes']} B, row"
    with open_kept(path) as file:
        present = checked_header(_header(file)[:-1], columns)
        file.seek(int(mark["rows_begin_nbytes"]))
        yield from blocks_of(place, columns, present, _lines(file, int(mark["rows_nbytes"])))


def _header(file: BufferedReader) -> bytes:
    return file.readline(MOST_HEADER_NBYTES)


def _lines(file: BufferedReader, nbytes: int) -> Iterator[str]:
    """Yield the lines in the next `nbytes` bytes, as text."""
    while nbytes > 0 and (line := file.readline(nbytes)):
        nbytes -= len(line)
        yield line.decode(errors="replace")
