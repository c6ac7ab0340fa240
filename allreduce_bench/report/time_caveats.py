"""What the calls, intervals and floors of the measured cells say against their times. Texts."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..evaluation import doubt
from ..evaluation.cell_times import MIN_LAUNCHES, split_values
from ..evaluation.doubt import MUCH_INVALID, STRONG_DRIFT, drifts
from ..evaluation.summary_row import SummaryRow, time_of
from ..lateness import FEWEST_LAUNCHES
from ..measuring.budget import MAX_REPETITIONS
from ..stats import LEAST_FOR_INTERVAL
from ..units import format_time
from . import launch_states_sentence
from .caveat import Caveat, Note, cell_size, cells_text
from .limit_findings import limit_findings

STRONG_LAG1, SLIGHT_DRIFT = 0.5, 1.1
FLOORS = {"call_floor_s": "no call at all", "copy_floor_s": "a local copy of the vector"}


def find_time_caveats(rows: Sequence[SummaryRow]) -> list[Caveat]:
    """What the rows of a summary say against their times."""
    done = [row for row in rows if row["time_s"] is not None]
    return [*_of_intervals(rows), *_of_states(done), *_of_floors(done), *_of_limits(rows), *_of_calls(done)]


def _of_intervals(rows: Sequence[SummaryRow]) -> list[Caveat]:
    kinds = {row.get("interval") for row in rows}
    if not kinds & {"repetitions", "range"}:
        return []
    notes = [Note("How much launches differ is not known: the intervals hold the spread within launches only.")]
    if "range" in kinds:
        notes.append(
            Note(f"Cells of fewer than {LEAST_FOR_INTERVAL} calls have no interval: nobody is told from the fastest.")
        )
    return [Caveat("caution", f"fewer than {MIN_LAUNCHES} launches", tuple(notes))]


def _of_states(done: Sequence[SummaryRow]) -> list[Caveat]:
    """Launches in two states, told or suspected."""
    caveats = []
    if told := launch_states_sentence.told_sentences(done):
        effect = "a median over the launches is the time of neither state: no winner, fit or comparison rests on it"
        advice = "look for what differs between these launches: nodes, placement, a timer of the transport"
        notes = (*map(Note, told[:-1]), Note(told[-1], effect, advice))
        caveats.append(Caveat("caution", "launches in two states", notes))
    if suspected := launch_states_sentence.suspicion_sentences(done):
        notes = (*map(Note, suspected[:-1]), Note(suspected[-1], "", f"add launches: {FEWEST_LAUNCHES} or more"))
        caveats.append(Caveat("caution", "two states, or noise", notes))
    return caveats


class Remark(NamedTuple):
    """One thing that the calls of measured cells can say of their times."""

    level: str  # caution: they are not ranked; info: their intervals know
    badge: str
    holds: Callable[[SummaryRow], bool]
    text: str  # follows the number of them
    effect: str
    advice: str


def _of_calls(done: Sequence[SummaryRow]) -> list[Caveat]:
    """What the calls of the measured cells say of their times."""
    findings = []
    for remark in REMARKS:
        if rows := [row for row in done if remark.holds(row)]:
            text = f"{len(rows)} of {len(done)} {remark.text}: {cells_text(rows)}"
            findings.append(Caveat(remark.level, remark.badge, (Note(text, remark.effect, remark.advice),)))
    return findings


def _is_doubted(*doubts: str) -> Callable[[SummaryRow], bool]:
    return lambda row: row.get("doubt") in doubts


def _drifts_slightly(row: SummaryRow) -> bool:
    return row.get("doubt") != doubt.DRIFT and drifts(row, SLIGHT_DRIFT)


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
        "different definitions of a time",
        _is_doubted(doubt.DEFINITIONS, doubt.OTHER_DEFINITION),
        "cells have times of another definition than others of their size, or than other launches of theirs",
        "the difference between two such times is partly one of how they were measured: they are not ranked",
        "choose one start of the calls with --sync",
    ),
    Remark(
        "caution",
        "many invalid calls",
        _is_doubted(doubt.INVALID),
        f"cells lost more than {MUCH_INVALID:.0%} of their calls, for which a rank came late or a clock was wrong",
        "calls that began badly may be the slow ones, so that the times left are too good: they are not ranked",
        "leave each rank a core of its own, or use --sync barrier",
    ),
    Remark(
        "info",
        "precision not reached",
        _is_imprecise,
        "cells ended, in some launch, before --precision was reached: their time or their most calls were used up",
        "their intervals are wider than was asked for",
        f"give them more by --cell-time, beyond {MAX_REPETITIONS} calls by --min-time",
    ),
    Remark(
        "info",
        "calls depend on each other",
        _depends_on_previous,
        f"cells have calls that follow each other (rank correlation of consecutive calls above {STRONG_LAG1:g})",
        "they say less than their number; the intervals know, the quantiles do not",
        "look for what comes and goes on the machine or the network",
    ),
    Remark(
        "info",
        "times drift slightly",
        _drifts_slightly,
        f"cells became slower or faster within a launch by more than {SLIGHT_DRIFT - 1:.0%} and their interval",
        "their median depends on how long they ran",
        "use more --warmups or a longer --min-time",
    ),
    Remark(
        "caution",
        "times drift",
        _is_doubted(doubt.DRIFT),
        f"cells became slower or faster within a launch by a factor of more than {STRONG_DRIFT:g} and their interval",
        "there is no single time of the cell, and its median depends on how long it ran: they are not ranked",
        "use more --warmups or a longer --min-time",
    ),
)


def _of_floors(done: Sequence[SummaryRow]) -> list[Caveat]:
    """All-reduces that took less than what every one of them holds: a call, and between ranks a copy of the vector."""
    texts = [
        f"{row['algorithm']} {cell_size(row)}, {row['ranks']} ranks, took {format_time(time_of(row))}, "
        f"{FLOORS[name]} {format_time(floor_s)}"
        for row in done
        for name, floor_s in doubt.passed_floors(row).items()
    ]
    effect = (
        "the time is too short to be true, or the machine was disturbed while the floor was measured: it is not ranked"
    )
    notes = tuple(Note(text, effect, "measure again; where it stays so, mistrust the clock") for text in texts)
    return [Caveat("caution", "times below a floor", notes)] if notes else []


def _of_limits(rows: Sequence[SummaryRow]) -> list[Caveat]:
    """All-reduces that took less than the links between the nodes are said to allow."""
    notes = [Note(found["text"], found["effect"], found["advice"]) for found in limit_findings(rows)]
    return [Caveat("caution", "faster than the links allow", tuple(notes))] if notes else []
