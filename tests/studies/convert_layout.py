"""Convert runs that name a cell by algorithm and executor to runs that name it by its competitor: seconds.

    python tests/studies/convert_layout.py results/old results/new

Reads layouts 3 to 5, checks nothing, and makes all checksums anew; times are copied as they are written. The window of
pipelined cells stands in the plan alone. summary.csv is made anew.
"""

import argparse
import csv
import io
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.runs.competitor import COMPILED, FLOOR_PREFIX, FORCED_PREFIX, GLOO, NATIVE, NATIVES, WAYS
from allreduce_bench.runs.folder import RunFolder
from allreduce_bench.runs.recorder import field_values, mark_line, write_summary
from allreduce_bench.runs.rows import csv_bytes
from allreduce_bench.runs.schema import CELLS, REPETITIONS, Column, checksum, first_link, names
from allreduce_bench.runs.typed_json import checked_json

Row = dict[str, str]


def convert(old: Path, new: Path) -> RunFolder:
    """Write the run in `old` to the folder `new`, which must not exist."""
    shutil.copytree(old, new)
    folder = RunFolder(new)
    content = json.loads(folder.run_json.read_text())
    content["plan"] = _plan_of(content["plan"])
    folder.run_json.write_bytes(checked_json(content) if "crc32" in content else _plain_json(content))
    for facts_json in sorted(folder.launches.glob("*.json")):
        _convert_attempt(folder, facts_json)
    write_summary(folder, summarise(folder))
    return folder


def competitor_of(algorithm: str, executor: str) -> str:
    """Return the name of the competitor."""
    if executor == "floor":
        return FLOOR_PREFIX + algorithm
    return f"{algorithm}@{executor}" if executor in WAYS[1:] else algorithm


def _plan_of(plan: Mapping) -> dict:
    executors = plan.get("executors", WAYS[:1])
    competitors = [each for name in plan["algorithms"] for each in _competitors(name, executors, plan["algorithms"])]
    kept = {name: value for name, value in plan.items() if name not in ("algorithms", "executors")}
    return {"competitors": competitors, **kept}


def _competitors(algorithm: str, executors: Sequence[str], algorithms: Sequence[str]) -> Iterator[str]:
    """Yield the competitors of an algorithm: native is called as the others beside it."""
    if algorithm == NATIVE:
        by_name = any(name.startswith(FORCED_PREFIX) or name == GLOO for name in algorithms)
        if by_name or not {*executors} <= {*COMPILED}:
            yield NATIVES[0]
        if not {*executors}.isdisjoint(COMPILED):
            yield NATIVES[1]
    elif algorithm.startswith(FORCED_PREFIX):
        yield algorithm
    else:
        yield from (competitor_of(algorithm, executor) for executor in executors)


def _convert_attempt(folder: RunFolder, facts_json: Path) -> None:
    facts = json.loads(facts_json.read_text())
    cells_csv, rows_csv = facts_json.with_suffix(".cells.csv"), facts_json.with_suffix(".csv")
    old_rows, old_marks = rows_csv.read_bytes(), cells_csv.read_bytes()
    row_columns, mark_columns = _columns(old_rows, REPETITIONS), _columns(old_marks, CELLS)
    headers = csv_bytes([names(row_columns)]), csv_bytes([names(mark_columns)])
    if "follows" not in names(mark_columns):  # layout 3
        rows_csv.write_bytes(headers[0] + _lines(row_columns, _rows(old_rows)))
        cells_csv.write_bytes(headers[1] + _lines(mark_columns, _rows(old_marks)))
        return
    rows, marks = headers
    last = first_link(b"".join(headers), facts["launch"], facts["attempt"], folder.run_crc32)
    header = old_rows.partition(b"\n")[0] + b"\n"
    for mark in _rows(old_marks):
        begin = int(mark["rows_begin_nbytes"])
        own = _lines(row_columns, _rows(header + old_rows[begin : begin + int(mark["rows_nbytes"])]))
        kept = {"rows_begin_nbytes": len(rows), "rows_nbytes": len(own), "rows_crc32": checksum(own), "follows": last}
        line, last = mark_line({**mark, **kept}, folder.run_crc32, mark_columns)
        rows, marks = rows + own, marks + line
    rows_csv.write_bytes(rows)
    cells_csv.write_bytes(marks)
    facts |= {"last_mark_crc32": last} if "last_mark_crc32" in facts else {}
    facts_json.write_bytes(checked_json({**facts, "run_crc32": folder.run_crc32}))


def _plain_json(content: Mapping) -> bytes:
    return f"{json.dumps(content, indent=1)}\n".encode()


def _columns(content: bytes, known: Sequence[Column]) -> list[Column]:
    """Return the columns that the file will have."""
    present = {"competitor", *content.partition(b"\n")[0].decode().split(",")}
    return [column for column in known if column.name in present]


def _rows(content: bytes) -> Iterator[Row]:
    """Yield the rows of a file, with their competitors."""
    for row in csv.DictReader(io.StringIO(content.decode(), newline="")):
        yield {**row, "competitor": competitor_of(row["algorithm"], row["executor"])}


def _lines(columns: Sequence[Column], rows: Iterator[Row]) -> bytes:
    return csv_bytes([field_values(columns, row) for row in rows])


def main() -> None:
    """Convert a run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    asked = parser.parse_args()
    convert(asked.old, asked.new)


if __name__ == "__main__":
    main()
