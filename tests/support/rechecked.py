"""Files of runs that a test changes on purpose: their checksums are made anew, so that only the change is left."""

import csv
import io
import json
from contextlib import suppress
from pathlib import Path
from zlib import crc32

from allreduce_bench.runs.attempt import CELL_OF_CALL, HEADERS, mark_line, seed_of
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.recorder import mark_of
from allreduce_bench.runs.rows import RunError, csv_bytes
from allreduce_bench.runs.typed_json import checked_json


def change_json(path: Path, **changes) -> None:
    """Replace fields of a JSON file with a checksum; where it is run.json, the launches are then of this run."""
    path.write_bytes(checked_json({**json.loads(path.read_text()), **changes}))
    if path.name == "run.json":
        with suppress(RunError):  # it was changed so that it cannot be read
            recheck(RunFolder(path.parent))


def recheck(folder: RunFolder) -> None:
    """Make the marks and the seals of all attempts anew, for the cells and calls that are there now."""
    for path in folder.launches.glob("*.cells.csv"):
        _recheck_attempt(folder, path, path.with_name(path.name.replace(".cells.csv", ".calls.csv")))


def _recheck_attempt(folder: RunFolder, path: Path, calls: Path) -> None:
    launch, attempt, _ = path.name.split(".", 2)
    rows = calls.read_bytes().splitlines(keepends=True)[1:]
    marks = list(csv.DictReader(io.StringIO(path.read_text(), newline="")))
    content = HEADERS[1]
    for mark in marks:
        cell = [*mark.values()][:1] + [mark["size_bytes"]]
        own = [row for row in rows if next(csv.reader([row.decode()]))[:CELL_OF_CALL] == cell]
        seed = crc32(b"".join(own), seed_of(folder.run_crc32, launch, int(attempt)))
        content += mark_line(mark_of({**mark, "calls": len(own)}), seed)
    path.write_bytes(content)
    change_json(path.with_name(f"{launch}.{attempt}.json"), run_crc32=folder.run_crc32, cells=len(marks))


def drop_columns(folder: RunFolder, *dropped: str) -> None:
    """Write the files of all attempts as a version without these columns did."""
    for path in folder.launches.glob("*.cells.csv"):
        calls = path.with_name(path.name.replace(".cells.csv", ".calls.csv"))
        tables = [list(csv.DictReader(io.StringIO(file.read_text(), newline=""))) for file in (calls, path)]
        for row in (row for table in tables for row in table):
            for name in dropped:
                row.pop(name, None)
        headers = [csv_bytes([list(table[0])]) for table in tables]
        launch, attempt, _ = path.name.split(".", 2)
        seed, content = seed_of(folder.run_crc32, launch, int(attempt), headers), headers[1]
        rows = [(list(row.values())[:CELL_OF_CALL], csv_bytes([list(row.values())])) for row in tables[0]]
        for mark in tables[1]:
            own = b"".join(row for cell, row in rows if cell == [mark["competitor"], mark["size_bytes"]])
            line = csv_bytes([[*list(mark.values())[:-1], ""]])[:-1]
            content += line + f"{crc32(line, crc32(own, seed)):08x}\n".encode()
        calls.write_bytes(headers[0] + b"".join(row for _, row in rows))
        path.write_bytes(content)
