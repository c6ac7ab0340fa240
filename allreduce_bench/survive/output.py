"""What a loss cost, as a table and sentences, as CSV, and as JSON."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..medians import median
from ..models.checkpoint_interval import daly_s, share_lost, young_s
from ..tables import UNBOUNDED, Screen, columns_of, fitted
from ..units import format_long_time, format_size, format_time, in_ranks
from . import BY_RESTART, BY_ULFM
from .ways import FAILED, RECOVERED, RESTART, RESTARTED, ULFM, UNAVAILABLE, WRONG, Outcome, Settings

SCHEMA = "urn:allreduce-bench:survive:1"
PHASES = tuple(dict.fromkeys((*BY_ULFM[:-3], *BY_RESTART)))  # of either way, in their order
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
    return lines, [*reasons_of(outcomes), *_intervals(settings, outcomes)]


def _middle(values: Iterable[float | None]) -> float | None:
    """Return the median of those that are known; None: none is."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def reasons_of(outcomes: Iterable[Any]) -> list[str]:
    """Return why ways were not gone to their end, each reason once; of Outcomes, or of what was read of them."""
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


def _intervals(settings: Settings, outcomes: Sequence[Outcome]) -> list[str]:
    """Return how often to write checkpoints, and what a loss then costs in each way."""
    if settings.mttf_s is None or settings.takes_s is None:
        return []
    costs = settings.takes_s, settings.mttf_s
    takes, mttf, young, daly = map(format_long_time, (*costs, young_s(*costs), daly_s(*costs)))
    lines = [f"checkpoints of {takes}, a loss every {mttf}: write one every {young} (Young), {daly} (Daly)"]
    for way, state in ((ULFM, RECOVERED), (RESTART, RESTARTED)):
        recovery_s = _middle(one.total_s for one in outcomes if (one.way, one.state) == (way, state))
        if recovery_s is not None:
            every_s = daly_s(*costs)
            # those that go on from the same step lose no work; all write checkpoints, for losses that none outlives
            again_s = recovery_s if way == RESTART else recovery_s - every_s / 2
            share = share_lost(every_s, settings.takes_s, again_s, settings.mttf_s)
            lines.append(
                f"{way}: a recovery takes {format_time(recovery_s)}; checkpoints, lost work and recoveries take "
                f"{100 * share:.3g} % of the time"
            )
    return lines


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
        "proved": one.proved,
        "before": times(one.call_s, settings.ranks),
        "after": times(one.call_s, one.left),
        "before_with_agreement": times(one.guarded_s, settings.ranks),
        "after_with_agreement": times(one.guarded_s, one.left),
        "ratio": one.ratio,
        "predicted_ratio": one.predicted_ratio,
    }


def csv_text(settings: Settings, outcomes: Sequence[Outcome]) -> str:
    """Return `survive --format csv`: a row for each outcome, seconds of each phase, empty where there is none."""
    rows = []
    for one in outcomes:
        whole_row = _outcome_object(settings, one)
        row = {name: whole_row[name] for name in ("algorithm", "size_bytes", "way", "state")}
        row |= {f"{phase}_s": one.phases.get(phase) for phase in PHASES}
        row |= {name: whole_row[name] for name in ("total_s", "ranks_left", "steps_lost")}
        for side in ("before", "after", "before_with_agreement", "after_with_agreement"):
            row[f"{side}_s"] = (whole_row[side] or {}).get("median_s")
        rows.append(row | {name: whole_row[name] for name in ("ratio", "predicted_ratio", "reason")})
    written = io.StringIO()
    writer = csv.DictWriter(written, rows[0] if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return written.getvalue()
