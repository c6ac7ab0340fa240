"""What a loss cost, as a table and sentences, and as JSON."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..medians import median
from ..tables import UNBOUNDED, Screen, columns_of, fitted
from ..units import format_size, format_time, in_ranks
from .ways import FAILED, RECOVERED, RESTART, RESTARTED, ULFM, UNAVAILABLE, WRONG, Outcome, Settings

SCHEMA = "urn:allreduce-bench:survive:2"
NONE = "-"
RIGHT = {RECOVERED: "yes", RESTARTED: "yes", WRONG: "no", FAILED: "no result", UNAVAILABLE: NONE}  # by the state


def result_lines(
    settings: Settings, outcomes: Sequence[Outcome], screen: Screen = UNBOUNDED
) -> tuple[list[str], list[str]]:
    """Return the lines of the table, and sentences below it."""
    lost = ", ".join(one.words for one in settings.failures)
    lines = [f"{settings.launcher.library}, {in_ranks([settings.ranks])}; lost: {lost}"]
    if any(one.way == ULFM and one.state != UNAVAILABLE for one in outcomes):
        words = ", ".join(f"{name} {value}" for name, value in settings.detector.items())
        lines.append(f"detector of ULFM: {words}; what is not noticed within {settings.notice_s:g} s is started again")
    lines += ["", *fitted(_columns(settings, outcomes), screen)]
    return lines, reasons_of(outcomes)


def _middle(values: Iterable[float | None]) -> float | None:
    """Return the median of those that are known; None: none is."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def reasons_of(outcomes: Iterable[Outcome]) -> list[str]:
    """Return why ways were not gone to their end, each reason once."""
    reasons: dict[str, None] = {}
    for one in outcomes:
        if one.reason:
            where = "" if one.state == UNAVAILABLE else f"{one.algorithm}, {format_size(one.size_bytes)}, "
            reasons[f"{where}{one.way}: {one.state}: {one.reason}"] = None
    return [*reasons]


def _columns(settings: Settings, outcomes: Sequence[Outcome]):
    """Return a row for each kind of outcome, with medians over its launches."""
    groups: dict[tuple[str, int, str, str], list[Outcome]] = {}
    for one in outcomes:
        groups.setdefault((one.algorithm, one.size_bytes, one.way, one.state), []).append(one)
    rows = [["algorithm", "size", "way", "noticed", "total", "before", "after", "right"]]
    for (algorithm, size_bytes, way, state), of in groups.items():
        left = next((one.left for one in of if one.left), None)
        before = _middle(_median_s(one.call_s, settings.ranks) for one in of)
        after = _middle(_median_s(one.call_s, left) for one in of)
        rows.append(
            [
                algorithm,
                format_size(size_bytes),
                f"{way}, {RESTART}" if (way, state) == (ULFM, RESTARTED) else way,
                _spread(one.phases.get("notice") for one in of),
                _spread(one.total_s for one in of),
                *(NONE if time_s is None else format_time(time_s) for time_s in (before, after)),
                RIGHT[state] if len(of) == 1 else f"{RIGHT[state]} {len(of)} x",
            ]
        )
    return columns_of(rows, left=(0, 2, 7))


def _median_s(times_s: Mapping[int, list[float]], ranks: int | None) -> float | None:
    """Return the median of the calls at a number of ranks; None: it was not measured."""
    times = times_s.get(ranks or 0)
    return times[0] if times else None


def _spread(times_s: Iterable[float | None]) -> str:
    """Format the median with the least and largest of several times."""
    if not (known := [time_s for time_s in times_s if time_s is not None]):
        return NONE
    spread = f" ({format_time(min(known))}-{format_time(max(known))})" if len(known) > 1 else ""
    return format_time(median(known)) + spread


def json_text(settings: Settings, outcomes: Sequence[Outcome]) -> str:
    """Return `survive --format json`."""
    content = {
        "schema": SCHEMA,
        "library": settings.launcher.library,
        "ranks": settings.ranks,
        "failures": [one._asdict() for one in settings.failures],
        "notice_within_s": settings.notice_s,
        "detector": settings.detector,
        "outcomes": [_outcome_object(settings, one) for one in outcomes],
    }
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _outcome_object(settings: Settings, one: Outcome) -> dict[str, Any]:
    def times(of: Mapping[int, list[float]], ranks: int | None) -> dict[str, float] | None:
        return dict(zip(("median_s", "low_s", "high_s"), of[ranks])) if ranks in of else None  # type: ignore[index]

    return {
        "algorithm": one.algorithm,
        "size_bytes": one.size_bytes,
        "way": one.way,
        "state": one.state,
        "reason": one.reason,
        "phases_s": dict(one.phases),
        "total_s": one.total_s,
        "ranks_left": one.left,
        "steps_lost": one.steps_lost,
        "before": times(one.call_s, settings.ranks),
        "after": times(one.call_s, one.left),
        "before_with_agreement": times(one.guarded_s, settings.ranks),
        "after_with_agreement": times(one.guarded_s, one.left),
        "ratio": one.ratio,
    }
