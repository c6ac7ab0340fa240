"""Rows of a run's CSV files, read back and validated against their columns."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from math import inf, isfinite

from .schema import KINDS, NEEDED, STATES
from .typed_json import LARGEST

Row = dict[str, str]
Block = dict[str, tuple[str, ...]]  # consecutive rows, column by column
LONGEST_S, SHORTEST_S = 1e9, 1e-12  # limits of valid times, except 0: values computed of them must be finite
BLOCK_ROWS = 512  # read at once: enough to handle them by columns, few enough to stay in the caches


class RunError(ValueError):
    """A folder that cannot be read as a run, in words."""


def blocks_of(place: str, columns: list[str], lines: Iterable[str]) -> Iterator[Block]:
    """Yield the rows in `lines`, at most BLOCK_ROWS at once. Raises RunError with `place` and the line."""
    reader = csv.reader(lines)
    try:
        while rows := [(reader.line_num, fields) for fields in islice(reader, BLOCK_ROWS)]:
            yield _block(place, columns, rows)
    except csv.Error as error:
        raise RunError(f"{place} {reader.line_num}: damaged: {error}") from error


def checked_row(columns: list[str], fields: list[str]) -> Row:
    """Return the row of these fields. Raises RunError if one does not fit its column."""
    if len(fields) != len(columns):
        raise RunError(f"{len(fields)} fields, expected {len(columns)}")
    row = dict(zip(columns, fields))
    signed = row.get("valid") == "0"  # a clock that ran backwards
    for name, value in row.items():
        if not _fits(name, value, signed):
            raise RunError(f"{name} is '{value:.60}'")
    return row


def _block(place: str, columns: list[str], rows: list[tuple[int, list[str]]]) -> Block:
    """Return rows, each given with the number of its last line, column by column. Raises RunError."""
    block = dict(zip(columns, map(_as_one_object, zip(*(fields for _, fields in rows)))))
    complete = {len(fields) for _, fields in rows} == {len(columns)}
    if not complete or not all(_all_fit(name, values) for name, values in block.items()):
        for line, fields in rows:
            try:
                checked_row(columns, fields)
            except RunError as error:
                raise RunError(f"{place} {line}: damaged: {error}") from error
    return block


def _as_one_object(values: tuple[str, ...]) -> tuple[str, ...]:
    """Return `values`, sharing one object if they are all equal, as in most columns: cheaper to compare and keep."""
    return values[:1] * len(values) if values.count(values[0]) == len(values) else values


def _all_fit(name: str, values: tuple[str, ...]) -> bool:
    """Return True only if all values fit the column: `_fits` for a whole column at once."""
    if KINDS.get(name) != "real":
        return all(_fits(name, value, False) for value in set(values))
    if name in NEEDED and not all(values):
        return False
    try:
        numbers = list(map(float, filter(None, values)))
    except ValueError:
        return False
    if not all(map(isfinite, numbers)) or min(numbers, default=0) < 0:
        return False
    shortest_s = SHORTEST_S if name == "time_s" else 0
    limit = LONGEST_S if name.endswith("_s") else inf
    return max(numbers, default=0) <= limit and min(filter(None, numbers), default=shortest_s) >= shortest_s


def _fits(name: str, value: str, signed: bool) -> bool:
    """Return whether a field fits its column; most may be empty. Times are negative only if `signed`."""
    if name == "state":
        return value in STATES
    if not value:
        return name not in NEEDED
    kind = KINDS.get(name, "text")
    if kind == "text":
        return True
    try:
        if kind == "real":
            return _is_real(name, float(value), signed)
        return 0 <= int(value) < LARGEST
    except ValueError:
        return False


def _is_real(name: str, number: float, signed: bool) -> bool:
    if not isfinite(number) or (number < 0 and not signed):
        return False
    if name.endswith("_s") and abs(number) > LONGEST_S:
        return False
    return name != "time_s" or number == 0 or abs(number) >= SHORTEST_S


def csv_bytes(rows: Iterable[Sequence]) -> bytes:
    """Return the lines of a CSV file."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue().encode()
