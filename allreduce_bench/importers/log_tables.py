"""Importers of tables that begin with one line, with facts and rows below: a declaration, as in `tools/ds_bench`."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from .lines import (
    NOISE,
    Log,
    LogLine,
    Place,
    is_allreduce,
    is_cut,
    launched_by,
    refuse_nothing,
    shown,
    warn_of_row,
)
from .row import Asked, Imported
from .tools import Importer

NUMBERED = re.compile(r"[|\s]*[0-9]")  # begins like a row
FACT = re.compile(r"[-\s]*([A-Za-z][\w ]*):\s+(\S.*)")  # `Datatype:   float32`


class LogTable(NamedTuple):
    """A table of an all-reduce, and what stands above it."""

    number: int
    head: re.Match  # the line that begins it
    above: list[str]  # the lines between it and the rows
    facts: dict[str, str]  # such as `Datatype: float32` there; names in small letters
    launched: int | None  # ranks by the launcher's line above
    rows: list[tuple[LogLine, re.Match]]


Fields = Callable[[LogTable, Place, dict[str, str]], dict[str, Any]]


def importer_of_tables(
    name: str,
    head: re.Pattern,
    row: re.Pattern,
    fields: Fields,
    *,
    title: str,
    definition: str,
    allreduce: str,
    begins: str = "",
) -> Importer:
    """Return the importer of tables; each table is a launch.

    `head`: begins a table, and names its collective in the first group. `row`: a row. `fields`: table, place and groups
    of a row -> fields of Imported; raises LogError. `definition`: what a time is. `allreduce` as in Importer. `begins`:
    a pattern by which a log is recognised; empty: `head`.
    """

    def read(log: Log, asked: Asked) -> list[Imported]:
        """Return the rows of all-reduces. Raises LogError: there are none, or a row makes no sense."""
        return [
            Imported(
                file=log.file,
                line=line.number,
                tool=title,
                launch=f"{log.file}, table {table.number}",
                time_definition=name,
                **fields(table, line.place, {group: text or "" for group, text in match.groupdict().items()}),
            )
            for table in tables_of(log, head, row)
            for line, match in table.rows
        ]

    return Importer(
        name=name,
        title=title,
        turn=60,
        recognises=lambda text: re.search(begins or head, text) is not None,
        read=read,
        definitions={name: definition},
        allreduce=allreduce,
    )


def tables_of(log: Log, head: re.Pattern, row: re.Pattern) -> list[LogTable]:
    """Return the tables of all-reduces that have rows.

    Half rows and a last row that is cut off are dropped with a warning. Raises LogError if there is no table.
    """
    tables, others = list[LogTable](), list[str]()
    table, width, launched = None, 0, None
    for line in log.lines:
        if match := head.search(line.text):
            table, width = None, 0
            if is_allreduce(match[1]):
                table = LogTable(len(tables) + 1, match, [], {}, launched, [])
                tables.append(table)
            else:
                others.append(match[1])
        elif started := launched_by(line.text):
            launched = started.processes
        elif table and (match := row.search(line.text)) and not is_cut(line, width):
            width = len(line.text)
            table.rows.append((line, match))
        elif table:
            if fact := FACT.fullmatch(line.text):
                table.facts[fact[1].lower()] = fact[2]
            elif NUMBERED.match(line.text) and not NOISE.match(line.text):
                warn_of_row(log.file, line, f"{shown(line.text)} is no whole row")
            if not table.rows:
                table.above.append(line.text)
    tables = [each for each in tables if each.rows]
    refuse_nothing(log, tables, others)
    return tables
