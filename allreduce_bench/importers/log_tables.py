"""Tables of benchmarks that print one line, some facts and rows: what a new importer needs beside two patterns."""

import re
from typing import NamedTuple

from .lines import (
    NOISE,
    Log,
    LogLine,
    is_allreduce,
    is_cut,
    launched_by,
    listed,
    shown,
    warn_of_others,
    warn_of_row,
)
from .row import LogError

NUMBERED = re.compile(r"[|\s]*[0-9]")  # begins like a row
FACT = re.compile(r"[-\s]*([A-Za-z][\w ]*):\s+(\S.*)")  # `Datatype:   float32`


class LogTable(NamedTuple):
    """A table of an all-reduce, and what stands above it."""

    place: str  # `FILE, table 1`
    head: re.Match  # the line that begins it
    facts: dict[str, str]  # of the lines between, such as `Datatype: float32`; names in small letters
    launched: int | None  # ranks by the launcher's line above
    rows: list[tuple[LogLine, re.Match]]


def tables_of(log: Log, head: re.Pattern, row: re.Pattern) -> list[LogTable]:
    """Return the tables of all-reduces that have rows: those whose `head` names one in its first group.

    Half rows and a last row that is cut off are dropped with a warning. Raises LogError if there is no table.
    """
    tables, others = list[LogTable](), list[str]()
    table, width, launched = None, 0, None
    for line in log.lines:
        if match := head.search(line.text):
            table, width = None, 0
            if is_allreduce(match[1]):
                table = LogTable(f"{log.file}, table {len(tables) + 1}", match, {}, launched, [])
                tables.append(table)
            else:
                others.append(match[1])
        elif started := launched_by(line.text):
            launched = started.processes
        elif table and (match := row.search(line.text)) and not is_cut(line, width):
            width = len(line.text)
            table.rows.append((line, match))
        elif table and (fact := FACT.fullmatch(line.text)):
            table.facts[fact[1].lower()] = fact[2]
        elif table and NUMBERED.match(line.text) and not NOISE.match(line.text):
            warn_of_row(log.file, line, f"{shown(line.text)} is no whole row")
    if not any(each.rows for each in tables):
        what = f"found: {listed(dict.fromkeys(others))}" if others else "the table is empty"
        raise LogError(f"{log.file}, line {log.lines[-1].number}: no row of an all-reduce up to here; {what}")
    warn_of_others(log.file, others)
    return [each for each in tables if each.rows]
