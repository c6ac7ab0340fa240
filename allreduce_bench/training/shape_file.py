"""The tensors of a user's own model: a line each, `name shape`, `name,shape,dtype,ready`, or JSON.

A shape is its lengths with an x between them, such as 64x3x7x7; empty, or in JSON [], is a scalar. `dtype` and `ready`,
the tensor's place among those that become ready, may be left out. JSON is a list of objects with these names, or an
object of shapes by name. Nothing in a file is run.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..runs.dtypes import DTYPES
from ..runs.files import read_given_text
from .tensors import Gradient, Model, ModelError

LONGEST_FILE = 16 * 2**20  # bytes: of a hundred thousand tensors
MOST_COUNT = 10**13  # elements of a tensor
HEADER = ("name", "shape", "dtype", "ready")
EXPECTED = "expected NAME SHAPE, such as 'conv1.weight 64x3x7x7'"


class Row(NamedTuple):
    """A tensor as the file has it."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    ready: int | None


def read_shapes(path: Path) -> Model:
    """The model whose tensors `path` has, in the order of the file, which is that of registration.

    Raises ModelError: no shapes, with the line; OSError.
    """
    try:
        text = read_given_text(path, LONGEST_FILE)
    except UnicodeDecodeError as error:
        raise ModelError(f"{path}: not text; {EXPECTED} in each line") from error
    rows = list(_of_json(text, path) if text.lstrip()[:1] in ("[", "{") else _of_lines(text, path))
    if not rows:
        raise ModelError(f"{path}: contains no tensor; {EXPECTED} in each line")
    gradients = tuple(Gradient(row.name, row.shape, dtype=row.dtype) for row in rows)
    return Model(path.name, path.stem, gradients, ready=_ready_order(rows, path))


def _of_lines(text: str, path: Path) -> Iterator[Row]:
    for number, line in enumerate(text.split("\n"), 1):
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        fields = [word.strip() for word in words.split(",")] if "," in words else words.split()
        if tuple(fields) == HEADER[: len(fields)]:
            continue
        place = f"{path}, line {number}"
        if not 2 <= len(fields) <= len(HEADER):
            raise ModelError(f"{place}: {EXPECTED}, found {line.strip()[:60]!r}")
        name, shape, dtype, ready = (*fields, *("",) * (len(HEADER) - len(fields)))
        yield _row(place, name, shape.split("x") if shape else [], dtype, ready or None)


def _of_json(text: str, path: Path) -> Iterator[Row]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path}: not JSON: {error}") from error
    if isinstance(content, dict):
        content = [{"name": name, "shape": shape} for name, shape in content.items()]
    for number, entry in enumerate(content, 1):
        place = f"{path}, tensor {number}"
        if not isinstance(entry, dict) or not isinstance(entry.get("shape"), list):
            raise ModelError(f'{place}: expected an object such as {{"name": "conv1.weight", "shape": [64, 3, 7, 7]}}')
        yield _row(place, entry.get("name", ""), entry["shape"], entry.get("dtype", ""), entry.get("ready"))


def _row(place: str, name: Any, lengths: list[Any], dtype: Any, ready: Any) -> Row:
    """Raise ModelError for lengths that are no whole numbers above 0, and for a type that is unknown."""
    numbers = [str(length) for length in lengths]
    if not all(re.fullmatch(r"[1-9]\d{0,14}", number, re.ASCII) for number in numbers):
        raise ModelError(
            f"{place}: the shape of {str(name)[:40]!r} is {'x'.join(numbers)[:40]!r}; expected such as 64x3x7x7"
        )
    known = str(dtype or "").removeprefix("torch.")
    if known and known not in DTYPES:
        raise ModelError(f"{place}: unknown dtype {known[:40]!r}; known: {', '.join(DTYPES)}")
    if ready is not None and not re.fullmatch(r"\d{1,9}", str(ready), re.ASCII):
        raise ModelError(f"{place}: ready is {str(ready)[:40]!r}; expected a whole number")
    row = Row(str(name), tuple(map(int, numbers)), known, None if ready is None else int(ready))
    if Gradient(row.name, row.shape).elements > MOST_COUNT:
        raise ModelError(f"{place}: {'x'.join(numbers)[:60]} has more than {MOST_COUNT:.0e} elements")
    return row


def _ready_order(rows: list[Row], path: Path) -> tuple[int, ...]:
    """The indices in the order in which the tensors become ready; empty: no row says it. Raises ModelError: some do."""
    known = [row.ready for row in rows if row.ready is not None]
    if not known:
        return ()
    if len(set(known)) != len(rows):
        raise ModelError(f"{path}: ready must be a different number for each of the {len(rows)} tensors, or for none")
    return tuple(sorted(range(len(rows)), key=lambda index: rows[index].ready or 0))
