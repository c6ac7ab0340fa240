"""rccl-tests: the JSON and the CSV of -x, a row for each of out of place and in place, which are two competitors."""

import csv
import json
import re
from collections.abc import Iterator

from ...runs.competitor import NATIVE
from ..lines import (
    Log,
    LogLine,
    Place,
    is_allreduce,
    is_whole,
    refuse_nothing,
    shown,
    warn_of_row,
)
from ..row import Asked, Imported, LogError
from . import Importer
from .nccl import fields_of_half, refuse_other_factor

OBJECT = re.compile(r"\{[^{}]*\}")  # of a list, or a line each, also of a file that is cut off
HEADER = re.compile(r"(?m)^[ \t]*(?=[^\n]*\bname\b)(?=[^\n]*\binPlace\b)[\"\w]+ *,[^\n]*\balgBw\b[^\n]*$")
PRINTED = ("size", "type", "redop", "time")
COUNTS = ("nodes", "ranks", "ranksPerNode", "gpusPerRank", "gpus")
NEEDED = ("name", "inPlace", "size", "time", "algBw", "busBw")


def recognises(text: str) -> bool:
    """Return whether this is a file of rccl-tests -x."""
    return '"inPlace"' in text and '"busBw"' in text and "{" in text or HEADER.search(text) is not None


def read(log: Log, asked: Asked) -> list[Imported]:
    """Return the rows of all-reduces. Raises LogError: there are none, or a row contradicts itself."""
    records = list(_records(log))
    others = [str(record["name"]) for _, record in records if not is_allreduce(record["name"])]
    rows = [
        _row(line, record, asked.in_place)
        for line, record in records
        if is_allreduce(record["name"]) and (record["inPlace"] == "1" or not asked.in_place)
    ]
    refuse_nothing(log, rows, others, "it is empty, or cut off")
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


def _records(log: Log) -> Iterator[tuple[LogLine, dict[str, str]]]:
    """Yield the line and the fields of each row, as printed; half rows are dropped with a warning."""
    header: list[str] = []
    for line in log.lines:
        if HEADER.search(line.text):
            header = [name.lstrip("#") for name in _words(line.text)]
            continue
        words = _words(line.text) if header else []
        is_csv = len(words) == len(header) > 0
        parts = [dict(zip(header, words))] if is_csv else list(map(_record, OBJECT.findall(line.text)))
        for record in parts:
            if all(record.get(name) for name in NEEDED):
                yield line, record
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


def _row(line: LogLine, record: dict[str, str], is_chosen: bool) -> Imported:
    """Return a row; in place has a name of its own, unless it is the half that was chosen. Raises LogError."""
    place, in_place = line.place, record["inPlace"] == "1"
    counts = {name: place.whole(value, name, 1) for name in COUNTS if (value := record.get(name))}
    printed: dict[str, str] = {name: record[name] for name in PRINTED if name in record}
    if is_whole(record.get("wrong", "")):
        printed["wrong"] = record["wrong"]
    fields = fields_of_half(place, printed, True if is_chosen else None)
    return Imported(
        file=line.file,
        line=line.number,
        tool="rccl-tests",
        launch=line.file,
        competitor=f"{NATIVE} (in place)" if in_place and not is_chosen else NATIVE,
        ranks=_ranks(counts, [(record["algBw"], record["busBw"])], place),
        nodes=counts.get("nodes"),
        **{**fields, "time_definition": "rccl_tests"},
    )


def _ranks(counts: dict[str, int], rates: list[tuple[str, str]], place: Place) -> int | None:
    """Return the number of ranks, one a GPU. Raises LogError for counts that contradict each other, or the rates."""
    ranks = counts.get("ranks")
    nodes, each = counts.get("nodes"), counts.get("ranksPerNode")
    if ranks and nodes and each and nodes * each != ranks:
        raise LogError(f"{place}: {nodes} nodes of {each} ranks are not {ranks} ranks")
    gpus = ranks * counts.get("gpusPerRank", 1) if ranks else counts.get("gpus")
    if gpus is None:
        return None
    refuse_other_factor(rates, gpus, place)
    return place.ranks(str(gpus))
