"""The CSV files of a run folder: a row as an object, its columns as `runs.schema` has them.

A field of the CSV that is empty is null; a flag is 0 or 1.
"""

from collections.abc import Sequence
from math import isfinite
from typing import Any

from ..rows import NEEDED
from ..schema import ALONE, CACHES, CELLS, KINDS, LATER, REPETITIONS, SCHEMA_VERSION, STATES, SUMMARY, TOGETHER, Column
from .build import Format, Schema, fields, number, or_null, schema_id, text, whole

MISSING = "missing"  # state in a summary of a cell that no launch has a row for
AMONG = {  # column -> all that it may say
    "state": STATES,
    "cache": CACHES,
    "groups": (TOGETHER, ALONE),
    "interval": ("launches", "repetitions", "range"),
    "standing": ("fastest", "equal", "unclear", "slower"),
    "grade": ("good", "provisional", "not reliable"),
}
LATER_IN_SUMMARY = frozenset(  # columns that a summary.csv of this version may lack: made before they came
    {"states", "state_low_s", "state_high_s", "doubt", "standing", "grade", "grade_reasons", "window", "run_whole"}
    | {"arrival", "late_by_s", "placement", "close_moves", "unknown_moves", "global_s", "looks"}
)
SIGNED = ("lag1",)  # what may be below 0 in every row


def row_schema(columns: Sequence[Column], never_empty: Sequence[str] = NEEDED, later: frozenset[str] = LATER) -> Schema:
    """The schema of a row with these columns; those that came `later` may be absent."""
    required = {column.name: _column_schema(column, column.name in never_empty) for column in columns}
    optional = {name: required.pop(name) for name in list(required) if name in later}
    return fields(required, optional)


def _column_schema(column: Column, never_empty: bool) -> Schema:
    unit = f"; unit: {column.unit}" if column.unit else ""
    among = AMONG.get(column.name, ())
    kinds = {
        "text": lambda: text(column.meaning + unit, *among),
        "whole": lambda: whole(column.meaning + unit),
        "real": lambda: number(column.meaning + unit, None if column.name in SIGNED else 0),
        "flag": lambda: whole(column.meaning + unit) | {"maximum": 1},
    }
    schema = kinds[column.kind]()
    return schema if never_empty or column.name == "state" else or_null(schema)


def _signed(schema: Schema) -> Schema:
    """The schema of calls: where a clock ran backwards, `valid` is 0 and times may be below 0."""
    names = [column.name for column in REPETITIONS if column.kind == "real"]
    properties = {name: {k: v for k, v in schema["properties"][name].items() if k != "minimum"} for name in names}
    valid = {"properties": {"valid": {"const": 0}}}
    not_negative = {"properties": {name: {"minimum": 0} for name in names}}
    return {**schema, "properties": schema["properties"] | properties, "if": valid, "else": not_negative}


def summary_schema(later: frozenset[str] = frozenset()) -> Schema:
    """The schema of a row of a summary, all columns there but for those that came `later`."""
    schema = row_schema(SUMMARY, ("ranks", "nbytes"), later)
    schema["properties"]["state"]["enum"] = [*STATES, MISSING]
    return schema


def typed_row(row: dict[str, str]) -> dict[str, Any]:
    """The values of a row of a CSV: numbers where their column says so, None for an empty field.

    What is no number stays text, as does what stands in a column that is not known.
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
        summary_schema(LATER_IN_SUMMARY),
        ("summary.csv",),
        is_csv=True,
    ),
)
