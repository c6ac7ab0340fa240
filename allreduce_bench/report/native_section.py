"""What a page says of native: which algorithm it resembles, which guidelines it violates, who is faster."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from ..evaluation.summary_row import SummaryRow
from ..models.native.comparison import (
    GUIDELINES,
    RIVAL,
    comparisons,
    guidelines_sentence,
    rival_comparisons,
    rivals_sentence,
    slower_lines,
)
from ..models.native.resemblance import NoResemblance, resemblance_frame, resemblance_sentences, resemblances_of
from ..runs.plan import Plan
from .guideline_table import LEGEND, guideline_tables


def native_section(plan: Plan, rows: Sequence[SummaryRow]) -> dict[str, Any]:
    """The page's values about native: what it resembles, which guidelines it violates, and which rivals are faster."""
    files: dict[str, pd.DataFrame] = {}
    likeness: dict[str, Any] = {"why": "", "sentences": [], "lines": {}, "ranks": {}}
    try:
        if plan.groups:
            raise NoResemblance("several groups share links at the same time")
        guesses = resemblances_of(rows)
        ranks = {guess.ranks: guess.stray for guess in guesses}
        lines = {
            n: {guess.ranks: guess for guess in guesses if guess.nbytes == n}
            for n in sorted({guess.nbytes for guess in guesses})
        }
        likeness |= {"sentences": resemblance_sentences(guesses), "lines": lines, "ranks": ranks}
        files["resemblance"] = resemblance_frame(guesses)
    except NoResemblance as reason:
        likeness["why"] = str(reason)
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
    return {"likeness": likeness, "guidelines": guidelines, "rivals": against_rivals, "files": files}
