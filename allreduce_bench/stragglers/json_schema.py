"""The JSON Schema of the output of `stragglers --format json`."""

from typing import Any

from ..runs.json_schema.build import Format, Schema, fields, fields_of, items, number, or_null, text, whole
from . import verdict as codes
from .document import PROGRESS, SCHEMA
from .verdict import Stall, Suspect

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
    {"progress": items(PROGRESS, "groups of which records count calls, without times: the Flight Recorder, NCCL RAS")},
)

FORMATS = (Format(SCHEMA, "what stragglers --format json prints: who arrives late", STRAGGLERS),)
