"""The closing table of a run: sizes down, algorithms across."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from ..evaluation import agreement
from ..evaluation.competing import competing, defaults, mockups
from ..evaluation.doubts import ANOTHER, INVALID, OTHER_DEFAULT, REFERENCE, doubt_words
from ..evaluation.limits import LATENCY, LIMITS, LINKS, LOCAL, NETWORK_BOUND, passes_limit
from ..evaluation.summary_row import SummaryRow
from ..evaluation.verdict import verdicts
from ..runs.competitor import FORCED_DEFAULT
from ..runs.dtypes import arithmetic_note
from ..runs.plan import ImportedPlan, Plan
from ..runs.schema import BARRIER, LEFT_OUT, ROUND_TIME, split_values, state_words
from ..tables import UNBOUNDED, Screen, fitted, shown, wrapped
from ..units import few, format_size, format_time, three_digits
from . import caveats, how_measured, verdict_sentence
from .caveats import limit_findings
from .grid import EFFICIENCY, LEGEND, WHOLE, grid, interval_legend
from .how_measured import definition
from .launch_states_sentence import launch_apart_sentences, launch_states_sentences
from .verdict_sentence import contrast_sentences, either

MOST_NAMED = 12  # cells in one note


def table(
    plan: Plan,
    rows: Sequence[SummaryRow],
    library: str,
    screen: Screen = UNBOUNDED,
    attempts: Sequence[Mapping[str, Any]] = (),
) -> str:
    """Return the table of every rank count with its verdict, the missing cells and their reasons.

    No line is wider than the screen. `library` is named above each table, unless `attempts` name others at its ranks:
    the facts of the launches, in which imported ones name their logs and libraries.
    """
    tables = []
    for ranks in plan.ranks:
        own = libraries_of([fact for fact in attempts if fact["ranks"] == ranks]) or library
        tables.append(_table_of_ranks(plan, [row for row in rows if row["ranks"] == ranks], own, screen))
    contrasts = contrast_sentences(competing(rows), attempts) if rows else []
    return "\n".join([*tables, *([*wrapped(contrasts, screen), ""] if contrasts else [])])


def libraries_of(attempts: Sequence[Mapping[str, Any]]) -> str:
    """Return the MPI libraries of launches, from their facts; empty: not known."""
    named = (library for fact in attempts if (library := (fact.get("mpi") or {}).get("library")))
    return ", ".join(dict.fromkeys(map(str, named)))


def _table_of_ranks(plan: Plan, every: Sequence[SummaryRow], library: str, screen: Screen) -> str:
    rows = competing(every)
    columns = grid([*rows, *mockups(every), *defaults(every)], screen)
    above = [
        *([verdict_sentence.sentence(grade)] if (grade := rows[0].get("grading")) else []),
        *([verdict_sentence.noise_sentence(grade.noise)] if grade and grade.noise else []),
        *_headlines(plan, rows, library),
        LEGEND + interval_legend(columns, rows, screen),
        *([note] if (note := arithmetic_note(plan.dtype)) else []),
        *(_limit_legend(rows) if any(column.name == EFFICIENCY for column in shown(columns, screen)) else ()),
    ]
    below = [
        _counts_line(every),
        *(str(line) for verdict in verdicts(rows) for line in verdict_sentence.lines(verdict)),
        *_unranked_note(rows),
        *_of_defaults(every),
        *_of_parts(every),
        *_not_compared(rows),
        *_limit_notes(rows),
        *caveats.cluster_sentences(every),
        *launch_states_sentences(every),
        *launch_apart_sentences(every),
        *_reference_line(rows),
        *([how_measured.order_sentence(plan)] if plan.order else []),
        *_notes(every),
        *agreement.bits_sentences(plan, rows),
        *([carried] if (carried := how_measured.traffic_sentence(rows)) else []),
    ]
    return "\n".join([*wrapped(above, screen), "", *fitted(columns, screen, WHOLE), "", *wrapped(below, screen), ""])


def _headlines(plan: Plan, rows: Sequence[SummaryRow], library: str) -> list[str]:
    """Return the measured operation and its place, and the definition of a time."""
    if isinstance(plan, ImportedPlan):
        done = [row for row in rows if row["time_s"] is not None]
        operation = f"{plan.dtype or 'unknown type'} {plan.op or 'unknown operation'}"
        times = f"imported; time (us): {definition(done)}; median of launches"
        return [f"allreduce, {operation}, {where(rows)}, {library}", times]
    of_a_call = "last exit - last entry" if plan.arrival else "maximum over ranks"
    return [
        ", ".join(filter(None, [f"allreduce, {how_measured.operation_sentence(plan)}", where(rows), library])),
        ", ".join(
            filter(None, [f"time (us): {of_a_call}", _starts(rows), "median of repetitions, median of launches"])
        ),
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


def _limit_notes(rows: Sequence[SummaryRow]) -> list[str]:
    if not any(map(passes_limit, rows)):
        return []
    return [words for found in limit_findings(rows) for words in (found["text"], found["effect"])]


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


def _unranked_note(rows: Sequence[SummaryRow]) -> list[str]:
    """Return the times that are not ranked, with the reason."""
    cells: dict[str, list[str]] = {}
    for row in rows:
        if (doubt := row.get("doubt")) and doubt not in (REFERENCE, OTHER_DEFAULT):
            cells.setdefault(doubt, []).append(f"{_cell_name(row)}{_of_doubt(row)}")
    return [f"not ranked, {doubt_words(doubt)}: {few(names, MOST_NAMED)}" for doubt, names in cells.items()]


def _of_defaults(rows: Sequence[SummaryRow]) -> list[str]:
    """Say what native:default is, if it was measured."""
    return (
        [f"{FORCED_DEFAULT}: the library's own choice in the launches of forced algorithms, not ranked"]
        if defaults(rows)
        else []
    )


def _of_parts(rows: Sequence[SummaryRow]) -> list[str]:
    """Say where what the library's other operations make of an all-reduce beats native, if it was measured."""
    if not mockups(rows):
        return []
    from ..evaluation.rivals import part_comparisons, parts_sentence  # late: few runs have mock-ups

    return list(filter(None, [parts_sentence(part_comparisons(rows))]))


