"""The first lines of a page: who is the fastest at the size that most people ask for, whether to believe it, and what
to do next. One sentence each.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..evaluation.grade import GOOD, GRADES
from ..evaluation.summary_row import SummaryRow, competitor_of, time_of
from ..evaluation.verdict import ALL_EQUAL, EQUAL, UNCLEAR, Stretch, Verdict
from ..runs.cell import NATIVES, native_beside
from ..units import format_size, format_time, in_ranks, three_digits
from .grade_sentence import reason_words
from .live_chart import Switch
from .verdict_sentence import (
    MARGIN,
    MOST_NAMED,
    REASONS,
    SWITCH_POINT,
    advantage_words,
    contrast_sentences,
    leaders_words,
    lines,
    performance_words,
    printed_factor,
    span_words,
)

ASKED_NBYTES = 1 << 20  # where the measured sizes do not reach it: the nearest of them


class Answer(NamedTuple):
    """What the first screen says of a run."""

    sentence: str  # who is the fastest, and by how much
    level: str  # the worst grade of the rank counts
    advice: str  # what to do next


def answer(
    rows: Sequence[SummaryRow], verdicts: Sequence[Verdict], attempts: Sequence[Mapping[str, Any]] = ()
) -> Answer | None:
    """The answer of the largest rank count that has a verdict; None: no rank count has one.

    Of a single algorithm it is what its times say alone; `attempts`, the facts of its launches, name the logs.
    """
    if not verdicts:
        return None
    asked = max(verdicts, key=lambda verdict: verdict.ranks)
    sizes = sorted({row["nbytes"] for row in rows if row["ranks"] == asked.ranks and row["time_s"] and row["nbytes"]})
    nbytes = min(max(ASKED_NBYTES, sizes[0]), sizes[-1]) if sizes else ASKED_NBYTES
    stretch = _stretch_at(asked, nbytes)
    at_size = [row for row in rows if (row["ranks"], row["cache"], row["nbytes"]) == (asked.ranks, asked.cache, nbytes)]
    place = f"{format_size(nbytes)} on {in_ranks([asked.ranks])}"
    grades = {row["ranks"]: row["grading"] for row in rows}
    level = max((grade.level for grade in grades.values()), key=GRADES.index)
    advice = _advice(asked, stretch, grades[asked.ranks].reasons)
    if asked.alone:
        said = f"{asked.alone.algorithm} on {in_ranks([asked.ranks])}: {performance_words(asked.alone)}"
        return Answer("; ".join([said, *contrast_sentences(rows, attempts)]) + ".", level, advice)
    here = _at_this_size(stretch, at_size)
    return Answer(f"{_who(asked, stretch)} at {place}{here}{_how_much(asked, stretch, at_size)}.", level, advice)


def switches(verdicts: Sequence[Verdict]) -> dict[int, list[Switch]]:
    """The switch points of each rank count, for the figures over size."""
    found: dict[int, list[Switch]] = {}
    for verdict in verdicts:
        words = [str(line) for line in lines(verdict) if line.lead == SWITCH_POINT]
        overs = [over for over in verdict.hand_overs if over]
        found[verdict.ranks] = [Switch(over.nbytes, over.low, over.high, text) for over, text in zip(overs, words)]
    return found


def _stretch_at(verdict: Verdict, nbytes: int) -> Stretch | None:
    around = [stretch for stretch in verdict.stretches if stretch.low <= nbytes <= stretch.high]
    return next((stretch for stretch in around if nbytes not in stretch.exceptions), None)


def _who(verdict: Verdict, stretch: Stretch | None) -> str:
    if stretch and stretch.is_won:
        return f"{stretch.leaders[0]} is the fastest"
    return "No algorithm is shown to be the fastest"


def _at_this_size(stretch: Stretch | None, at_size: Sequence[SummaryRow]) -> str:
    """` (127 ms, 1.96 times faster than native)`: the winner at the size itself."""
    row = next((row for row in at_size if stretch and competitor_of(row) == stretch.leaders[0]), None)
    if not (stretch and stretch.is_won and row and row["time_s"]):
        return ""
    beside = native_beside(row["executor"])
    native = next((other for other in at_size if competitor_of(other) == beside and other is not row), None)
    if native is None or row["speedup"] is None:
        return f" ({format_time(row['time_s'])})"
    gain = printed_factor((time_of(native), row["time_s"]))
    return f" ({format_time(row['time_s'])}, {three_digits(gain)} times faster than native)"


def _how_much(verdict: Verdict, stretch: Stretch | None, at_size: Sequence[SummaryRow]) -> str:
    if stretch is None:
        leaders = tuple(competitor_of(row) for row in at_size if row.get("standing") in (EQUAL, UNCLEAR))
        if verdict.reason not in ("", ALL_EQUAL) or len(leaders) < 2:
            return f": {REASONS.get(verdict.reason, 'the times at this size do not show a winner')}"
        is_equal = all(row.get("standing") != UNCLEAR for row in at_size)
        return f": {_names(leaders)} {_relation(is_equal)}"
    advantage = advantage_words(stretch.advantage, verdict.grade, stretch.leaders[0] in NATIVES)
    over = f", over {span_words(stretch)}" if stretch.advantage and len(stretch.advantage.times_s) > 1 else ""
    if stretch.is_won:
        return f"{advantage}{over}"
    if len(stretch.leaders) == 1:
        return f"; {stretch.leaders[0]} is nowhere slower than another{advantage}{over}"
    return f": {_names(stretch.leaders)} {_relation(stretch.is_equal)}{advantage}{over}"


def _names(leaders: Sequence[str]) -> str:
    """`native, ring and two_tree`."""
    return (
        f"{', '.join(leaders[:-1])} and {leaders[-1]}" if len(leaders) <= MOST_NAMED else f"{len(leaders)} algorithms"
    )


def _relation(is_equal: bool) -> str:
    return f"are equal within {MARGIN}" if is_equal else "cannot be distinguished"


def _advice(verdict: Verdict, stretch: Stretch | None, reasons: Sequence) -> str:
    """What to do next: mend what spoils the times, else use the winner."""
    if verdict.grade != GOOD and reasons:
        found, mend = reason_words(reasons[0])
        return f"{found}: {mend}, and measure again before you decide."
    if stretch and stretch.is_won and stretch.leaders[0] not in NATIVES:
        return f"use {stretch.leaders[0]} for {span_words(stretch)} on {in_ranks([verdict.ranks])}."
    if verdict.alone:
        return "measure another algorithm beside it, or another system, to compare them: allreduce-bench compare."
    if stretch:
        return f"keep {leaders_words(stretch)}; another algorithm gains nothing here."
    return "keep native, or measure again with more launches (--launches)."
