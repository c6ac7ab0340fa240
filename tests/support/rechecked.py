"""Files of runs that a test changes on purpose: their checksums are made anew, so that only the change is left."""

import csv
import io
import json
from contextlib import suppress
from pathlib import Path

from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.recorder import mark_line
from allreduce_bench.runs.rows import RunError
from allreduce_bench.runs.schema import CELLS, checksum, first_link, names
from allreduce_bench.runs.typed_json import checked_json

COMMON = 13  # columns that tell a cell from the others, which both tables begin with


def change_json(path: Path, **changes) -> None:
    """Replace fields of a JSON file with a checksum; where it is run.json, the launches are then of this run."""
    path.write_bytes(checked_json({**json.loads(path.read_text()), **changes}))
    if path.name == "run.json":
        with suppress(RunError):  # it was changed so that it cannot be read
            recheck(RunFolder(path.parent))


def recheck(folder: RunFolder) -> None:
    """Make the marks and the seals of all attempts anew, for the cells and rows that are there now."""
    for path in folder.launches.glob("*.cells.csv"):
        if json.loads(path.with_name(path.name.replace(".cells.csv", ".json")).read_text())["schema_version"] >= 4:
            _recheck_attempt(path, path.with_name(path.name.replace(".cells.csv", ".csv")))


def _recheck_attempt(path: Path, rows_path: Path) -> None:
    header, *rows = rows_path.read_bytes().splitlines(keepends=True)
    content, begin = (",".join(names(CELLS)) + "\n").encode(), len(header)
    launch, attempt, _ = path.name.split(".", 2)
    run_crc32 = RunFolder(path.parents[1]).run_crc32
    last = first_link(header + content, launch, int(attempt), run_crc32)
    marks = list(csv.DictReader(io.StringIO(path.read_text(), newline="")))
    for mark in marks:
        cell = [mark[name] for name in names(CELLS)[:COMMON]]
        own = [row for row in rows if row.decode().split(",")[:COMMON] == cell]
        mark |= {"rows": len(own), "rows_begin_nbytes": begin, "rows_nbytes": len(b"".join(own))}
        line, last = mark_line({**mark, "rows_crc32": checksum(b"".join(own)), "follows": last}, run_crc32)
        content, begin = content + line, begin + mark["rows_nbytes"]
    path.write_bytes(content)
    change_json(path.with_name(f"{launch}.{attempt}.json"), run_crc32=run_crc32, marks=len(marks), last_mark_crc32=last)
