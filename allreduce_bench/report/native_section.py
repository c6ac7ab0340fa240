"""Native and its mock-ups compared: their times, native's time over each, and the page's section about native."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any, NamedTuple

import pandas as pd

from ..evaluation.cell_times import competing, mockups
from ..evaluation.grade import GOOD, MOST_FACTOR
from ..evaluation.summary_row import SummaryRow
from ..identifying.evidence import Answer
from ..message import say
from ..models.guidelines import (
    GUIDELINES,
    RIVAL,
    NativeComparison,
    comparisons,
    guidelines_sentence,
    rival_comparisons,
    rivals_sentence,
    slower_lines,
)
from ..runs.cell import MOCKUPS, NATIVE
from ..runs.identified import NO, OPEN, YES, Identified, Ran
from ..runs.plan import Plan
from ..tables import UNBOUNDED, Column, Field, Screen, fitted, wrapped
from ..units import format_size, in_ranks, three_digits
from .grid import NO_MARK, brief_state
from .verdict_sentence import printed_factor

MARK = " !"
ASKED = {YES: "report.ran_asked", OPEN: "report.ran_asked_open", NO: "report.ran_not_asked"}
UNCHECKED = "No guideline could be checked: the times of native are not ranked or not reliable."
LEGEND = (
    "time (us); x: time of native called from Python / that time; ! native is shown to be slower (95 % over all "
    "guidelines of the run)"
)


def guideline_lines(
    rows: Sequence[SummaryRow], compared: Sequence[NativeComparison], screen: Screen = UNBOUNDED
) -> list[str]:
    """Return the table of rows of one number of ranks and cache, with the violations there, fitted to the screen.

    `compared`: of all rows of the run. Empty: no mock-up was measured.
    """
    made = mockups(rows)
    if not made:
        return []
    here = [one for one in compared if (one.ranks, one.cache) == (made[0]["ranks"], made[0]["cache"])]
    head, *lines = guideline_rows(rows, here)
    first = Column(("", head[0]), tuple(Field(line[0]) for line in lines))
    columns = [first, *(_column(name, [line[i] for line in lines]) for i, name in enumerate(head[1:], start=1))]
    violated = [
        say(
            "report.violated_not_worst",
            algorithm=line["algorithm"],
            expected=line["expected"],
            sizes=line["sizes"],
            worst=line["worst"],
        )
        for line in slower_lines(here, GUIDELINES)
    ]
    said = guidelines_sentence(here) if here else UNCHECKED
    legend = wrapped([f"guidelines: {LEGEND}"], screen)
    return [*legend, "", *fitted(columns, screen), "", *wrapped([said, *violated], screen)]


def guideline_tables(
    rows: Sequence[SummaryRow], compared: Sequence[NativeComparison]
) -> list[tuple[str, list[list[str]]]]:
    """Return (title, words with the header first) of each number of ranks and cache that has mock-ups."""
    keys = dict.fromkeys((row["ranks"], row["cache"]) for row in mockups(rows))
    return [
        (
            in_ranks([ranks]) + (", cold cache" if cache == "cold" else ""),
            guideline_rows([row for row in rows if (row["ranks"], row["cache"]) == (ranks, cache)], compared),
        )
        for ranks, cache in keys
    ]


def guideline_rows(rows: Sequence[SummaryRow], compared: Sequence[NativeComparison]) -> list[list[str]]:
    """Return the words of the table of one number of ranks and cache, the header first."""
    natives = {row["nbytes"]: row for row in competing(rows) if row["algorithm"] == row["executor"] == NATIVE}
    made = {(row["nbytes"], row["algorithm"]): row for row in mockups(rows)}
    names = [name for name in MOCKUPS if any(name == key[1] for key in made)]
    slower = {(one.ranks, one.cache, one.nbytes, one.against) for one in compared if one.slower}
    lines = []
    for nbytes in sorted({nbytes for nbytes, _ in made}):
        native = natives.get(nbytes)
        times = [_time_words(native, made.get((nbytes, name)), slower) for name in names]
        lines.append([format_size(nbytes), _time_text(native), *times])
    return [["size", NATIVE, *(" + ".join(MOCKUPS[name]) for name in names)], *lines]


def _time_words(native: SummaryRow | None, row: SummaryRow | None, slower: set[tuple]) -> str:
    """Return `9.81 x1.40 !`: the time of a mock-up, native's time over it, and whether native is shown to be slower."""
    if row is None or row["time_s"] is None or native is None or native["time_s"] is None:
        return _time_text(row)
    mark = MARK if (row["ranks"], row["cache"], row["nbytes"], row["algorithm"]) in slower else ""
    factor = printed_factor((native["time_s"], row["time_s"]))
    is_beyond_telling = factor > MOST_FACTOR and row.get("grade", GOOD) != GOOD
    return f"{_time_text(row)} x{f'>{MOST_FACTOR}' if is_beyond_telling else three_digits(factor)}{mark}"


