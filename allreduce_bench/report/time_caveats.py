"""What the calls, intervals and floors of the measured cells say against their times. Texts."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..evaluation.cell_times import MIN_LAUNCHES, split_values
from ..evaluation.summary import by_size
from ..evaluation.summary_row import SummaryRow, time_of
from ..measuring.budget import MAX_REPETITIONS
from ..stats import LEAST_FOR_INTERVAL
from ..units import format_time, in_ranks
from .caveat import Caveat, Note, cell_size

MUCH_INVALID = 0.1  # of the calls of a cell
STRONG_LAG1, STRONG_DRIFT = 0.5, 1.1
COPIES_FROM = 64 * 1024  # bytes: below, a call costs more than the copy in it


def find_time_caveats(rows: Sequence[SummaryRow]) -> list[Caveat]:
    """What the rows of a summary say against their times."""
    done = [row for row in rows if row["time_s"] is not None]
    return [*_of_intervals(rows), *_of_floors(done), *_of_calls(done)]


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


class Doubt(NamedTuple):
    """One thing that the calls of measured cells can say against their times."""

    badge: str
    chosen: Callable[[Sequence[SummaryRow]], list[SummaryRow]]  # the rows of which it is true
    text: str  # follows the number of them
    effect: str
    advice: str


def _of_calls(done: Sequence[SummaryRow]) -> list[Caveat]:
    """What the calls of the measured cells say against their times."""
    findings = []
    for doubt in DOUBTS:
        if rows := doubt.chosen(done):
            text = f"{len(rows)} of {len(done)} {doubt.text}: {_cells_text(rows)}"
            findings.append(Caveat("caution", doubt.badge, (Note(text, doubt.effect, doubt.advice),)))
    return findings


def _rows_that(holds: Callable[[SummaryRow], bool]) -> Callable[[Sequence[SummaryRow]], list[SummaryRow]]:
    return lambda done: list(filter(holds, done))


def _redefined(done: Sequence[SummaryRow]) -> list[SummaryRow]:
    """The rows whose launches, or whose rivals at the same size, have another definition of time_s."""
    redefined = []
    for group in by_size(done).values():
        several = len({row["time_definition"] for row in group}) > 1
        redefined += [row for row in group if several or len(split_values(row["time_definition"])) > 1]
    return redefined


def _loses_many(row: SummaryRow) -> bool:
    return row["invalid"] > MUCH_INVALID * (row["invalid"] + row["repetitions"])


def _is_imprecise(row: SummaryRow) -> bool:
    """Whether something else than --precision ended it in some launch."""
    return bool({"time", "calls", "within"} & set(split_values(row.get("stopped"))))


def _depends_on_previous(row: SummaryRow) -> bool:
    """Whether lag-1 is strong, and too strong for chance in a launch of so many calls (95 %)."""
    calls = row["repetitions"] / row["launches"]
    return row["lag1"] is not None and row["lag1"] > max(STRONG_LAG1, 2 / calls**0.5)


def _drifts(row: SummaryRow) -> bool:
    """Whether a launch drifts by much, and by more than the interval says of the cell's time anyway."""
    much = max(STRONG_DRIFT, row["time_high_s"] / row["time_low_s"])
    return row["drift"] is not None and not 1 / much <= row["drift"] <= much


DOUBTS = (
    Doubt(
        "different definitions of a time",
        _redefined,
        "cells have times of another definition than others of their size, or than other launches of theirs",
        "the difference between two such times is partly one of how they were measured",
        "choose one start of the calls with --sync",
    ),
    Doubt(
        "many invalid calls",
        _rows_that(_loses_many),
        f"cells lost more than {MUCH_INVALID:.0%} of their calls, for which a rank came late or a clock was wrong",
        "calls that began badly may be the slow ones, so that the times left are too good",
        "leave each rank a core of its own, or use --sync barrier",
    ),
    Doubt(
        "precision not reached",
        _rows_that(_is_imprecise),
        "cells ended, in some launch, before --precision was reached: their time or their most calls were used up",
        "their intervals are wider than was asked for",
        f"give them more by --cell-time, beyond {MAX_REPETITIONS} calls by --min-time",
    ),
    Doubt(
        "calls depend on each other",
        _rows_that(_depends_on_previous),
        f"cells have calls that follow each other (rank correlation of consecutive calls above {STRONG_LAG1:g})",
        "they say less than their number; the intervals know, the quantiles do not",
        "look for what comes and goes on the machine or the network",
    ),
    Doubt(
        "times drift",
        _rows_that(_drifts),
        f"cells became slower or faster within a launch by more than {STRONG_DRIFT - 1:.0%} and their interval",
        "there is no single time of the cell, and its median depends on how long it ran",
        "use more --warmups or a longer --min-time",
    ),
)


def _cells_text(rows: Sequence[SummaryRow]) -> str:
    """`ring (8 B, 1 KiB), two_tree (8 B) at 2 ranks; ...`."""
    sizes: dict[int, dict[str, list[str]]] = {}
    for row in rows:
        cell_sizes = sizes.setdefault(row["ranks"], {}).setdefault(row["algorithm"], [])
        cell_sizes.append(cell_size(row))
    return "; ".join(
        ", ".join(f"{name} ({', '.join(cell_sizes)})" for name, cell_sizes in algorithms.items())
        + f" at {in_ranks([ranks])}"
        for ranks, algorithms in sizes.items()
    )


def _of_floors(done: Sequence[SummaryRow]) -> list[Caveat]:
    """All-reduces that took less than what every one of them holds: a call, and between ranks a copy of the vector."""
    texts = []
    for row in done:
        floors = [("no call at all", row["call_floor_s"])]
        if row["ranks"] > 1 and row["nbytes"] >= COPIES_FROM:
            floors.append(("a local copy of the vector", row["copy_floor_s"]))
        below = [(label, floor_s) for label, floor_s in floors if floor_s and row["time_high_s"] < floor_s]
        texts += [
            f"{row['algorithm']} {cell_size(row)}, {row['ranks']} ranks, took {format_time(time_of(row))}, "
            f"{label} {format_time(floor_s)}"
            for label, floor_s in below
        ]
    effect = "the time is too short to be true, or the machine was disturbed while the floor was measured"
    notes = tuple(Note(text, effect, "measure again; where it stays so, mistrust the clock") for text in texts)
    return [Caveat("caution", "times below a floor", notes)] if notes else []
