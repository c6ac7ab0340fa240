"""nccl-tests: the JSON of -J, and the structured output of a fork; with the same times as the text."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from ..lines import US, Log, LogLine, Place
from ..row import Asked, Imported, LogError
from . import Importer
from .nccl import PROGRAM, TOOL, NcclRow, factor_fits, fields_of_half, ranks_of_factors, why_rows_are_others

KINDS = ('"out_of_place"', '"results"'), ('"oop_time"', '"benchmark"')
BRACE = re.compile(r"(?m)^\ufeff?[ \t]*\{")  # warnings may stand above
PRINTED = ("size", "count", "type", "redop", "root")


def recognises(text: str) -> bool:
    """Return whether a line of this begins such a document."""
    return any(all(word in text for word in words) for words in KINDS) and BRACE.search(text) is not None


def read(log: Log, asked: Asked) -> list[Imported]:
    """Return the rows of one half. Raises LogError: damaged, or of another collective."""
    file = log.file
    try:
        match = BRACE.search(log.text)
        content, _ = json.JSONDecoder().raw_decode(log.text, match.end() - 1 if match else 0)
    except json.JSONDecodeError as error:
        raise LogError(f"{file}, line {error.lineno}: damaged JSON, or cut off; copy it again") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets without end
        raise LogError(f"{file}, line 1: damaged JSON; copy it again") from error
    try:
        rows = _rows(file, content, "in_place" if asked.in_place else "out_of_place")
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        words = f"a result lacks one of {', '.join(PRINTED[:4])} and its times, or has it in another form"
        raise LogError(f"{file}, line 1: not the JSON of nccl-tests: {words}") from error
    if not any(row.times_s for row in rows):
        which, other = ("in-place", "leave --in-place out") if asked.in_place else ("out-of-place", "try --in-place")
        raise LogError(f"{file}, line 1: no {which} time in its results; {other}")
    return rows


IMPORTER = Importer(
    name="nccl-tests-json",
    title="",
    turn=10,
    recognises=recognises,
    read=read,
    has_halves=True,
)


def _rows(file: str, content: Mapping[str, Any], half: str) -> list[Imported]:
    if "benchmark" in content:
        content = {**content, "results": list(_results_of_fork(content["benchmark"]))}
    names = [str(word) for word in content.get("args", ())[:1]]
    names += [str(result.get("experiment_name") or "") for result in content["results"]]
    programs = {match[1] for name in names if (match := PROGRAM.search(name))}
    if programs - {"all_reduce"}:
        raise LogError(f"{file}, line 1: no result of all_reduce_perf; found: {', '.join(sorted(programs))}")
    cells = [
        NcclRow._make((LogLine(1, "", True), *(str(result.get(name, "")).strip() for name in PRINTED), ()))
        for result in content["results"]
    ]
    if not programs and (why := why_rows_are_others(cells)):
        raise LogError(f"{file}, line 1: not an all-reduce: {why}; expected a table of all_reduce_perf")
    common = {"file": file, "line": 1, "tool": TOOL, "launch": file, **_common(content, file)}
    return [
        Imported(**common, **_fields(result, half, Place(f"{file}, result {number}")))
        for number, result in enumerate(content["results"], start=1)
    ]


def _results_of_fork(benchmark: Sequence[Mapping[str, Mapping[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Yield the results of {size: {..., oop_time, ip_time}} as -J has them."""
    for size, result in (item for each in benchmark for item in each.items()):
        halves = {
            name: {"time": result[f"{short}_time"], "nwrong": _whole_or_none(result.get(f"{short}_error"))}
            for name, short in (("out_of_place", "oop"), ("in_place", "ip"))
            if f"{short}_time" in result
        }
        yield {**result, "size": size, **halves}


def _whole_or_none(error: Any) -> str | None:
    """Return a number of wrong elements; a largest error, 2e-07, is none."""
    return str(error).removesuffix(".0") if str(error).removesuffix(".0").isdecimal() else None


def _common(content: Mapping[str, Any], file: str) -> dict[str, Any]:
    """Return the fields shared by all results. `devices` has the first rank of each process, with threads and GPUs."""
    config = content.get("config") or {}
    rates = [
        (str(result["oop_algbw"]), str(result["oop_busbw"])) for result in content["results"] if "oop_busbw" in result
    ]
    if not factor_fits(rates, None):
        raise LogError(f"{file}, line 1: not an all-reduce: busbw / algbw is not 2(p-1)/p")
    hosts = [str(device["hostname"]) for device in config.get("devices") or ()]
    place = Place(file)
    each = prod(place.whole(str(config.get(name) or 1), name, 1) for name in ("nthreads", "ngpus"))
    ranks = place.ranks(str(len(hosts) * each)) if hosts else ranks_of_factors(rates)
    facts: dict[str, Any] = {"hosts": [host for host in hosts for _ in range(each)]} if hosts else {}
    if "start_time" in content:
        facts["date"] = str(content["start_time"])
    version = content.get("nccl_version")
    if isinstance(version, int) and version >= 10000:  # earlier ones are encoded in another way
        facts["mpi"] = {"library": f"NCCL {version // 10000}.{version // 100 % 100}.{version % 100}"}
    return {"ranks": ranks, "nodes": len(set(hosts)) or None, "facts": facts, "version": None}


def _fields(result: Mapping[str, Any], half: str, place: Place) -> dict[str, Any]:
    times = result.get(half) or {}
    printed = {name: str(result[name]) for name in ("size", "count", "type", "redop")}
    of_half = {"time": times.get("time"), "wrong": times.get("nwrong")}
    printed |= {name: str(value) for name, value in of_half.items() if value is not None}
    fields = fields_of_half(place, printed, half == "in_place")
    if result.get("actual_iterations") is not None:
        fields["iterations"] = place.whole(str(result["actual_iterations"]), "actual_iterations", 1)
    if per_iteration := result.get(f"{half}_per_iter"):
        names = {share: f"p{share}_us" for share in (50, 95, 99) if f"p{share}_us" in per_iteration}
        fields["quantiles_s"] = {
            share: place.seconds(str(per_iteration[name]), US, name) for share, name in names.items()
        }
    return fields
