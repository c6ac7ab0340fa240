"""Rows of a run's CSV files, validated against their columns."""

import csv
import io
from collections.abc import Iterable, Sequence
from math import inf

from .schema import KINDS, NEEDED, STATES

Row = dict[str, str]
LONGEST_S = 1e9  # of a time: values computed of it must be finite
LARGEST = 2**63  # magnitude of a number; what is computed from less fits into a float


class RunError(ValueError):
    """A folder that cannot be read as a run, in words."""


def checked_row(columns: list[str], fields: list[str]) -> Row:
    """Return the row of these fields. Raises RunError if one does not fit its column."""
    if len(fields) != len(columns):
        raise RunError(f"{len(fields)} fields, expected {len(columns)}")
    row = dict(zip(columns, fields))
    for name, value in row.items():
        if not _fits(name, value):
            raise RunError(f"{name} is '{value:.60}'")
    return row


def _fits(name: str, value: str) -> bool:
    """Return whether a field fits its column; most may be empty."""
    if name == "state":
        return value in STATES
    if not value:
        return name not in NEEDED
    kind = KINDS.get(name, "text")
    if kind == "text":
        return True
    try:
        if kind == "real":
            return 0 <= float(value) <= LONGEST_S if name.endswith("_s") else 0 <= float(value) < inf
        return 0 <= int(value) < LARGEST
    except ValueError:
        return False


def csv_bytes(rows: Iterable[Sequence]) -> bytes:
    """Return the lines of a CSV file."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue().encode()