def _not_compared(rows: Sequence[SummaryRow]) -> list[str]:
    """Say at which sizes forced algorithms are not ranked, since their launches disturb the library by itself."""
    apart = [row for row in rows if row.get("doubt") == OTHER_DEFAULT]
    if not apart:
        return []
    names = list(dict.fromkeys(row["competitor"] for row in apart))
    ratio_of = {row["size_bytes"]: row["default_ratio"] for row in apart}
    parts = [
        f"{three_digits(ratio)} times native's time at {format_size(size_bytes)}"
        for size_bytes, ratio in sorted(ratio_of.items())
    ]
    who = names[0] if len(names) == 1 else " and ".join(names) if len(names) == 2 else f"{names[0]} and others"
    return [f"{who}: the default of their launches takes {', '.join(parts)}; not compared"]


def _of_doubt(row: SummaryRow) -> str:
    """Return ` (3 of 30)` invalid calls, or ` (recursive_doubling ran)`; empty for other doubts."""
    if row.get("doubt") == INVALID:
        return f" ({row['invalid']} of {row['invalid'] + row['repetitions']})"
    return f" ({either(row['ran'].names)} ran)" if row.get("doubt") == ANOTHER and row["ran"].names else ""


def _reference_line(rows: Sequence[SummaryRow]) -> list[str]:
    """Return the reference times in one line: an empty call, a local copy and a local reduction of the largest size."""
    floors = [
        (row["size_bytes"], copy_s, reduce_s)
        for row in rows
        if (copy_s := row["copy_floor_s"]) and (reduce_s := row["reduce_floor_s"])
    ]
    parts = [f"empty call {format_time(call_s)}" for row in rows[:1] if (call_s := row["call_floor_s"])]
    if floors:
        size_bytes, copy_s, reduce_s = max(floors, key=itemgetter(0))
        parts.append(f"local copy of {format_size(size_bytes)} {format_time(copy_s)}")
        parts.append(f"local reduction {format_time(reduce_s)}")
    return [f"reference times: {', '.join(parts)}"] if parts else []


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


def _cell_name(row: SummaryRow) -> str:
    return f"{row['competitor']} {format_size(row['size_bytes'])}"


def _cells_text(sizes: dict[int, list[str]], algorithms: int) -> str:
    """Return `all at 16 B, 32 B`, `ring 8 B`: cells that share a reason; sizes that lack all `algorithms` first."""
    complete_sizes = [format_size(size_bytes) for size_bytes, names in sizes.items() if len(names) == algorithms > 1]
    other_cells = [
        (name, size_bytes) for size_bytes, names in sizes.items() for name in names if not len(names) == algorithms > 1
    ]
    parts = [f"all at {', '.join(complete_sizes)}"] if complete_sizes else []
    others = [f"{name} {format_size(size_bytes)}" for name, size_bytes in other_cells]
    return ", ".join([*parts, *([few(others, MOST_NAMED)] if others else [])])


def _whole_notes(rows: Sequence[SummaryRow]) -> list[str]:
    """Say which steps were not cut although a pipelined way ran them, and why."""
    cells_of: dict[str, list[str]] = {}
    for row in rows:
        if why := row.get("run_whole"):
            cells_of.setdefault(why, []).append(_cell_name(row))
    return [f"ran whole: {few(cells, MOST_NAMED)}: {why}" for why, cells in cells_of.items()]


def _notes(rows: Sequence[SummaryRow]) -> list[str]:
    """Return the reasons why cells are missing, without duplicates, and the algorithms with bits that differ by
    rank.
    """
    algorithms = {row["competitor"] for row in rows}
    reasons: dict[tuple, dict[int, list[str]]] = {}
    for row in rows:
        if row["state"] != "done":
            cells = reasons.setdefault((row["state"], row["reason"]), {})
            cells.setdefault(row["size_bytes"], []).append(row["competitor"])
    notes = [
        f"{state_words(state)}: {_cells_text(sizes, len(algorithms))}: {reason}"
        for (state, reason), sizes in reasons.items()
    ]
    for row in rows:
        accidents = row.get("accidents") or () if row["state"] == "done" else ()
        notes += [f"hung: {_cell_name(row)} {accident.words}" for accident in accidents]
    notes += _whole_notes(rows)
    diverging = sorted({row["competitor"] for row in rows if row.get("same_bits") == 0})
    if diverging:
        notes.append(f"different bits on different ranks (replicas would diverge): {', '.join(diverging)}")
    broken = {row["competitor"]: words for row in rows if (words := agreement.broken_promise(row))}
    notes += [f"BROKEN PROMISE: {name}: {words}: {agreement.BUG}" for name, words in broken.items()]
    return notes
