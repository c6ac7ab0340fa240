"""`stragglers --format json`: the results for every rank from arrivals."""

import json
from collections.abc import Iterable
from math import isfinite
from typing import Any

from .sentences import JudgedArrivals, name_of, verdict_sentences

# Arrivals: fields of a report, of all and of each rank
SCHEMA = "urn:allreduce-bench:stragglers:4"
SECONDS = ("step_s", "undisturbed_s", "idle_rank_s", "saved_s")
SHARES = (
    *("wait_share", "waiting_share", "lasting_share", "unexplained_share", "cost_share"),
    *("clock_share", "noise_share", "spread_share", "worth_steps", "steps_needed"),
)
OF_RANKS = ("p_value", "slower_by", "z", "caused_s", "suffered_s")


def json_text(sources: Iterable[JudgedArrivals]) -> str:
    """Return an object with schema and sources; shares are between 0 and 1, a value that is not known is null."""
    content = {"schema": SCHEMA, "sources": [_source_object(source) for source in sources]}
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _source_object(judged: JudgedArrivals) -> dict[str, Any]:
    arrivals, report = judged.arrivals, judged.report
    return {
        "path": judged.path,
        "kind": judged.kind,
        "what": judged.what,
        "verdict": verdict_sentences(judged),
        "silence": report.silence or None,
        "steps": report.steps,
        "ranks": report.ranks,
        "nodes": list(arrivals.nodes),
        "clock_error_s": _number_or_null(arrivals.clock_error_s),
        **{name: _number_or_null(getattr(report, name)) for name in (*SECONDS, *SHARES)},
        "stall": report.stall and report.stall._asdict(),
        "suspects": [_suspect_object(suspect, judged) for suspect in report.suspects],
        "per_rank": [_rank_object(judged, rank) for rank in range(report.ranks)],
    }


def _suspect_object(suspect: Any, judged: JudgedArrivals) -> dict[str, Any]:
    values = suspect._asdict()
    known = {name: _number_or_null(value) if isinstance(value, float) else value for name, value in values.items()}
    return {"name": name_of(suspect, judged.arrivals), **known, "ranks": list(map(int, suspect.ranks))}


def _rank_object(judged: JudgedArrivals, rank: int) -> dict[str, Any]:
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
