"""The page's section on which algorithm native ran, and which of the library's own parts beat it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any, NamedTuple

import pandas as pd

from ..evaluation.parts import part_comparisons, parts_sentence
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
        for (algorithm, words, evidence, asked), stretch in groupby(found.ran, _stretch_key):
            first, *others = (format_size(one.size_bytes) for one in stretch)
            sizes = " to ".join(dict.fromkeys((first, *others[-1:])))
            lines.append(RanLine(algorithm, in_ranks([ranks]), sizes, words, evidence, ASKED.get(asked or "", "")))
    return lines


def _stretch_key(ran: Ran) -> tuple[str, str, str, str | None]:
    """Return what neighbouring sizes of one line share."""
    answer = Answer(ran.names, ran.by_order, ran.by_messages, ran.order)
    return ran.algorithm, answer.words, answer.evidence, ran.asked


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


def ran_section(plan: Plan, rows: Sequence[SummaryRow], identified: Mapping[int, Identified]) -> dict[str, Any]:
    """Return the page's values about what native ran, and the file of all of it."""
    sentences = [*ran_sentences(plan, identified), *filter(None, [parts_sentence(part_comparisons(rows))])]
    seen = [{"ranks": ranks, **asdict(one)} for ranks, found in identified.items() for one in found.ran]
    names = [" or ".join(one["names"]) for one in seen]
    files = {"identified": pd.DataFrame(seen).assign(names=names)} if identified else {}
    return {"ran": {"lines": ran_lines(identified), "sentences": sentences}, "files": files}
