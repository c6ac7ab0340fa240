"""The rows of an attempt's cells, held against the checksums that their marks hold, and read."""

import os
from collections.abc import Iterator
from io import BufferedReader
from itertools import takewhile
from zlib import crc32

from .careful_reading import open_kept
from .chain import MOST_HEADER_NBYTES, Attempt, Damage, phrase
from .rows import Block, Row, RunError, blocks_of, checked_header, csv_bytes
from .schema import CELLS, REPETITIONS, names

PIECE_NBYTES = 2**20  # read at once
COMMON = [
    row.name for row, _ in takewhile(lambda pair: pair[0] == pair[1], zip(REPETITIONS, CELLS))
]  # begin both lines


def without_damaged(attempt: Attempt) -> Attempt:
    """The attempt without the cells whose raw times or stamps are not as they were written, and what was found."""
    if any(mark["rows"] != "0" for mark in attempt.cells):
        try:
            attempt = _with_whole_rows(attempt)
        except (RunError, OSError) as error:
            marks = [mark for mark in attempt.cells if mark["rows"] == "0" or mark["state"] != "done"]
            damage = Damage(attempt.path(".csv"), phrase(error), attempt.launch)
            attempt = attempt._replace(cells=marks, damages=[*attempt.damages, damage])
    return _with_whole_stamps(attempt) if any(mark["stamps_crc32"] for mark in attempt.cells) else attempt


def blocks_of_cell(attempt: Attempt, mark: Row) -> Iterator[Block]:
    """The rows of a whole cell, at most BLOCK_ROWS at once. Raises OSError, RunError."""
    path, columns = attempt.path(".csv"), names(REPETITIONS)
    place = f"{path}, {mark['algorithm']} {mark['nbytes']} B, row"
    with open_kept(path) as file:
        present = checked_header(_header(file)[:-1], columns)
        file.seek(int(mark["rows_begin_nbytes"]))
        yield from blocks_of(place, columns, present, _lines(file, int(mark["rows_nbytes"])))


def _lines(file: BufferedReader, nbytes: int) -> Iterator[str]:
    """The lines in the next bytes."""
    while nbytes > 0 and (line := file.readline(nbytes)):
        nbytes -= len(line)
        yield line.decode(errors="replace")


def _header(file: BufferedReader) -> bytes:
    return file.readline(MOST_HEADER_NBYTES)


def _with_whole_rows(attempt: Attempt) -> Attempt:
    """The attempt with the cells whose rows are whole, wherever they stand now. Raises RunError, OSError."""
    path = attempt.path(".csv")
    cells: list[Row] = []
    damages: list[Damage] = []
    with open_kept(path) as file:
        header = _header(file)
        present = checked_header(header.removesuffix(b"\n"), names(REPETITIONS))
        common = [name for name in COMMON if name in present]
        if not attempt.is_checked:
            return attempt
        begins: dict[bytes, int] | None = None  # of the rows of each cell
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
    if surplus_nbytes and not damages and not attempt.damages:  # which it would be a part of
        damages.append(Damage(path, f"{surplus_nbytes:,} bytes do not belong to any cell", attempt.launch))
    return attempt._replace(cells=cells, damages=[*attempt.damages, *damages])


def _is_whole(file: BufferedReader, mark: Row, begin: int) -> bool:
    """Whether the rows that stand there are those of the mark."""
    file.seek(begin)
    return _checksum(file, int(mark["rows_nbytes"])) == mark["rows_crc32"]


def _checksum(file: BufferedReader, nbytes: int) -> str:
    """That of the next bytes; where there are fewer, of these."""
    value = 0
    while nbytes > 0 and (piece := file.read(min(nbytes, PIECE_NBYTES))):
        value = crc32(piece, value)
        nbytes -= len(piece)
    return f"{value:08x}"


def _begins(file: BufferedReader, fields: int) -> dict[bytes, int]:
    """Where the rows of each cell begin, by the first `fields` of its rows."""
    begins: dict[bytes, int] = {}
    position = 0
    file.seek(0)
    for line in file:
        begins.setdefault(_beginning(line, fields), position)
        position += len(line)
    return begins


def _beginning(line: bytes, fields: int) -> bytes:
    """The first `fields` of a row, which tell a cell from the others."""
    return b",".join(line.split(b",", fields)[:fields])


def _surplus_nbytes(attempt: Attempt, cells: list[Row], begin: int, end: int) -> int:
    """How many bytes no cell accounts for; what follows the last mark of an attempt that was killed is not counted."""
    surplus, position = 0, begin
    for mark in sorted(cells, key=lambda mark: int(mark["rows_begin_nbytes"])):
        first, length = int(mark["rows_begin_nbytes"]), int(mark["rows_nbytes"])
        surplus += max(0, first - position)
        position = max(position, first + length)
    return surplus + (end - position if attempt.is_sealed else 0)


def _with_whole_stamps(attempt: Attempt) -> Attempt:
    """The attempt with the cells whose stamps are whole."""
    cells: list[Row] = []
    damages: list[Damage] = []
    for mark in attempt.cells:
        if not mark["stamps_crc32"]:
            cells.append(mark)
            continue
        path = attempt.launches / mark["stamps"]
        try:
            with open_kept(path) as file:
                found = (
                    ""
                    if _checksum(file, os.fstat(file.fileno()).st_size) == mark["stamps_crc32"]
                    else "the file was changed"
                )
        except OSError as error:
            found = phrase(error)
        if found:
            damages.append(Damage(path, found, attempt.launch, mark))
        else:
            cells.append(mark)
    return attempt._replace(cells=cells, damages=[*attempt.damages, *damages])
