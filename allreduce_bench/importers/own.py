"""What `run --format nccl` and `run --format osu` print: the layouts of others with our own times.

time_s is the median over launches of the median over calls of the maximum over ranks. The titles of the tables name
algorithm, executor, ranks and nodes; the comments below them the cells without a time.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..runs.schema import STATES
from ..units import parse_size
from .lines import Line, dropped
from .nccl import HALF, PLAIN, half_of, parsed
from .osu import FULL, table_rows
from .row import NATIVE, Imported, LogError
from .values import dtype_of, printable, ranks_of, shown, whole

TOOL = "allreduce-bench"
BANNER = re.compile(r"#\s*allreduce-bench (\S+), in the layout of (nccl-tests|osu_allreduce)")
TITLE = re.compile(r"#\s*algorithm (\S+?)(?: \((\w+)\))?, ([0-9]+) ranks?\b(.*)")
MISSING = re.compile(r"#\s*([0-9.]+ (?:B|KiB|MiB|GiB)): (\w[\w ]*): (.*)")
DATATYPE = re.compile(r"#\s*Datatype: (\w+)")
OP = re.compile(r", op (\w+), hosts: (.*)")
LIBRARY = re.compile(r"#\s*(.+?)(?:, op \w+)?, hosts: (.*)")
DEFINITION = "max_local"  # the start of the calls is not said


def is_own(text: str) -> bool:
    """Whether this is such a result."""
    return BANNER.search(text) is not None


def read_own(file: str, lines: Sequence[Line]) -> list[Imported]:
    """All cells. Raises LogError: there are none, or a row makes no sense."""
    rows: list[Imported] = []
    version = layout = None
    said: dict[str, Any] = {}
    title: dict[str, Any] | None = None
    for line in lines:
        if match := BANNER.search(line.text):
            version, layout, said, title = match[1], match[2], {}, None
        elif match := TITLE.match(line.text):
            title = _titled(match, file, line)
        elif match := DATATYPE.match(line.text):
            said["dtype"] = dtype_of(match[1])
        elif match := LIBRARY.match(line.text):
            said["facts"] = {"mpi": {"library": match[1]}}
            said |= {"op": match[1]} if (match := OP.search(line.text)) else {}
        elif title and layout:
            common = {"file": file, "tool": TOOL, "version": version, "launch": file, "in_place": False}
            common["time_definition"] = DEFINITION
            rows += [Imported(**{**common, **said, **title, **row}) for row in _rows(file, line, layout)]
    if not rows:
        raise LogError(
            f"{file}, line {lines[-1].number}: no cell up to here; expected tables of 'run --format {layout}'"
        )
    return [replace(row, **{name: getattr(row, name) or _one(rows, name) for name in ("dtype", "op")}) for row in rows]


def _one(rows: Sequence[Imported], name: str) -> Any:
    """What the rows say of a run, which has one type and one operation: cells without a time say nothing."""
    return next((value for row in rows if (value := getattr(row, name))), None)


def _titled(match: re.Match, file: str, line: Line) -> dict[str, Any] | None:
    """What the title of a table says; None for groups, whose times are not those of one all-reduce."""
    algorithm, executor, ranks, rest = match.groups()
    if "at the same time" in rest:
        dropped(file, line, "a table of --groups")
        return None
    place = f"{file}, line {line.number}"
    nodes = re.search(r"\bon ([0-9]+) node", rest)
    return {
        "algorithm": printable(algorithm),
        "executor": executor or NATIVE,
        "ranks": ranks_of(ranks, place),
        "nodes": whole(nodes[1], "the number of nodes", place, 1) if nodes else None,
        "cache": "cold" if rest.endswith("cold cache") else "warm",
    }


def _rows(file: str, line: Line, layout: str) -> Iterator[dict[str, Any]]:
    """The fields of Imported that a line holds, if it is a row or names a cell without a time."""
    if match := MISSING.match(line.text):
        size, state, reason = match.groups()
        if state in STATES:
            yield {"line": line.number, "nbytes": parse_size(size), "state": state, "reason": printable(reason)}
    elif line.text[:1].strip() and not line.text[:1].isdigit() or not line.text.strip():
        return
    elif layout == "osu_allreduce":
        for row in table_rows(file, FULL, [line]):
            yield {
                name: row[name]
                for name in ("line", "nbytes", "times_s", "iterations", "state", "reason")
                if name in row
            }
    elif found := parsed(line, HALF):
        fields = half_of(file, found, PLAIN, False)
        yield {name: value for name, value in (fields or {}).items() if name not in ("time_definition", "nccl_tests_s")}
    else:
        dropped(file, line, f"{shown(line.text)} is no whole row")
