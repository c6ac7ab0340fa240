"""Notes below a table: on cells that are missing, not ranked or wrong, on the trust in the times, and further ones."""

from collections.abc import Sequence
from operator import itemgetter

from ..evaluation import agreement
from ..evaluation.competing import competing, defaults, mockups
from ..evaluation.doubts import ANOTHER, INVALID, OTHER_DEFAULT, REFERENCE, doubt_words
from ..evaluation.limits import passes_limit
from ..evaluation.outliers import outliers
from ..evaluation.summary_row import SummaryRow, time_of
from ..evaluation.verdict import verdicts
from ..runs.competitor import FORCED_DEFAULT
from ..runs.plan import Plan
from ..runs.schema import LEFT_OUT, state_words
from ..units import few, format_size, format_time, three_digits
from . import caveats, how_measured
from .caveats import limit_findings
from .launch_states_sentence import launch_apart_sentences, launch_states_sentences
from .verdict_sentence import crossover_words, join_with_or

MOST_NAMED = 5  # cells in one note
MOST_WHYS = 2  # reasons for cells that were not measured


def notes_on_cells(plan: Plan, rows: Sequence[SummaryRow]) -> list[str]:
    """Return why cells of one rank count have no time, are not ranked, or are wrong; and what the run was asked."""
    competitors = competing(rows)
    asked = [how_measured.order_sentence(plan)] if plan.order else []
    return [*_unranked_note(competitors), *_state_notes(rows), *asked, *agreement.bits_sentences(plan, competitors)]


def notes_on_trust(rows: Sequence[SummaryRow]) -> list[str]:
    """Return what limits the trust in the times of one rank count, the weightiest first."""
    competitors = competing(rows)
    return [
        *_limit_notes(competitors),
        *launch_states_sentences(rows),
        *launch_apart_sentences(rows),
        *_outlier_notes(competitors),
    ]


def further_notes(rows: Sequence[SummaryRow]) -> list[str]:
    """Return what a reader may want to know beside the verdict of one rank count."""
    competitors, found = competing(rows), verdicts(competing(rows))
    has_default = bool(defaults(rows))
    return [
        *(f"crossover from {crossover_words(over)}" for one in found for over in one.hand_overs if over),
        *(
            [f"{FORCED_DEFAULT}: the library's own choice in the launches of forced algorithms, not ranked"]
            * has_default
        ),
        *_part_note(rows),
        *_reference_line(competitors),
        *([carried] if (carried := how_measured.traffic_sentence(competitors)) else []),
    ]


def _unranked_note(rows: Sequence[SummaryRow]) -> list[str]:
    """Return the times that are not ranked, with the reason."""
    cells: dict[str, list[str]] = {}
    for row in rows:
        if (doubt := row.get("doubt")) and doubt != REFERENCE:
            cells.setdefault(doubt, []).append(f"{_cell_name(row)}{_doubt_detail(row)}")
    return [f"not ranked, {doubt_words(doubt)}: {few(names, MOST_NAMED)}" for doubt, names in cells.items()]


def _part_note(rows: Sequence[SummaryRow]) -> list[str]:
    """Say where what the library's other operations make of an all-reduce beats native, if it was measured."""
    if not mockups(rows):
        return []
    from ..evaluation.parts import part_comparisons, parts_sentence  # late: few runs have mock-ups

    return list(filter(None, [parts_sentence(part_comparisons(rows))]))


def _outlier_notes(rows: Sequence[SummaryRow]) -> list[str]:
    """Name the times that lie far from both neighbouring sizes of their competitor."""
    return [
        f"outlier: {_cell_name(found.row)} takes {format_time(time_of(found.row))}, between "
        f"{format_time(found.below_s)} and {format_time(found.above_s)} at the sizes beside it"
        for found in outliers(rows)
    ]


def _doubt_detail(row: SummaryRow) -> str:
    """Return ` (3 of 30)` invalid calls, ` (recursive_doubling ran)`, or ` (1.5 times)`; empty for other doubts."""
    if row.get("doubt") == OTHER_DEFAULT:
        return f" ({three_digits(row['default_ratio'])} times)"
    if row.get("doubt") == INVALID:
        return f" ({row['invalid']} of {row['invalid'] + row['repetitions']})"
    return f" ({join_with_or(row['ran'].names)} ran)" if row.get("doubt") == ANOTHER and row["ran"].names else ""


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


def _limit_notes(rows: Sequence[SummaryRow]) -> list[str]:
    if not any(map(passes_limit, rows)):
        return []
    return [words for found in limit_findings(rows) for words in (found["text"], found["effect"])]


def _cell_name(row: SummaryRow) -> str:
    return f"{row['competitor']} {format_size(row['size_bytes'])}"


def _cells_text(sizes: dict[int, list[str]], algorithms: int) -> str:
    """Return `all at 16 B, 32 B`, `ring 8 B`: cells that share a reason; sizes that lack all `algorithms` first."""
    lacking = {
        size_bytes: format_size(size_bytes) for size_bytes, names in sizes.items() if len(names) == algorithms > 1
    }
    others = [f"{name} {format_size(n)}" for n, names in sizes.items() for name in names if n not in lacking]
    parts = [f"all at {', '.join(lacking.values())}" if lacking else "", few(others, MOST_NAMED) if others else ""]
    return ", ".join(filter(None, parts))


def _state_notes(rows: Sequence[SummaryRow]) -> list[str]:
    """Return why cells are missing, without duplicates, and what checks found."""
    algorithms = {row["competitor"] for row in rows}
    reasons: dict[tuple, dict[int, list[str]]] = {}
    for row in rows:
        if row["state"] not in ("done", LEFT_OUT):
            cells = reasons.setdefault((row["state"], row["reason"]), {})
            cells.setdefault(row["size_bytes"], []).append(row["competitor"])
    notes = [
        f"{state_words(state)}: {_cells_text(sizes, len(algorithms))}: {reason}"
        for (state, reason), sizes in reasons.items()
    ]
    if out := [row for row in rows if row["state"] == LEFT_OUT]:
        whys = few(dict.fromkeys(row["reason"] for row in out), MOST_WHYS, comma="; ")
        notes.append(f"{state_words(LEFT_OUT)}: {len(out)} of {len(rows)} cells: {whys}")
    found = [
        *caveats.find_accidents(rows),
        *caveats.find_uncut_steps(rows),
        *caveats.find_differing_bits(rows, "same_bits"),
        *caveats.find_broken_promises(rows),
    ]
    effects = {caveat: f"; {caveat.effect}" if caveat.effect else "" for caveat in found}
    kinds = {caveat: caveat.badge.partition(":")[0] for caveat in found}  # the texts name the competitors
    return [*notes, *(f"{kinds[one]}: {text}{effects[one]}" for one in found for text in one.texts)]
