"""What is sent: the gradients of a known model, or what a file holds, tensors of a model or recorded all-reduces.

Tensors are a line each, `name shape`, `name,shape,dtype,ready`, or JSON. A shape is its lengths with an x between them,
such as 64x3x7x7; empty, or in JSON [], is a scalar. `dtype` and `ready`, the tensor's place in the order of readiness,
are optional. JSON is a list of objects with these names, or an object of shapes by name. Files of weights, by their
suffix, are read by `model_files`. Nothing in a file is run.

All-reduces that any program made are a CSV with the columns `size` (of the vector, such as 4194304 or 4M), `dtype`
(optional) and `gap` (between the end of the former call and the beginning of this one, such as 0.004 s or 4ms).
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..runs.dtypes import DTYPES
from ..runs.files import read_given_text
from ..units import counted, parse_duration, parse_size
from .architectures import known_model
from .model_files import READERS
from .tensors import Gradient, Model, ModelError
from .time_line import COMPUTE, Phase, TimeLine, Transfer

LONGEST_FILE = 16 * 2**20  # bytes: of a hundred thousand tensors, or half a million calls
MOST_COUNT = 10**13  # elements of a tensor
SHAPE_COLUMNS = ("name", "shape", "dtype", "ready")
EXPECTED_SHAPES = "expected NAME SHAPE, such as 'conv1.weight 64x3x7x7'"
CALL_COLUMNS = ("size", "dtype", "gap")
EXPECTED_CALLS = "expected a CSV with the columns size, dtype and gap, such as '4M,float32,10ms'"


class CallError(ValueError):
    """A file that holds no calls, with its line."""


class Call(NamedTuple):
    """A recorded all-reduce."""

    size_bytes: int
    gap_s: float  # time of the program before it
    dtype: str = ""


class Recording(NamedTuple):
    """The recorded all-reduces of a file, in order."""

    path: Path
    calls: list[Call]

    @property
    def title(self) -> str:
        """The file, and how many calls it has."""
        return f"{self.path}, {counted(len(self.calls), 'call')}"


def find_subject(word: str) -> Model | Recording:
    """Return the model of this name, else what the file of this name holds.

    Raises ModelError, CallError, OSError.
    """
    path = Path(word)
    try:
        return known_model(word)
    except ModelError:
        if not (path.suffix or path.exists() or "/" in word):
            raise
    return read_subject(path)


def read_subject(path: Path) -> Model | Recording:
    """Return the recorded calls of a CSV with their columns, of any other file the model with its tensors.

    Their order is taken for the order of registration. Raises ModelError, CallError, with the line; OSError.
    """
    if reader := READERS.get(path.suffix):
        rows = [_row(f"{path}, tensor {name[:40]!r}", name, shape, dtype, None) for name, shape, dtype in reader(path)]
    else:
        try:
            text = read_given_text(path, LONGEST_FILE)
        except UnicodeDecodeError as error:
            raise ModelError(f"{path}: not text; {EXPECTED_SHAPES} in each line") from error
        if {"size", "gap"} & {name.strip() for name in text.partition("\n")[0].split(",")}:
            return Recording(path, _calls(text, path))
        rows = [*(_rows_of_json(text, path) if text.lstrip()[:1] in ("[", "{") else _rows_of_lines(text, path))]
    if not rows:
        raise ModelError(f"{path}: contains no tensor; {EXPECTED_SHAPES} in each line")
    gradients = tuple(Gradient(row.name, row.shape, dtype=row.dtype) for row in rows)
    return Model(path.name, path.stem, gradients, ready=_ready_order(rows, path))


class Row(NamedTuple):
    """A tensor as in the file."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    ready: int | None


def _rows_of_lines(text: str, path: Path) -> Iterator[Row]:
    for number, line in enumerate(text.split("\n"), 1):
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        fields = [word.strip() for word in words.split(",")] if "," in words else words.split()
        if tuple(fields) == SHAPE_COLUMNS[: len(fields)]:
            continue
        place = f"{path}, line {number}"
        if not 2 <= len(fields) <= len(SHAPE_COLUMNS):
            raise ModelError(f"{place}: {EXPECTED_SHAPES}, found {line.strip()[:60]!r}")
        name, shape, dtype, ready = (*fields, *("",) * (len(SHAPE_COLUMNS) - len(fields)))
        yield _row(place, name, shape.split("x") if shape else [], dtype, ready or None)


def _rows_of_json(text: str, path: Path) -> Iterator[Row]:
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
    """Return the tensor. Raises ModelError for lengths that are no positive integers, and for an unknown type."""
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
    """Return the indices in order of readiness; empty: no row gives it. Raises ModelError: only some do."""
    known = [row.ready for row in rows if row.ready is not None]
    if not known:
        return ()
    if len(set(known)) != len(rows):
        raise ModelError(f"{path}: ready must be a different number for each of the {len(rows)} tensors, or for none")
    return tuple(sorted(range(len(rows)), key=lambda index: rows[index].ready or 0))


def _calls(text: str, path: Path) -> list[Call]:
    """Return the calls of a CSV, in order. Raises CallError with the line."""
    reader = csv.DictReader(io.StringIO(text))
    names = [name.strip() for name in reader.fieldnames or ()]
    if not {"size", "gap"} <= {*names} <= {*CALL_COLUMNS}:
        raise CallError(f"{path}, line 1: {EXPECTED_CALLS}; found {','.join(names)[:60]!r}")
    calls = [_call(dict(zip(names, row.values())), f"{path}, line {reader.line_num}") for row in reader]
    if not calls:
        raise CallError(f"{path}: contains no call; {EXPECTED_CALLS}")
    return calls


def _call(row: dict, place: str) -> Call:
    """Return the call of a row. Raises CallError."""
    dtype = (row.get("dtype") or "").strip()
    if dtype and dtype not in DTYPES:
        raise CallError(f"{place}: unknown dtype {dtype[:40]!r}; known: {', '.join(DTYPES)}")
    try:
        call = Call(parse_size(row["size"] or ""), parse_duration(row["gap"] or ""), dtype)
    except ValueError as error:
        raise CallError(f"{place}: {error}") from error
    if dtype and call.size_bytes % DTYPES[dtype]:
        raise CallError(f"{place}: {call.size_bytes} bytes are not a whole number of {dtype} elements")
    return call


def replay_line(calls: Sequence[Call], cost: Callable[[int], float]) -> TimeLine:
    """Return the calls one after the other, each behind its gap, if an all-reduce of n bytes takes `cost(n)`
    seconds.
    """
    phases, transfers, now = [], [], 0.0
    for call in calls:
        phases.append(Phase(COMPUTE, now, now + call.gap_s))
        now = phases[-1].end_s
        transfers.append(Transfer(call.size_bytes, now, now, now + cost(call.size_bytes)))
        now = transfers[-1].end_s
    return TimeLine(tuple(phases), tuple(transfers))
