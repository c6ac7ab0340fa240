"""`stragglers --format json`: the results for every rank from arrivals and counts of calls, and their JSON Schema."""

import json
from collections.abc import Iterable
from math import isfinite
from typing import Any, NamedTuple

from ..runs.json_schema.build import by_name, fields, items, of_type, text, whole
from .progress import Count, Held, Missing, Progress
from .progress_sentences import progress_sentences
from .sentences import Judged, name_of, verdict_sentences

# Arrivals: fields of a report, of all and of each rank
SCHEMA = "urn:allreduce-bench:stragglers:2"
SECONDS = ("step_s", "undisturbed_s", "idle_rank_s", "saved_s")
SHARES = (
    *("wait_share", "waiting_share", "lasting_share", "unexplained_share", "cost_share"),
    *("clock_share", "noise_share", "spread_share", "worth_steps", "steps_needed"),
)
OF_RANKS = ("p_value", "slower_by", "z", "caused_s", "suffered_s")

# Counts of calls: JSON Schema
RANK_NUMBERS = items(whole(), "numbers of ranks")
COUNT = fields(
    {
        "collective": text("which calls are counted; empty: all collective calls of the group"),
        "entered": by_name(whole(), "of each rank: the last call that it has entered, from 1"),
        "left": by_name(whole(), "of each rank: the last call that it has left; no ranks: not known"),
    }
)
PROGRESS = fields(
    {
        "path": text("the file, or the first of them"),
        "kind": text("what it is: flight-recorder, nccl-ras"),
        "group": text("process group or communicator"),
        "members": RANK_NUMBERS,
        "verdict": items(text(), "sentences, what matters most first"),
        "counts": items(COUNT, "calls of each kind"),
        "behind": by_name(whole(), "of each rank that is behind: by how many calls of a kind, at most"),
        "missing": items(of_type(Missing), "ranks of which nothing is known"),
        "held": items(of_type(Held), "the earliest calls that some ranks have entered and not every rank has left"),
        "unlike": items(
            fields(
                {"number": whole("number of the call"), "done": by_name(RANK_NUMBERS, "what is done -> by which ranks")}
            ),
            "the earliest calls in which ranks do not do the same",
        ),
        "failed": by_name(text(), "of each rank that reports one: its error"),
    }
)


class Named(NamedTuple):
    """Arrivals with their report and source."""

    path: str
    kind: str
    judged: Judged


def json_text(sources: Iterable[Named], progress: Iterable[Progress] = ()) -> str:
    """Return an object with schema and sources; shares are between 0 and 1, a value that is not known is null.

    `progress`: what records of calls say of ranks, which are no arrivals.
    """
    content = {
        "schema": SCHEMA,
        "sources": [_source_object(source) for source in sources],
        "progress": [progress_object(one) for one in progress],
    }
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


def progress_object(progress: Progress) -> dict[str, Any]:
    """Return one group, as PROGRESS describes it."""
    return {
        "path": progress.path,
        "kind": progress.kind,
        "group": progress.group,
        "members": list(progress.members),
        "verdict": progress_sentences(progress),
        "counts": [_count_object(count) for count in progress.counts],
        "behind": _by_rank(progress.behind),
        "missing": [one._asdict() for one in progress.missing],
        "held": [call._asdict() for call in progress.held],
        "unlike": [{"number": call.number, "done": dict(call.done)} for call in progress.unlike],
        "failed": _by_rank(progress.failed),
    }


def _count_object(count: Count) -> dict[str, Any]:
    return {"collective": count.collective, "entered": _by_rank(count.entered), "left": _by_rank(count.left)}


def _by_rank(of_ranks: Any) -> dict[str, Any]:
    return {str(rank): value for rank, value in of_ranks.items()}
