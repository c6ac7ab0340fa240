"""The schemas of the CSV files of a run folder: a row as an object, with the columns of `runs.schema`.

An empty field of the CSV is null; a flag is 0 or 1.
"""

from collections.abc import Sequence
from math import isfinite
from typing import Any

from ..schema import CELLS, KINDS, REPETITIONS, SCHEMA_VERSION, SUMMARY, Column
from .build import Format, Schema, fields, number, or_null, schema_id, text, whole


def row_schema(columns: Sequence[Column], later_needed: bool = False) -> Schema:
    """Return the schema of a row with these columns; later ones may be absent, unless `later_needed`."""
    required = {column.name: _column_schema(column) for column in columns}
    later = [] if later_needed else [column.name for column in columns if column.later]
    optional = {name: required.pop(name) for name in later}
    return fields(required, optional)


def _column_schema(column: Column) -> Schema:
    meaning = column.meaning + (f"; unit: {column.unit}" if column.unit else "")
    kinds = {
        "text": lambda: text(meaning, *column.words),
        "whole": lambda: whole(meaning),
        "real": lambda: number(meaning, None if column.signed else 0),
        "flag": lambda: whole(meaning) | {"maximum": 1},
    }
    schema = kinds[column.kind]()
    return schema if column.never_empty else or_null(schema)


def _signed(schema: Schema) -> Schema:
    """Return the schema of calls that allows negative times if `valid` is 0: a clock ran backwards."""
    names = [column.name for column in REPETITIONS if column.kind == "real"]
    properties = {name: {k: v for k, v in schema["properties"][name].items() if k != "minimum"} for name in names}
    valid = {"properties": {"valid": {"const": 0}}}
    not_negative = {"properties": {name: {"minimum": 0} for name in names}}
    return {**schema, "properties": schema["properties"] | properties, "if": valid, "else": not_negative}


def typed_row(row: dict[str, str]) -> dict[str, Any]:
    """Return the values of a row of a CSV: numbers in columns of numbers, None for an empty field.

    Invalid numbers, and values of unknown columns, stay text.
    """
    return {name: _typed(KINDS.get(name, "text"), value) for name, value in row.items()}


def _typed(kind: str, value: str) -> Any:
    if not value or kind == "text":
        return value or None
    try:
        number = float(value) if kind == "real" else int(value)
    except ValueError:
        return value
    return number if isfinite(number) else value


FORMATS = (
    Format(
        schema_id("calls", SCHEMA_VERSION),
        "a row of launches/*.csv: one call, warm-ups marked",
        _signed(row_schema(REPETITIONS)),
        ("launches/*[0-9].csv",),
        is_csv=True,
    ),
    Format(
        schema_id("cells", SCHEMA_VERSION),
        "a row of launches/*.cells.csv: a cell that a launch has ended",
        row_schema(CELLS),
        ("launches/*.cells.csv",),
        is_csv=True,
    ),
    Format(
        schema_id("summary", SCHEMA_VERSION),
        "a row of summary.csv: a cell over all its launches",
        row_schema(SUMMARY),
        ("summary.csv",),
        is_csv=True,
    ),
)
