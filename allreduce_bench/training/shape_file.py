"""A model of one's own: a file with a tensor per line, `name shape` or `name,shape,dtype,ready`.

A shape is its lengths with an x between them, such as 64x3x7x7; empty is a scalar. `dtype` and `ready`, the tensor's
place in the order of readiness, are optional. Files of weights, by their suffix, are read by `model_files`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..runs.dtypes import DTYPES
from ..runs.files import read_given_text
from .architectures import known_model
from .model_files import READERS
from .tensors import Gradient, Model, ModelError

LONGEST_FILE = 16 * 2**20  # bytes: of a hundred thousand tensors
MOST_COUNT = 10**13  # elements of a tensor
COLUMNS = ("name", "shape", "dtype", "ready")
EXPECTED = "expected NAME SHAPE, such as 'conv1.weight 64x3x7x7'"


def find_model(word: str) -> Model:
    """Return the model of this name, else that of the file of this name. Raises ModelError, OSError."""
    path = Path(word)
    try:
        return known_model(word)
    except ModelError:
        if not (path.suffix or path.exists() or "/" in word):
            raise
    return read_model(path)


def read_model(path: Path) -> Model:
    """Return the model whose tensors a file has; their order is taken for the order of registration.

    Raises ModelError, with the line; OSError.
    """
    rows = [*(_rows_of_weights(path) if path.suffix in READERS else _rows(path))]
    if not rows:
        raise ModelError(f"{path}: contains no tensor; {EXPECTED} in each line")
    return Model(path.name, path.stem, tuple(row.gradient for row in rows), ready=_ready_order(rows, path))


class Row(NamedTuple):
    """A tensor as in the file."""

    gradient: Gradient
    ready: int | None


def _rows_of_weights(path: Path) -> Iterator[Row]:
    for name, shape, dtype in READERS[path.suffix](path):
        yield _row(f"{path}, tensor {name[:40]!r}", name, shape, dtype, "")


def _rows(path: Path) -> Iterator[Row]:
    try:
        text = read_given_text(path, LONGEST_FILE)
    except UnicodeDecodeError as error:
        raise ModelError(f"{path}: not text; {EXPECTED} in each line") from error
    for number, line in enumerate(text.split("\n"), 1):
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        fields = [word.strip() for word in words.split(",")] if "," in words else words.split()
        if tuple(fields) == COLUMNS[: len(fields)]:
            continue
        place = f"{path}, line {number}"
        if not 2 <= len(fields) <= len(COLUMNS):
            raise ModelError(f"{place}: {EXPECTED}, found {words[:60]!r}")
        yield _row(place, *fields, *("",) * (len(COLUMNS) - len(fields)))


def _row(place: str, name: str, shape: str, dtype: str, ready: str) -> Row:
    """Return the tensor. Raises ModelError for lengths that are no positive integers, and for an unknown type."""
    lengths = shape.split("x") if shape else []
    if not all(re.fullmatch(r"[1-9]\d{0,14}", length, re.ASCII) for length in lengths):
        raise ModelError(f"{place}: the shape of {name[:40]!r} is {shape[:40]!r}; expected such as 64x3x7x7")
    known = dtype.removeprefix("torch.")
    if known and known not in DTYPES:
        raise ModelError(f"{place}: unknown dtype {known[:40]!r}; known: {', '.join(DTYPES)}")
    if ready and not re.fullmatch(r"\d{1,9}", ready, re.ASCII):
        raise ModelError(f"{place}: ready is {ready[:40]!r}; expected a whole number")
    gradient = Gradient(name, tuple(map(int, lengths)), dtype=known)
    if gradient.elements > MOST_COUNT:
        raise ModelError(f"{place}: {shape[:60]} has more than {MOST_COUNT:.0e} elements")
    return Row(gradient, int(ready) if ready else None)


def _ready_order(rows: list[Row], path: Path) -> tuple[int, ...]:
    """Return the indices in order of readiness; empty: no row gives it. Raises ModelError: only some do."""
    known = [row.ready for row in rows if row.ready is not None]
    if not known:
        return ()
    if len(set(known)) != len(rows):
        raise ModelError(f"{path}: ready must be a different number for each of the {len(rows)} tensors, or for none")
    return tuple(sorted(range(len(rows)), key=lambda index: rows[index].ready or 0))
