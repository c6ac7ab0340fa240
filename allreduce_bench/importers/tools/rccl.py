"""rccl-tests: the JSON and the CSV of -x, a row for each of out of place and in place, which are two competitors."""

import csv
import json
import re
from collections.abc import Iterator
from typing import Any

from ...runs.competitor import NATIVE
from ..lines import (
    US,
    Log,
    dtype_of,
    is_allreduce,
    is_whole,
    listed,
    op_of,
    ranks_of,
    seconds,
    shown,
    time_fields,
    warn_of_others,
    warn_of_row,
    whole,
    wrong_fields,
)
from ..row import Asked, Imported, LogError
from . import Importer
from .nccl import factor_fits

OBJECT = re.compile(r"\{[^{}]*\}")  # of a list, or a line each, also of a file that is cut off
HEADER = re.compile(r"(?m)^[ \t]*(?=[^\n]*\bname\b)(?=[^\n]*\binPlace\b)[\"\w]+ *,[^\n]*\balgBw\b[^\n]*$")
NEEDED = ("name", "inPlace", "size", "time", "algBw", "busBw")


def recognises(text: str) -> bool:
    """Return whether this is a file of rccl-tests -x."""
    return '"inPlace"' in text and '"busBw"' in text and "{" in text or HEADER.search(text) is not None


def read(log: Log, asked: Asked) -> list[Imported]:
    """Return the rows of all-reduces. Raises LogError: there are none, or a row contradicts itself."""
    records = list(_records(log))
    others = [str(record["name"]) for _, record in records if not is_allreduce(record["name"])]
    rows = [
        _row(log.file, number, record, asked.in_place)
        for number, record in records
        if is_allreduce(record["name"]) and (record["inPlace"] == "1" or not asked.in_place)
    ]
    if not rows:
        what = f"found: {listed(dict.fromkeys(others))}" if others else "it is empty, or cut off"
        raise LogError(f"{log.file}, line {log.lines[-1].number}: no row of an all-reduce up to here; {what}")
    warn_of_others(log.file, others)
    return rows


IMPORTER = Importer(
    name="rccl-tests",
    title="rccl-tests",
    turn=15,
    recognises=recognises,
    read=read,
    definitions={"rccl_tests": "a loop of calls without a common start, divided by its length (rccl-tests)"},
    has_halves=True,
)


def _records(log: Log) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number of the line and the fields of each row, as printed; half rows are dropped with a warning."""
    header: list[str] = []
    for line in log.lines:
        if HEADER.search(line.text):
            header = [name.lstrip("#") for name in _words(line.text)]
            continue
        words = _words(line.text) if header else []
        parts = (
            [dict(zip(header, words))]
            if len(words) == len(header) > 0
            else list(map(_record, OBJECT.findall(line.text)))
        )
        for record in parts:
            if all(record.get(name) for name in NEEDED):
                yield line.number, record
        if not parts and len(line.text.strip(" \t[],")) > 1:
            warn_of_row(log.file, line, f"{shown(line.text)} is no whole row")


def _words(line: str) -> list[str]:
    try:
        return next(csv.reader([line], skipinitialspace=True), [])
    except csv.Error:
        return []


def _record(text: str) -> dict[str, str]:
    """Return the fields of an object as printed; none if it is damaged."""
    try:
        return {
            name.lstrip("#"): str(value) for name, value in json.loads(text, parse_float=str, parse_int=str).items()
        }
    except ValueError:
        return {}


def _row(file: str, number: int, record: dict[str, str], is_chosen: bool) -> Imported:
    """Return a row; in place has a name of its own, unless it is the half that was chosen. Raises LogError."""
    place, in_place = f"{file}, line {number}", record["inPlace"] == "1"
    counts = {name: whole(value, name, place, 1) for name in COUNTS if (value := record.get(name))}
    ranks = _ranks(counts, [(record["algBw"], record["busBw"])], place)
    time_s = seconds(record["time"], US, "the time", place)
    wrong = record.get("wrong", "")
    fields: dict[str, Any] = time_fields(time_s, f"{record['time']} us") | {"nccl_tests_s": time_s or None}
    return Imported(
        file=file,
        line=number,
        tool="rccl-tests",
        launch=file,
        competitor=f"{NATIVE} (in place)" if in_place and not is_chosen else NATIVE,
        in_place=True if is_chosen else None,
        size_bytes=whole(record["size"], "the size", place),
        dtype=dtype_of(record.get("type", "")),
        op=op_of(record.get("redop", "")),
        ranks=ranks,
        nodes=counts.get("nodes"),
        time_definition="rccl_tests",
        **fields | (wrong_fields(wrong, place) if is_whole(wrong) else {}),
    )


COUNTS = ("nodes", "ranks", "ranksPerNode", "gpusPerRank", "gpus")


def _ranks(counts: dict[str, int], rates: list[tuple[str, str]], place: str) -> int | None:
    """Return the number of ranks, one a GPU. Raises LogError for counts that contradict each other, or the rates."""
    processes = counts.get("ranks")
    if (
        processes
        and {"nodes", "ranksPerNode"} <= counts.keys()
        and counts["nodes"] * counts["ranksPerNode"] != processes
    ):
        raise LogError(f"{place}: {counts['nodes']} nodes of {counts['ranksPerNode']} ranks are not {processes} ranks")
    ranks = processes * counts.get("gpusPerRank", 1) if processes else counts.get("gpus")
    if ranks is None:
        return None
    if not factor_fits(rates, ranks):
        raise LogError(f"{place}: {ranks} ranks, but busBw / algBw is not 2(p-1)/p of {ranks}; is the log damaged?")
    return ranks_of(str(ranks), place)
