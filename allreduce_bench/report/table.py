"""The closing table of a run: for each number of ranks sizes down, competitors across, then the verdict.

What the tables share is said above the first one.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..evaluation.competing import competing, defaults, mockups
from ..evaluation.grade import is_disturbed
from ..evaluation.limits import LATENCY, LIMITS, LINKS, LOCAL, NETWORK_BOUND
from ..evaluation.settable import find_settable, lacks_settable
from ..evaluation.summary_row import SummaryRow
from ..evaluation.verdict import verdicts
from ..runs.dtypes import arithmetic_note
from ..runs.plan import ImportedPlan, Plan
from ..runs.schema import BARRIER, LEFT_OUT, ROUND_TIME, split_values, state_words
from ..tables import UNBOUNDED, Screen, fitted, shown, wrapped
from ..units import counted
from . import how_measured
from .grade_sentence import grade_sentence
from .grid import EFFICIENCY, LEGEND, MINIMA, WHOLE, grid, interval_legend
from .how_measured import definition_words
from .table_notes import further_notes, notes_on_cells, notes_on_trust
from .verdict_sentence import settable_sentence, verdict_sentence

MOST_REASONS = 2  # of a grade
MOST_LINES = 3  # on trust: the grade and the weightiest notes; the page and `show -v` have all


def table(
    plan: Plan,
    rows: Sequence[SummaryRow],
    library: str,
    screen: Screen = UNBOUNDED,
    attempts: Sequence[Mapping[str, Any]] = (),
    every_note: bool = False,
) -> str:
    """Return the tables of all rank counts, each with its verdict, the reasons for missing cells, and notes on trust.

    No line is wider than the screen. `library` is named above the tables, unless `attempts` name others at a rank
    count: the facts of the launches, in which imported ones name their logs and libraries. `every_note`: as many notes
    as there are.
    """
    rows_of = {ranks: of for ranks in plan.ranks if (of := [row for row in rows if row["ranks"] == ranks])}
    attempts_of = {ranks: [one for one in attempts if one["ranks"] == ranks] for ranks in rows_of}
    libraries = {ranks: libraries_of(of_ranks) or library for ranks, of_ranks in attempts_of.items()}
    shared = next(iter(libraries.values())) if len({*libraries.values()}) == 1 else ""
    parts = ["\n".join(wrapped(_heading(plan, rows, shared, screen), screen))]
    left_out = 0
    for ranks, of_ranks in rows_of.items():
        text, unsaid = _table_of_ranks(plan, of_ranks, "" if shared else libraries[ranks], screen, every_note)
        parts.append(text)
        left_out += unsaid
    closing = [_counts_line(rows)]
    closing += [settable_sentence(None)] if lacks_settable(plan, rows) else []
    closing += [f"({counted(left_out, 'more note')}: show RUN -v, and the report)"] if left_out else []
    return "\n\n".join([*parts, "\n".join(wrapped(closing, screen))]) + "\n"


def libraries_of(attempts: Sequence[Mapping[str, Any]]) -> str:
    """Return the MPI libraries of launches, from their facts; empty: not known."""
    named = (library for fact in attempts if (library := (fact.get("mpi") or {}).get("library")))
    return ", ".join(dict.fromkeys(map(str, named)))


def _table_of_ranks(
    plan: Plan, every: Sequence[SummaryRow], library: str, screen: Screen, every_note: bool
) -> tuple[str, int]:
    """Return the table of one rank count with what stands below it, and how many notes were left out."""
    rows = competing(every)
    columns = grid([*rows, *mockups(every), *defaults(every)], screen)
    found = find_settable([every])
    trust = notes_on_trust(every)
    if every_note:
        trust += further_notes(every)
    most = len(trust) if every_note else MOST_LINES - 1
    below = [
        *map(verdict_sentence, verdicts(rows)),
        *([settable_sentence(found)] if found else []),
        *notes_on_cells(plan, every),
        *([grade_sentence(grade, None if every_note else MOST_REASONS)] if (grade := rows[0].get("grading")) else []),
        *trust[:most],
    ]
    heading = ", ".join(filter(None, [where(rows), library]))
    text = [*wrapped([heading], screen), *fitted(columns, screen, WHOLE), "", *wrapped(below, screen)]
    return "\n".join(text), len(trust[most:])


def _heading(plan: Plan, rows: Sequence[SummaryRow], library: str, screen: Screen) -> list[str]:
    """Return the measured operation, the definition of a time, the marks and the lower bound."""
    columns = grid([*competing(rows), *mockups(rows), *defaults(rows)], screen)
    if isinstance(plan, ImportedPlan):
        done = [row for row in rows if row["time_s"] is not None]
        operation = f"{plan.dtype or 'unknown type'} {plan.op or 'unknown operation'}"
        times = f"imported; time (us): {definition_words(plan, done)}; median of launches"
    else:
        operation = how_measured.operation_sentence(plan)
        of_a_call = "last exit - last entry" if plan.arrival else "maximum over ranks"
        times = ", ".join(
            filter(None, [f"time (us): {of_a_call}", _starts(rows), "median of repetitions, median of launches"])
        )
    minima = f"   {MINIMA}" if any(map(is_disturbed, rows)) else ""
    return [
        ", ".join(filter(None, [f"allreduce, {operation}", library])),
        times,
        LEGEND + minima + interval_legend(columns, rows, screen),
        *([note] if (note := arithmetic_note(plan.dtype)) else []),
        *(_limit_legend(rows) if any(column.name == EFFICIENCY for column in shown(columns, screen)) else ()),
    ]


def _starts(rows: Sequence[SummaryRow]) -> str:
    """Return `calls begun at a common time`; empty: unknown."""
    begun = {start for row in rows for start in split_values(row.get("start"))}
    words = {ROUND_TIME: "at a common time", BARRIER: "after a barrier"}
    return f"calls begun {' or '.join(words[start] for start in words if start in begun)}" if begun else ""


def _limit_legend(rows: Sequence[SummaryRow]) -> list[str]:
    """Describe the lower bounds that the lowest times are compared with."""
    made_of = {
        LINKS: f"2(N-1)/N n bytes of each of N nodes over {rows[0].get('link')}",
        LATENCY: "log2 N messages of half the measured round trip",
        LOCAL: "(p-1)/p of the reference times of copy and reduction",
    }
    kinds = {row.get("limit_by") for row in rows}
    of_network = f" ({NETWORK_BOUND})" if kinds & {LINKS, LATENCY} else ""
    bound = f"{'; or '.join(made_of[kind] for kind in LIMITS if kind in kinds)}{of_network}"
    return [f"lower bound: {bound}   {EFFICIENCY}: lower bound / time"]


def where(rows: Sequence[SummaryRow]) -> str:
    """Return the ranks and nodes of rows of one rank count, with warnings: `4 ranks on 1 node`."""
    first = rows[0]
    nodes = next((row["nodes"] for row in rows if row.get("nodes")), None)
    declared = next((row["nodes_declared"] for row in rows if row.get("nodes_declared")), None)
    words = [f"{first['ranks']} ranks" if first["ranks"] != 1 else "1 rank"]
    if first.get("groups_in_words"):
        words[0] += f", {first['groups_in_words']} at the same time,"
    if nodes:
        words.append(f"on {nodes} node{'s' if nodes != 1 else ''}")
    if declared:
        words.append(f"(PRETENDED: {declared} nodes)")
    if any(row.get("oversubscribed") for row in rows):
        words.append("(OVERSUBSCRIBED: more ranks than cores)")
    return " ".join(words)


def _counts_line(rows: Sequence[SummaryRow]) -> str:
    states = [row["state"] for row in rows]
    counts = [
        f"{states.count(state)} {state_words(state)}"
        for state in ("hung", LEFT_OUT, "missing", "refused", "skipped")
        if state in states
    ]
    is_unchecked = "done" in states and all(row.get("wrong") is None for row in rows)
    wrong = "results not checked" if is_unchecked else f"{sum(row.get('wrong') or 0 for row in rows)} wrong elements"
    return ", ".join([f"{states.count('done')} of {len(rows)} cells done", wrong, *counts]) + "."
