"""`stragglers --format json`: what arrivals say of every rank, as one object, and its JSON Schema's contents."""

import json
from collections.abc import Iterable
from math import isfinite
from typing import Any, NamedTuple

from .progress import Progress
from .progress_document import progress_object
from .sentences import Judged, name_of, verdict_sentences

SCHEMA = "urn:allreduce-bench:stragglers:2"
SECONDS = ("step_s", "undisturbed_s", "idle_rank_s", "saved_s")
SHARES = (
    *("wait_share", "waiting_share", "lasting_share", "unexplained_share", "cost_share"),
    *("clock_share", "noise_share", "spread_share", "worth_steps", "steps_needed"),
)
OF_RANKS = ("p_value", "slower_by", "z", "caused_s", "suffered_s")


class Named(NamedTuple):
    """Arrivals with what they say, and where they are from."""

    path: str
    kind: str
    judged: Judged


def json_text(sources: Iterable[Named], progress: Iterable[Progress] = ()) -> str:
    """An object with schema and sources; shares are between 0 and 1, a value that is not known is null.

    `progress`: what records of calls say of ranks, which are no arrivals.
    """
    content = {
        "schema": SCHEMA,
        "sources": [_source(source) for source in sources],
        "progress": [progress_object(one) for one in progress],
    }
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _source(source: Named) -> dict[str, Any]:
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
        "clock_error_s": _known(arrivals.clock_error_s),
        **{name: _known(getattr(report, name)) for name in (*SECONDS, *SHARES)},
        "stall": report.stall and report.stall._asdict(),
        "suspects": [_suspect(suspect, source.judged) for suspect in report.suspects],
        "per_rank": [_rank(source.judged, rank) for rank in range(report.ranks)],
    }


def _suspect(suspect: Any, judged: Judged) -> dict[str, Any]:
    values = suspect._asdict()
    known = {name: _known(value) if isinstance(value, float) else value for name, value in values.items()}
    return {"name": name_of(suspect, judged.arrivals), **known, "ranks": list(map(int, suspect.ranks))}


def _rank(judged: Judged, rank: int) -> dict[str, Any]:
    report = judged.report
    return {
        "rank": rank,
        "node": int(judged.arrivals.node_of[rank]),
        "last_count": int(report.last_count[rank]),
        "late_s": _known(report.slower_by[rank] * report.undisturbed_s),
        **{name: _known(getattr(report, name)[rank]) for name in OF_RANKS},
    }


def _known(value: Any) -> float | None:
    return float(value) if isfinite(value) else None
