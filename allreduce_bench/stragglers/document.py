"""`stragglers --format json`: the results for every rank from arrivals, and their JSON Schema."""

import json
from collections.abc import Iterable
from math import isfinite
from typing import Any, NamedTuple

from ..runs.json_schema.build import (
    Format,
    Schema,
    fields,
    fields_of,
    items,
    number,
    or_null,
    text,
    whole,
)
from . import verdict as codes
from .sentences import Judged, name_of, verdict_sentences
from .verdict import Stall, Suspect

# Arrivals: fields of a report, of all and of each rank
SCHEMA = "urn:allreduce-bench:stragglers:3"
SECONDS = ("step_s", "undisturbed_s", "idle_rank_s", "saved_s")
SHARES = (
    *("wait_share", "waiting_share", "lasting_share", "unexplained_share", "cost_share"),
    *("clock_share", "noise_share", "spread_share", "worth_steps", "steps_needed"),
)
OF_RANKS = ("p_value", "slower_by", "z", "caused_s", "suffered_s")


class Named(NamedTuple):
    """Arrivals with their report and source."""

    path: str
    kind: str
    judged: Judged


def json_text(sources: Iterable[Named]) -> str:
    """Return an object with schema and sources; shares are between 0 and 1, a value that is not known is null."""
    content = {"schema": SCHEMA, "sources": [_source_object(source) for source in sources]}
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _source_object(source: Named) -> dict[str, Any]:
    arrivals, report = source.judged.arrivals, source.judged.report
    return {
        "path": source.path,
        "kind": source.kind,
        "what": source.judged.what,
        "verdict": verdict_sentences(source.judged),
        "silence": report.silence or None,
        "steps": report.steps,
        "ranks": report.ranks,
        "nodes": list(arrivals.nodes),
        "clock_error_s": _number_or_null(arrivals.clock_error_s),
        **{name: _number_or_null(getattr(report, name)) for name in (*SECONDS, *SHARES)},
        "stall": report.stall and report.stall._asdict(),
        "suspects": [_suspect_object(suspect, source.judged) for suspect in report.suspects],
        "per_rank": [_rank_object(source.judged, rank) for rank in range(report.ranks)],
    }


def _suspect_object(suspect: Any, judged: Judged) -> dict[str, Any]:
    values = suspect._asdict()
    known = {name: _number_or_null(value) if isinstance(value, float) else value for name, value in values.items()}
    return {"name": name_of(suspect, judged.arrivals), **known, "ranks": list(map(int, suspect.ranks))}


def _rank_object(judged: Judged, rank: int) -> dict[str, Any]:
    report = judged.report
    return {
        "rank": rank,
        "node": int(judged.arrivals.node_of[rank]),
        "last_count": int(report.last_count[rank]),
        "late_s": _number_or_null(report.slower_by[rank] * report.undisturbed_s),
        **{name: _number_or_null(getattr(report, name)[rank]) for name in OF_RANKS},
    }


def _number_or_null(value: Any) -> float | None:
    return float(value) if isfinite(value) else None


# The JSON Schema of the output of `stragglers --format json`


SILENCES = (
    *(codes.TOO_FEW_STEPS, codes.ONE_RANK, codes.BELOW_CLOCK, codes.SMALL_WAIT, codes.BELOW_NOISE),
    codes.TOO_ALIKE,
    *(codes.NO_SINGLE_CAUSE, codes.NO_READY_TIMES),
)


def _share(meaning: str) -> Schema:
    return or_null(number(f"{meaning}; 0.1 is 10 %; null: not known"))


def _seconds(meaning: str) -> Schema:
    return or_null(number(f"{meaning}; unit: s; null: not known"))


def _known_numbers(kind: Any) -> dict[str, Schema]:
    """Return the fields of a named tuple; a real number is null if not known."""
    schemas = fields_of(kind)
    for name, schema in schemas.items():
        if schema["type"] == "number":
            schemas[name] = or_null(schema) | {"description": f"{schema['description']}; null: not known"}
    return schemas


SUSPECT = fields(
    {
        "name": text("rank or node in words, such as rank 5 on node n3"),
        **_known_numbers(Suspect),
        "expected": fields_of(Suspect)["expected"],
    }
)
PER_RANK = fields(
    {
        "rank": whole("number of the rank"),
        "node": whole("number of its node"),
        "last_count": whole("steps in which it arrived last, alone"),
        "p_value": _share("probability that it arrives last so often by chance"),
        "late_s": _seconds("median over steps of its lateness behind the median of the other ranks"),
        "slower_by": _share("the same, of undisturbed_s"),
        "z": or_null(number("the same in standard deviations of the noise, or between ranks where that is more")),
        "caused_s": _seconds("sum over steps in which it was last of the distance to the second last"),
        "suffered_s": _seconds("sum over steps of its wait for the last"),
    }
)
STALL = fields(_known_numbers(Stall), meaning="one step that holds most of the waiting; null: there is none")
SOURCE = fields(
    {
        "path": text("file or folder"),
        "kind": text("what it is: run, nccl-inspector, step-monitor, trace, kineto"),
        "what": text("which cell or communicator of it; empty: all"),
        "verdict": items(text(), "sentences, the verdict first"),
        "silence": or_null(text("why nobody is named; null: somebody is", *SILENCES)),
        "steps": whole("steps that were used"),
        "ranks": whole("ranks", 1),
        "nodes": items(text(), "names of the nodes by number; empty: not known"),
        "clock_error_s": _seconds("ready times of two ranks are compared no better than this"),
        "step_s": _seconds("median step"),
        "undisturbed_s": _seconds("median step if nobody were later than the median rank, or that of the faster group"),
        "idle_rank_s": _seconds("sum of all waits of all ranks"),
        "saved_s": _seconds("what is saved without the lateness of all suspects"),
        "wait_share": _share("wait of a rank, mean over all ranks; the last rank of a step counts as 0; of step time"),
        "waiting_share": _share("wait of a rank, mean over all ranks but the last of each step; of step time"),
        "lasting_share": _share("part of wait_share that is due to lasting differences"),
        "unexplained_share": _share("part of the lasting wait that the suspects do not explain"),
        "cost_share": _share("saved_s, of the time of all steps"),
        "clock_share": _share("three clock errors, of undisturbed_s"),
        "noise_share": _share("least lateness that noise lets tell, of undisturbed_s"),
        "spread_share": _share("robust standard deviation between ranks, of undisturbed_s"),
        "worth_steps": or_null(number("independent steps that say as much; null: not known")),
        "steps_needed": or_null(number("steps that would tell the latest rank, or 5 %, from noise; null: not known")),
        "stall": or_null(STALL),
        "suspects": items(SUSPECT, "the one that explains most first"),
        "per_rank": items(PER_RANK, "every rank"),
    }
)
STRAGGLERS = fields(
    {
        "schema": text("name and version of this schema", SCHEMA),
        "sources": items(SOURCE, "arrivals that were judged together, each with what they say"),
    },
)

SCHEMAS = (Format(SCHEMA, "what stragglers --format json prints: who arrives late", STRAGGLERS),)
