"""The page's section about native: which algorithm it ran, its faster rivals, and its faster parts."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any, NamedTuple

import pandas as pd

from ..evaluation.rivals import part_comparisons, parts_sentence, rival_comparisons, rivals_sentence, slower_lines
from ..evaluation.summary_row import SummaryRow
from ..identifying.evidence import Answer
from ..runs.competitor import NATIVE
from ..runs.identified import NO, OPEN, YES, Identified, Ran
from ..runs.plan import Plan
from ..units import format_size, in_ranks

ASKED = {YES: "yes", OPEN: "cannot tell", NO: "no: not ranked"}


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
        for (algorithm, _, asked), stretch in groupby(found.ran, _stretch_key):
            first, *others = stretch
            sizes = " to ".join(dict.fromkeys(format_size(one.size_bytes) for one in (first, *others[-1:])))
            answer = Answer(first.names, first.by_order, first.by_messages, first.order)
            verdict = ASKED[asked] if asked else ""
            lines.append(RanLine(algorithm, in_ranks([ranks]), sizes, answer.words, answer.evidence, verdict))
    return lines


def _stretch_key(ran: Ran) -> tuple[str, str, str | None]:
    """Return what neighbouring sizes of one line share."""
    answer = Answer(ran.names, ran.by_order, ran.by_messages, ran.order)
    return ran.algorithm, f"{answer.words} {answer.evidence}", ran.asked


def ran_sentences(plan: Plan, identified: Mapping[int, Identified]) -> list[str]:
    """Return what is to be known about the lines: ranks that were not looked at, other types, uncounted messages."""
    if NATIVE not in plan.algorithms:
        return ["native was not measured."]
    sentences = []
    if unknown := [ranks for ranks in plan.ranks if ranks > 1 and ranks not in identified]:
        sentences.append(
            f"Unknown at {in_ranks(unknown)}: allreduce-bench which says which algorithm the library runs."
        )
    other = {(found.dtype, found.op) for found in identified.values()} - {(plan.dtype, plan.op)}
    for dtype, op in sorted(other):
        sentences.append(
            f"This was looked at with {dtype} and {op}; the run measured {plan.dtype} and {plan.op}, for which "
            "libraries may choose otherwise."
        )
    return sentences + list(dict.fromkeys(found.not_counted for found in identified.values() if found.not_counted))


def native_section(plan: Plan, rows: Sequence[SummaryRow], identified: Mapping[int, Identified]) -> dict[str, Any]:
    """Return the page's values about native: what it ran, and what is faster."""
    files: dict[str, pd.DataFrame] = {}
    sentences = [*ran_sentences(plan, identified), *filter(None, [parts_sentence(part_comparisons(rows))])]
    ran = {"lines": ran_lines(identified), "sentences": sentences}
    if identified:
        seen = [{"ranks": ranks, **asdict(one)} for ranks, found in identified.items() for one in found.ran]
        files["identified"] = pd.DataFrame(seen).assign(names=[" or ".join(one["names"]) for one in seen])
    rivals = rival_comparisons(rows)
    against_rivals = {
        "compared": rivals,
        "lines": slower_lines(rivals),
        "sentence": rivals_sentence(rivals),
    }
    files |= {"rivals": pd.DataFrame(rivals)} if rivals else {}
    return {"ran": ran, "rivals": against_rivals, "files": files}
