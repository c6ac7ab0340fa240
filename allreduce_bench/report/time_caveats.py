"""Caveats about measured times, found from their calls, intervals and reference times. Texts."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..evaluation import competitors
from ..evaluation.cell_times import MIN_LAUNCHES, split_values
from ..evaluation.competitors import MUCH_INVALID, STRONG_DRIFT, drifts
from ..evaluation.launch_states import FEWEST_LAUNCHES
from ..evaluation.limits import passes_link
from ..evaluation.summary_row import SummaryRow, competitor_of, time_of
from ..measuring.budget import MAX_REPETITIONS
from ..stats import LEAST_FOR_INTERVAL
from ..units import format_time
from . import launch_states_sentence
from .caveat import Caveat, Note, cell_size, cells_text
from .limit_findings import limit_findings

STRONG_LAG1, SLIGHT_DRIFT = 0.5, 1.1
FLOORS = {"call_floor_s": "no call at all", "copy_floor_s": "a local copy of the vector"}


def find_time_caveats(rows: Sequence[SummaryRow]) -> list[Caveat]:
    """The caveats that the rows of a summary give about their times."""
    done = [row for row in rows if row["time_s"] is not None]
    return [*_of_intervals(rows), *_of_states(done), *_of_floors(done), *_of_limits(rows), *_of_calls(done)]


def _of_intervals(rows: Sequence[SummaryRow]) -> list[Caveat]:
    kinds = {row.get("interval") for row in rows}
    if not kinds & {"repetitions", "range"}:
        return []
    notes = [Note("The spread between launches is unknown: the intervals cover the spread within launches only.")]
    if "range" in kinds:
        notes.append(
            Note(
                f"Cells with fewer than {LEAST_FOR_INTERVAL} calls have no interval: "
                "no algorithm can be distinguished from the fastest."
            )
        )
    return [Caveat("caution", f"fewer than {MIN_LAUNCHES} launches", tuple(notes))]


def _of_states(done: Sequence[SummaryRow]) -> list[Caveat]:
    """Launches in two states, detected or suspected."""
    caveats = []
    if told := launch_states_sentence.told_sentences(done):
        effect = (
            "the median over the launches represents neither state; it is not used for a winner, a fit or a comparison"
        )
        advice = "find out what differs between these launches: nodes, placement, or a timer in the transport"
        if all(states.differences for row in done if (states := row.get("launch_states"))):
            advice = "measure launches that do not differ in this, each kind as a run of its own"
        notes = (*map(Note, told[:-1]), Note(told[-1], effect, advice))
        caveats.append(Caveat("caution", "launches in two states", notes))
    if suspected := launch_states_sentence.suspicion_sentences(done):
        notes = (*map(Note, suspected[:-1]), Note(suspected[-1], "", f"add launches: {FEWEST_LAUNCHES} or more"))
        caveats.append(Caveat("caution", "two states or noise", notes))
    return caveats


class Remark(NamedTuple):
    """One caveat that the calls of measured cells can give about their times."""

    level: str  # caution: the cells are not ranked; info: their intervals account for it
    badge: str
    holds: Callable[[SummaryRow], bool]
    text: str  # follows the number of them
    effect: str
    advice: str


def _of_calls(done: Sequence[SummaryRow]) -> list[Caveat]:
    """The caveats that the calls of the measured cells give about their times."""
    findings = []
    for remark in REMARKS:
        if rows := [row for row in done if remark.holds(row)]:
            text = f"{len(rows)} of {len(done)} {remark.text}: {cells_text(rows)}"
            findings.append(Caveat(remark.level, remark.badge, (Note(text, remark.effect, remark.advice),)))
    return findings


def _is_doubted(*doubts: str) -> Callable[[SummaryRow], bool]:
    return lambda row: row.get("doubt") in doubts


def _drifts_slightly(row: SummaryRow) -> bool:
    return row.get("doubt") != competitors.DRIFT and drifts(row, SLIGHT_DRIFT)


def _is_imprecise(row: SummaryRow) -> bool:
    """Whether something else than --precision ended it in some launch."""
    return bool({"time", "calls", "within"} & set(split_values(row.get("stopped"))))


def _depends_on_previous(row: SummaryRow) -> bool:
    """Whether lag-1 is strong, and too strong for chance in a launch of so many calls (95 %)."""
    calls = row["repetitions"] / row["launches"]
    return row["lag1"] is not None and row["lag1"] > max(STRONG_LAG1, 2 / calls**0.5)


REMARKS = (
    Remark(
        "caution",
        "different timing methods",
        _is_doubted(competitors.DEFINITIONS, competitors.OTHER_DEFINITION),
        "cells were timed by another method than others of the same size, or by different methods in their launches",
        "part of the difference between such times comes from the method: they are not ranked",
        "choose one synchronisation method for all calls with --sync",
    ),
    Remark(
        "caution",
        "many invalid calls",
        _is_doubted(competitors.INVALID),
        f"cells lost more than {MUCH_INVALID:.0%} of their calls because a rank was late or a clock was wrong",
        "the invalid calls may be the slow ones, so the remaining times may be too short: they are not ranked",
        "give each rank its own core, or use --sync barrier",
    ),
    Remark(
        "info",
        "precision not reached",
        _is_imprecise,
        "cells stopped before --precision was reached in some launch, at the limit on time or on calls",
        "their intervals are wider than requested",
        f"increase --cell-time; for more than {MAX_REPETITIONS} calls, increase --min-time",
    ),
    Remark(
        "info",
        "calls depend on each other",
        _depends_on_previous,
        f"cells have correlated calls (rank correlation of consecutive calls above {STRONG_LAG1:g})",
        "fewer independent samples; the intervals account for it, the quantiles do not",
        "look for intermittent activity on the machine or the network",
    ),
    Remark(
        "info",
        "vectors a few bytes apart",
        lambda row: bool(row.get("close_moves")),
        "cells copied between places that are 1 to 31 bytes apart modulo a page",
        "some processors take several times as long for such copies (docs/placement.md)",
        "measure with --placement page beside it; doctor says whether this processor does",
    ),
    Remark(
        "info",
        "messages of several ranges",
        lambda row: bool(row.get("unknown_moves")),
        "cells have messages of several ranges, which the MPI library packs where it likes",
        "whether these copies join places that are slow on some processors is unknown",
        "see docs/placement.md",
    ),
    Remark(
        "info",
        "times drift slightly",
        _drifts_slightly,
        f"cells drifted within a launch, by more than {SLIGHT_DRIFT - 1:.0%} and by more than their interval",
        "the median depends on how long the cell ran",
        "use more --warmups or a longer --min-time",
    ),
    Remark(
        "caution",
        "times drift",
        _is_doubted(competitors.DRIFT),
        f"cells drifted within a launch, by a factor above {STRONG_DRIFT:g} and by more than their interval",
        "the cell has no single time; its median depends on how long it ran: they are not ranked",
        "use more --warmups or a longer --min-time",
    ),
)


def _of_floors(done: Sequence[SummaryRow]) -> list[Caveat]:
    """All-reduces that took less than an empty call or, between ranks, than a copy of the vector."""
    texts = [
        f"{competitor_of(row)} {cell_size(row)}, {row['ranks']} ranks, took {format_time(time_of(row))}, "
        f"{FLOORS[name]} {format_time(floor_s)}"
        for row in done
        for name, floor_s in competitors.passed_floors(row).items()
    ]
    effect = (
        "the time is implausibly short, or the machine was disturbed during the reference measurement: it is not ranked"
    )
    notes = tuple(Note(text, effect, "measure again; if it happens again, suspect the clock") for text in texts)
    return [Caveat("caution", "times below a reference time", notes)] if notes else []


def _of_limits(rows: Sequence[SummaryRow]) -> list[Caveat]:
    """All-reduces that took less than their limit."""
    notes = [Note(found["text"], found["effect"], found["advice"]) for found in limit_findings(rows)]
    badge = "faster than the links allow" if any(map(passes_link, rows)) else "faster than their limit"
    return [Caveat("caution", badge, tuple(notes))] if notes else []
