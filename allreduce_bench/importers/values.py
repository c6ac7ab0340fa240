"""Single values of a log: whole numbers, times, names of types and operations; refused where they are none."""

import re
from collections.abc import Iterable
from functools import lru_cache
from math import isfinite

from ..runs.dtypes import DTYPES
from ..units import MAX_RANKS
from .row import LogError

US = 1e-6
LARGEST = 10**17  # of any whole number in a log: beyond, it is damaged
SHORTEST_S, LONGEST_S = 1e-12, 1e7  # of any call: a picosecond, 115 days
OPS = ("sum", "avg", "prod", "max", "min")
SPELLINGS = {  # other names of types that we know
    "float": "float32",
    "single": "float32",
    "fp32": "float32",
    "real": "float32",
    "double": "float64",
    "fp64": "float64",
    "half": "float16",
    "fp16": "float16",
    "bf16": "bfloat16",
    "int": "int32",
    "int32_t": "int32",
    "int64_t": "int64",
    "long": "int64",
    "byte": "char",
}
ITEMSIZES = {**DTYPES, "char": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "uint32": 4, "uint64": 8}
ITEMSIZES |= {"fp8_e4m3": 1, "fp8_e5m2": 1, "f8e4m3": 1, "f8e5m2": 1}
WHOLE = re.compile(r"[+]?[0-9]{1,40}(?:\.0*)?")
NUMBER = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?|[+-]?(?:nan|inf|infinity)", re.IGNORECASE
)


def shown(text: str) -> str:
    """`'text'`, short and in one line, for a message."""
    line = printable(text.strip())
    return f"'{line[:40]}...'" if len(line) > 40 else f"'{line}'"


def printable(text: str) -> str:
    """The text without what would begin a new line in a file, or steer a terminal."""
    return text if text.isprintable() else "".join(letter if letter.isprintable() else "?" for letter in text)


def is_number(text: str) -> bool:
    """Whether a field is a number, be it nan or inf."""
    return NUMBER.fullmatch(text) is not None


def is_whole(text: str) -> bool:
    """Whether a field consists of digits only."""
    return text.isascii() and text.isdigit()


def whole(text: str, what: str, place: str, least: int = 0, most: int = LARGEST) -> int:
    """The whole number of a field. Raises LogError."""
    value = int(text.partition(".")[0]) if WHOLE.fullmatch(text) else -1
    if not least <= value <= most:
        raise LogError(f"{place}: {what} is {shown(text)}, expected a whole number from {least} to {most:.15g}")
    return value


def ranks_of(text: str, place: str) -> int:
    """A number of ranks. Raises LogError."""
    return whole(text, "the number of ranks", place, 1, MAX_RANKS)


def real(text: str, what: str, place: str) -> float:
    """The number of a field, finite and not negative. Raises LogError."""
    value = float(text) if is_number(text) else -1.0
    if not isfinite(value) or value < 0:
        raise LogError(f"{place}: {what} is {shown(text)}, expected a number of 0 or more")
    return value


def seconds(text: str, unit_s: float, what: str, place: str) -> float:
    """The seconds of a field of so many units; 0 where the log says 0. Raises LogError."""
    value = real(text, what, place) * unit_s
    if value and not SHORTEST_S < value < LONGEST_S:
        raise LogError(f"{place}: {what} is {shown(text)}: {value:.0e} s, which is implausible")
    return value


@lru_cache
def dtype_of(text: str) -> str | None:
    """Our name of a type where there is one, else the log's, in small letters without MPI_; None for none."""
    name = text.strip().strip(".").lower().removeprefix("mpi_").removeprefix("nccl")
    name = re.sub(r"\W", "_", name)[:40]
    return SPELLINGS.get(name, name) or None


def itemsize_of(dtype: str | None) -> int:
    """Bytes of an element; 1 where that is not known."""
    return ITEMSIZES.get(dtype or "", 1)


@lru_cache
def op_of(text: str) -> str | None:
    """Our name of an operation where there is one, else the log's; None for none."""
    name = re.sub(r"\W", "_", text.strip().lower().removeprefix("mpi_"))[:40]
    return None if name in ("", "none", "null", "n_a") else name


def timed(time_s: float, printed: str) -> dict[str, object]:
    """The fields of Imported of a time; of 0 those of a cell without one."""
    if time_s > 0:
        return {"times_s": (time_s,)}
    return {"state": "left out", "reason": f"the log says {printed}: too short for its digits"}


def wrong_elements(text: str, place: str) -> dict[str, object]:
    """The fields of Imported of a count of wrong elements, which some logs print as 1e+06. Raises LogError."""
    count = int(min(real(text, "the number of wrong elements", place), LARGEST))
    return {"wrong": count} | ({"state": "wrong", "reason": f"the log says: {count} wrong elements"} if count else {})


def listed(names: Iterable[object], most: int = 8) -> str:
    """`a, b, c`, or the first of them `and 12 more`."""
    every = [str(name) for name in names]
    more = len(every) - most
    return ", ".join(every[:most]) + (f" and {more} more" if more > 0 else "")
