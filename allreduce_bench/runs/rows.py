"""The rows of a run's CSV files, read back and held against what their columns say."""

import csv
from collections.abc import Iterator
from itertools import islice
from math import isfinite
from pathlib import Path

from .schema import KINDS, LATER, SCHEMA_VERSION, STATES

Row = dict[str, str]
Block = dict[str, tuple[str, ...]]  # consecutive rows, column by column
NEEDED = ("ranks", "nbytes", "time_s")  # never empty
BLOCK_ROWS = 512  # read at once: enough to handle them by columns, few enough to stay in the caches


class RunError(ValueError):
    """A folder that cannot be read as a run, in words."""


def read_rows(path: Path, columns: list[str]) -> list[Row]:
    """The rows of a CSV file; a last line that was cut off is left out. Raises RunError for other columns.

    A column that came later is empty where the file lacks it.
    """
    return [dict(zip(block, fields)) for block in read_blocks(path, columns) for fields in zip(*block.values())]


def read_blocks(path: Path, columns: list[str]) -> Iterator[Block]:
    """What `read_rows` gives, at most BLOCK_ROWS rows at once. Raises RunError."""
    with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
        reader = csv.reader(line for line in file if line.endswith("\n"))
        try:
            header = next(reader, columns)
            lacks = LATER.difference(header)
            if header != [name for name in columns if name not in lacks]:
                raise RunError(
                    f"{path}: damaged: its columns are not those of schema version {SCHEMA_VERSION}: {','.join(header)}"
                )
            while rows := [(reader.line_num, fields) for fields in islice(reader, BLOCK_ROWS)]:
                block = _block(path, header, rows)
                yield {name: block.get(name, ("",) * len(rows)) for name in columns} if lacks else block
        except csv.Error as error:
            raise RunError(f"{path}, line {reader.line_num}: damaged: {error}") from error


def _block(path: Path, columns: list[str], rows: list[tuple[int, list[str]]]) -> Block:
    """Rows, each after the number of its last line, column by column. Raises RunError."""
    block = dict(zip(columns, map(_as_one_object, zip(*(fields for _, fields in rows)))))
    complete = {len(fields) for _, fields in rows} == {len(columns)}
    if not complete or not all(_all_fit(name, values) for name, values in block.items()):
        for line, fields in rows:
            _refuse_damage(f"{path}, line {line}", columns, fields)
    return block


def _refuse_damage(position: str, columns: list[str], fields: list[str]) -> None:
    """Raises RunError where a row does not hold what its columns say."""
    if len(fields) != len(columns):
        raise RunError(f"{position}: damaged: {len(fields)} fields, expected {len(columns)}")
    row = dict(zip(columns, fields))
    signed = row.get("valid") == "0"  # a clock that ran backwards
    for name, value in row.items():
        if not _fits(name, value, signed):
            raise RunError(f"{position}: damaged: {name} is '{value}'")


def _as_one_object(values: tuple[str, ...]) -> tuple[str, ...]:
    """`values`, as one object where they are all equal, as most columns are: compared and kept for less."""
    return values[:1] * len(values) if values.count(values[0]) == len(values) else values


def _all_fit(name: str, values: tuple[str, ...]) -> bool:
    """Whether surely all values of a column hold what it says: the same question as `_fits`, answered at once."""
    if KINDS[name] != "real":
        return all(_fits(name, value, False) for value in set(values))
    if name in NEEDED and not all(values):
        return False
    try:
        numbers = list(map(float, filter(None, values)))
    except ValueError:
        return False
    return all(map(isfinite, numbers)) and min(numbers, default=0) >= 0


def _fits(name: str, value: str, signed: bool) -> bool:
    """Whether a field holds what its column says; most may be empty. Times are negative only where `signed`."""
    if name == "state":
        return value in STATES
    if not value:
        return name not in NEEDED
    kind = KINDS[name]
    if kind == "text":
        return True
    try:
        if kind == "real":
            return isfinite(float(value)) and (signed or float(value) >= 0)
        return int(value) >= 0
    except ValueError:
        return False
