"""What a page says of native: which algorithm it resembles, and which guidelines it violates."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from ..evaluation.summary_row import SummaryRow
from ..models.native.guidelines import broken_guidelines, comparisons, guidelines_sentence
from ..models.native.resemblance import NoResemblance, resemblance_frame, resemblance_sentences, resemblances_of
from ..runs.plan import Plan


def native_section(plan: Plan, rows: Sequence[SummaryRow]) -> dict[str, Any]:
    """The page's values about native: what it resembles, and which guidelines it violates."""
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
    compared = comparisons(rows)
    guidelines = {"compared": compared, "lines": broken_guidelines(compared), "sentence": guidelines_sentence(compared)}
    files |= {"guidelines": pd.DataFrame(compared)} if compared else {}
    return {"likeness": likeness, "guidelines": guidelines, "files": files}
