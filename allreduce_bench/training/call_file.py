"""The all-reduces that a program made, recorded by whatever tool: size, type and the gap before each.

A CSV with the columns `size` (of the vector, such as 4194304 or 4M), `dtype` (may be left out) and `gap` (between the
end of the former call and the beginning of this one, such as 0.004 s or 4ms). Nothing overlaps: a call blocks.
"""

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from ..runs.dtypes import DTYPES
from ..runs.files import read_given_text
from ..units import parse_duration, parse_size
from .time_line import COMPUTE, Phase, TimeLine, Transfer

LONGEST_FILE = 16 * 2**20  # bytes: of half a million calls
COLUMNS = ("size", "dtype", "gap")
EXPECTED = "expected a CSV with the columns size, dtype and gap, such as '4M,float32,10ms'"


class CallError(ValueError):
    """A file that holds no calls, with its line."""


class Call(NamedTuple):
    """A recorded all-reduce."""

    nbytes: int
    gap_s: float  # what the program did before it
    dtype: str = ""


def read_calls(path: Path) -> list[Call]:
    """The calls of `path` in order. Raises CallError with the line, OSError."""
    try:
        text = read_given_text(path, LONGEST_FILE)
    except UnicodeDecodeError as error:
        raise CallError(f"{path}: not text; {EXPECTED}") from error
    reader = csv.DictReader(io.StringIO(text))
    names = [name.strip() for name in reader.fieldnames or ()]
    if not {"size", "gap"} <= {*names} <= {*COLUMNS}:
        raise CallError(f"{path}, line 1: {EXPECTED}; found {','.join(names)[:60]!r}")
    calls = [_call(dict(zip(names, row.values())), f"{path}, line {reader.line_num}") for row in reader]
    if not calls:
        raise CallError(f"{path}: contains no call; {EXPECTED}")
    return calls


def _call(row: dict, place: str) -> Call:
    """Raises CallError."""
    dtype = (row.get("dtype") or "").strip()
    if dtype and dtype not in DTYPES:
        raise CallError(f"{place}: unknown dtype {dtype[:40]!r}; known: {', '.join(DTYPES)}")
    try:
        call = Call(parse_size(row["size"] or ""), parse_duration(row["gap"] or ""), dtype)
    except ValueError as error:
        raise CallError(f"{place}: {error}") from error
    if dtype and call.nbytes % DTYPES[dtype]:
        raise CallError(f"{place}: {call.nbytes} bytes are not a whole number of {dtype} elements")
    return call


def replayed(calls: Sequence[Call], cost: Callable[[int], float]) -> TimeLine:
    """The calls one after the other, each behind its gap, where an all-reduce of n bytes takes `cost(n)` seconds."""
    phases, transfers, now = [], [], 0.0
    for call in calls:
        phases.append(Phase(COMPUTE, now, now + call.gap_s))
        now = phases[-1].end_s
        transfers.append(Transfer(call.nbytes, now, now, now + cost(call.nbytes)))
        now = transfers[-1].end_s
    return TimeLine(tuple(phases), tuple(transfers))
