"""Validation of files against schemas; needs the package jsonschema (extra `schema`)."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from ...units import printable
from ..files import read_kept
from ..rows import BLOCK_ROWS
from .build import Format, Schema
from .folder import typed_row

MOST = 100  # violations reported per file
MOST_LETTERS = 60  # of a displayed value
WORDS = {
    "null": "null",
    "string": "text",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "array": "a list",
    "object": "an object",
}


class CheckError(RuntimeError):
    """A check that is impossible, in words."""


class Violation(NamedTuple):
    """A place that violates the schema."""

    file: str
    place: str  # `plan.sizes[0]`, `line 5, time_s`; empty: the whole document
    expected: str
    found: str

    def __str__(self) -> str:
        place = f", {self.place}" if self.place else ""
        return printable(f"{self.file}{place}: expected {self.expected}, found {self.found}")


def document_violations(format_: Format, content: bytes, file: str) -> Iterator[Violation]:
    """Yield the violations of `format_` in the content of a file, MOST at most. Raises CheckError: no jsonschema."""
    validator = _validator(format_.document())
    try:
        text = content.decode()
        found = _rows_violations(validator, text, file) if format_.is_csv else _of_json(validator, text, file)
        for number, violation in enumerate(found, start=1):
            yield violation
            if number == MOST:
                return
    except (ValueError, RecursionError, csv.Error) as error:
        yield Violation(file, "", "CSV in UTF-8" if format_.is_csv else "a JSON document", str(error))


def _format_of_columns(formats: Sequence[Format], content: bytes) -> Format | None:
    """Return the format of rows with the columns of the header, as `--format csv` prints them; None if unknown."""
    try:
        header = {*next(csv.reader([content.partition(b"\n")[0].decode(errors="replace")]), [])}
    except csv.Error:  # such as a line end within a word
        return None
    rows = (format_ for format_ in formats if format_.is_csv)
    return next((format_ for format_ in rows if {*format_.schema["required"]} <= header), None)


def folder_violations(formats: tuple[Format, ...], folder: Path) -> Iterator[tuple[Path, list[Violation]]]:
    """Yield each file of a run folder that some format describes, with its violations. Raises OSError, CheckError."""
    for format_ in formats:
        for path in sorted(path for pattern in format_.files for path in folder.glob(pattern)):
            yield path, list(document_violations(format_, read_kept(path), str(path)))


def format_of(formats: Sequence[Format], path: Path, content: bytes) -> Format | None:
    """Return the format of a file: by its place in a run folder, its `schema` or `kind`, or its columns;
    None: unknown.
    """
    by_place = [format_ for format_ in formats if any(path.absolute().match(pattern) for pattern in format_.files)]
    if by_place:
        return by_place[0]
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return _format_of_columns(formats, content)
    said = {name: value.get(name) for name in ("schema", "kind")} if isinstance(value, dict) else {}
    for format_ in formats:
        fixed = {name: rule.get("enum") for name, rule in format_.schema.get("properties", {}).items() if name in said}
        if any(enum and said[name] in enum for name, enum in fixed.items()):
            return format_
    return None


def _validator(schema: Schema) -> Any:
    try:
        from jsonschema import Draft202012Validator  # late: only this command needs it
    except ImportError as error:
        raise CheckError(
            f"--check needs the package jsonschema ({error}); install it: pip install 'allreduce-bench[schema]'"
        ) from error
    return Draft202012Validator(schema)


def _of_json(validator: Any, text: str, file: str) -> Iterator[Violation]:
    return _value_violations(validator, json.loads(text, parse_constant=_refuse), file, "")


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON number")


def _rows_violations(validator: Any, text: str, file: str) -> Iterator[Violation]:
    """Yield violations row by row; a last line that was cut off is left out, as by every reader."""
    reader = csv.reader(line for line in io.StringIO(text, newline="\n") if line.endswith("\n"))
    names = next(reader, [])
    if missing := [name for name in validator.schema["required"] if name not in names]:
        yield Violation(file, "line 1", f"the columns {', '.join(missing)}", f"{len(names)} other columns")
        return
    while block := [(reader.line_num, fields) for fields in islice(reader, BLOCK_ROWS)]:
        rows = {}
        for line, fields in block:
            if len(fields) != len(names):
                yield Violation(file, f"line {line}", f"{len(names)} fields", f"{len(fields)}")
            else:
                rows[line] = typed_row(dict(zip(names, fields)))
        if not _all_hold(validator, list(rows.values())):
            for line, row in rows.items():
                yield from _value_violations(validator, row, file, f"line {line}, ")


def _all_hold(validator: Any, rows: Sequence[dict[str, Any]]) -> bool:
    """Return True only if all rows are valid: tested column by column, ten times as fast as row by row.

    Columns of numbers have no other rule than a range, so that minimum and maximum stand for all.
    """
    otherwise = validator.schema.get("else", {}).get("properties", {})
    for name, schema in validator.schema["properties"].items():
        values = {row[name] for row in rows if name in row}
        numbers = [value for value in values if isinstance(value, int | float)]
        chosen = values.difference(numbers).union({min(numbers), max(numbers)} if numbers else ())
        column = validator.evolve(schema={**schema, **otherwise.get(name, {})})
        if not all(map(column.is_valid, chosen)):
            return False
    return True


def _value_violations(validator: Any, value: Any, file: str, place: str) -> Iterator[Violation]:
    if validator.is_valid(value):  # several times as fast as collecting errors
        return
    for path, what in sorted({(_path(error.absolute_path), _what(error)) for error in validator.iter_errors(value)}):
        yield Violation(file, (place + path).removesuffix(", "), *what)


def _path(parts: Any) -> str:
    """Format as `plan.sizes[0]`."""
    joined = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return joined.removeprefix(".")


def _what(error: Any) -> tuple[str, str]:
    """Return what was expected, and what was found."""
    rule, keyword, value = error.validator_value, error.validator, error.instance
    if keyword == "required":
        missing = [name for name in rule if name not in value]
        return f"the field{'s' if len(missing) > 1 else ''} {', '.join(missing)}", "none"
    if keyword == "additionalProperties":  # of closed schemas, in tests
        return "no field that the schema does not name", ", ".join(sorted(set(value) - set(error.schema["properties"])))
    expected = {
        "type": lambda: " or ".join(WORDS[name] for name in ([rule] if isinstance(rule, str) else rule)),
        "enum": lambda: f"one of {', '.join(map(_short, rule))}",
        "const": lambda: _short(rule),
        "minimum": lambda: f"{rule:g} or more",
        "maximum": lambda: f"{rule:g} or less",
        "minItems": lambda: f"{rule} items or more",
        "pattern": lambda: f"text like {rule.strip('^$')}",
        "anyOf": lambda: "an object of one of the kinds that the schema names",
    }
    return expected.get(keyword, lambda: f"what {keyword} says")(), _short(value)


def _short(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}..."
