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
from allreduce_bench.runs.rows import RunError
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