def _time_text(row: SummaryRow | None) -> str:
    if row is None:
        return "-"
    return brief_state(row["state"]) if row["time_s"] is None else three_digits(row["time_s"] * 1e6)


def _column(name: str, words: Sequence[str]) -> Column:
    """Return the column of native, or that of a mock-up under the functions it calls, with room for marks."""
    first, plus, second = name.partition(" + ")
    if not plus:
        return Column(("", first), tuple(map(Field, words)))
    fields = tuple(Field(word if word.endswith(MARK) else word + NO_MARK) for word in words)
    return Column((first + NO_MARK, f"+ {second}{NO_MARK}"), fields)


# Native on a page: which algorithm it ran, the guidelines it violates, its faster rivals


class RanLine(NamedTuple):
    """What the library ran at neighbouring sizes."""

    algorithm: str
    ranks: str
    sizes: str
    ran: str
    evidence: str
    asked: str  # whether it is the one that was asked for; empty: none was


def ran_lines(identified: Mapping[int, Identified]) -> list[RanLine]:
    """Return a line for each stretch of sizes at which the same was seen."""
    lines = []
    for ranks, found in identified.items():
        for (algorithm, _, asked), stretch in groupby(found.ran, _seen):
            first, *others = stretch
            sizes = " to ".join(dict.fromkeys(format_size(one.nbytes) for one in (first, *others[-1:])))
            answer = Answer(first.names, first.by_order, first.by_messages, first.order)
            verdict = say(ASKED[asked]) if asked else ""
            lines.append(RanLine(algorithm, in_ranks([ranks]), sizes, answer.words, answer.evidence, verdict))
    return lines


def _seen(ran: Ran) -> tuple[str, str, str | None]:
    """Return what neighbouring sizes of one line share."""
    answer = Answer(ran.names, ran.by_order, ran.by_messages, ran.order)
    return ran.algorithm, f"{answer.words} {answer.evidence}", ran.asked


def ran_sentences(plan: Plan, identified: Mapping[int, Identified]) -> list[str]:
    """Return what is to be known about the lines: ranks that were not looked at, other types, uncounted messages."""
    if NATIVE not in plan.algorithms:
        return [say("report.native_not_measured")]
    sentences = []
    if unknown := [ranks for ranks in plan.ranks if ranks > 1 and ranks not in identified]:
        sentences.append(say("report.ran_unknown", ranks=in_ranks(unknown)))
    other = {(found.dtype, found.op) for found in identified.values()} - {(plan.dtype, plan.op)}
    for dtype, op in sorted(other):
        sentences.append(say("report.ran_other_type", dtype=dtype, op=op, own_dtype=plan.dtype, own_op=plan.op))
    return sentences + list(dict.fromkeys(found.not_counted for found in identified.values() if found.not_counted))


def native_section(plan: Plan, rows: Sequence[SummaryRow], identified: Mapping[int, Identified]) -> dict[str, Any]:
    """Return the page's values about native: what it ran, the guidelines it violates, and faster rivals."""
    files: dict[str, pd.DataFrame] = {}
    ran = {"lines": ran_lines(identified), "sentences": ran_sentences(plan, identified)}
    if identified:
        seen = [{"ranks": ranks, **asdict(one)} for ranks, found in identified.items() for one in found.ran]
        files["identified"] = pd.DataFrame(seen).assign(names=[" or ".join(one["names"]) for one in seen])
    compared, rivals = comparisons(rows), rival_comparisons(rows)
    guidelines = {
        "compared": compared,
        "lines": slower_lines(compared, GUIDELINES),
        "sentence": guidelines_sentence(compared),
        "tables": guideline_tables(rows, compared),
        "legend": LEGEND,
    }
    against_rivals = {
        "compared": rivals,
        "lines": slower_lines(rivals, [RIVAL]),
        "sentence": rivals_sentence(rivals),
    }
    files |= {"guidelines": pd.DataFrame(compared)} if compared else {}
    files |= {"rivals": pd.DataFrame(rivals)} if rivals else {}
    return {"ran": ran, "guidelines": guidelines, "rivals": against_rivals, "files": files}
