"""Wide tables, CSV or Markdown: a row a size, a column a competitor; the unit of times in its name or its fields."""

import re
from typing import Any, NamedTuple

from ...units import printable
from ..lines import SECONDS, SEPARATORS_OF_WORDS, Log, Place, dtype_of, itemsize_of, op_of, time_fields, warn_of_others
from ..row import Asked, Imported, LogError
from ..table_text import find_head, read_records
from . import Importer, tidy

SIZE = re.compile(  # `size_bytes`, `Message size (MB)`
    r"(?i)(?:(?:message|msg|buffer|data|payload)[ _]?)?(?:size|bytes|nbytes)(?:[ _]?\(?([KMGT]?)i?(?:B|bytes)\)?)?"
)
UNIT = "|".join(sorted({*SECONDS, "\u00b5s"}, key=len, reverse=True))
NAME = re.compile(rf"(.+?)(?:[ _]*[\[(]({UNIT})[\])]|_({UNIT}))")  # of a column of times
FIELD = re.compile(rf"([0-9]+(?:[ ,\u00a0\u202f][0-9]{{3}})*(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?) ?({UNIT})?")
SIZE_FIELD = re.compile(r"([0-9]+(?:\.[0-9]*)?) ?([KMGT]?)i?B?", re.IGNORECASE)
STATISTIC = re.compile(
    r"(?i)(?:.*[ _])?(?:t_?)?(?:min|max|avg|average|mean|median|std\w*|var\w*|sd|err\w*|p[0-9.]+)"
    r"|(?:.*\b(?:time|latency|duration|overhead|total))"
)


class WideTable(NamedTuple):
    """The columns of a wide table."""

    place: int  # of the column of sizes
    power: str  # unit of sizes in its name: K, M, ...
    competitors: dict[int, tuple[str, str]]  # place -> name, and the unit of its times; empty: in the fields


def recognises(text: str) -> bool:
    """Return whether the first line that is no comment is the header of such a table."""
    return _table(text) is not None


def read(log: Log, asked: Asked) -> list[Imported]:
    """Return a row for each field. Raises LogError: a field does not fit its column."""
    table = _table(log.text)
    if table is None or asked.columns:
        return tidy.read(log, asked)
    number_of_header, header, _ = find_head(log.text)
    known = tidy.recognised_columns(header, {}, log.file)
    others = [name for name, _ in table.competitors.values() if _is_other_collective(name)]
    rows = list[Imported]()
    for number, fields in read_records(log.file, log.text, header):
        if not tidy.is_allreduce(fields, known):
            continue
        place = Place(f"{log.file}, line {number}")
        size_bytes = _size(fields[header[table.place]], table.power, place)
        dtype = dtype_of(fields[known["dtype"].name] if "dtype" in known else asked.dtype or "")
        common: dict[str, Any] = {
            **{"file": log.file, "line": number, "tool": tidy.TOOL, "launch": log.file, "time_definition": "wide"},
            "ranks": place.ranks(fields[known["ranks"].name]) if "ranks" in known else asked.ranks,
            "size_bytes": size_bytes,
            "count": size_bytes // itemsize_of(dtype) if size_bytes % itemsize_of(dtype) == 0 else None,
            "dtype": dtype,
            "op": op_of(fields[known["op"].name]) if "op" in known else None,
        }
        for at, (name, unit) in table.competitors.items():
            if name not in others:
                rows.append(Imported(**common, competitor=printable(name), **_time(fields[header[at]], unit, place)))
    if not rows:
        raise LogError(f"{log.file}, line {number_of_header}: no row of an all-reduce below this header")
    warn_of_others(log.file, others)
    return rows


IMPORTER = Importer(
    name="wide CSV",
    title="",
    turn=80,
    recognises=recognises,
    read=read,
    definitions={"wide": "the columns of a table, a competitor each, as its author defined them"},
    has_columns=True,
)


def _table(text: str) -> WideTable | None:
    """Return the columns of a wide table; None: a column may be a statistic, or the time of a tidy table."""
    _, header, first = find_head(text)
    sizes = [(at, match[1] or "") for at, name in enumerate(header) if (match := SIZE.fullmatch(name))]
    if len(sizes) != 1 or set(tidy.MEASURES) & set(tidy.recognised_columns(header, {}, "")):
        return None
    competitors = {}
    for at, name in enumerate(header):
        match = NAME.fullmatch(name)
        field = FIELD.fullmatch(first[at]) if at < len(first) else None
        if match:
            competitors[at] = match[1].strip(), match[2] or match[3]
        elif field and field[2]:
            competitors[at] = name, ""
    is_statistic = any(STATISTIC.fullmatch(name) for name, _ in competitors.values())
    return WideTable(*sizes[0], competitors) if competitors and not is_statistic else None


def _is_other_collective(name: str) -> bool:
    """Return whether a column is of another collective."""
    word = SEPARATORS_OF_WORDS.sub("", name.lower()).removeprefix("mpi").removeprefix("nccl").removeprefix("osu")
    return "allreduce" not in word and (
        word in tidy.OTHER_COLLECTIVES or any(other in word for other in tidy.OTHER_COLLECTIVES - AMBIGUOUS)
    )


AMBIGUOUS = {"reduce", "gather", "scatter", "bcast", "broadcast", "hypercube"}  # words of all-reduces, too


def _size(text: str, power: str, place: Place) -> int:
    match = SIZE_FIELD.fullmatch(text)
    if match is None:
        raise LogError(f"{place}: the size is {text!r:.40}, expected a number such as 1024 or 64KB")
    return place.size(match[1], match[2] or power)


def _time(text: str, unit: str, place: Place) -> dict[str, Any]:
    """Return the time of a field; of an empty one why there is none. Raises LogError."""
    if text.lower() in tidy.ABSENT:
        return {"state": "left out", "reason": "the table has no time"}
    match = FIELD.fullmatch(text)
    of_field = (match[2] if match else "") or unit
    if not match or not of_field:
        raise LogError(f"{place}: the time is {text!r:.40}, expected a number{'' if unit else ' and its unit'}")
    digits = re.sub(r"[ ,\u00a0\u202f]", "", match[1])
    return time_fields(place.seconds(digits, place.unit_s(of_field)), text)
