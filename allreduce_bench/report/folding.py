"""Which sections of a page are folded because their errors are large, and the one line that says so."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..evaluation.grade import NOT_RELIABLE
from ..models.model import Model
from ..stats import median

LARGE = 0.25  # error of a model, tolerance of a resemblance; relative
OUTSIDE, INSIDE = "leave_one_p_out", "in_sample"


class Folding(NamedTuple):
    """How a section of the page begins."""

    is_open: bool
    line: str  # what a reader learns without opening it


def of_models(models: Sequence[Model]) -> Folding:
    """Folded where the models miss times by more than LARGE, median over the series."""
    for name, where in ((OUTSIDE, "at rank counts left out of the fit"), (INSIDE, "at the fitted times")):
        errors = [model.errors[name].median for model in models if name in model.errors]
        if errors:
            error = median(errors)
            words = f"median error {_per_cent(error)} {where}"
            return Folding(error <= LARGE, words if error <= LARGE else f"{words}: too large to rely on, so folded")
    return Folding(not models, "errors unknown, so folded" if models else "none could be fitted")


def of_resemblance(likeness: dict[str, Any]) -> Folding:
    """Folded where nothing is known, where few sizes name an algorithm, or where the tolerance is above LARGE."""
    if likeness["why"]:
        return Folding(False, f"unknown: {likeness['why']}")
    guesses = [guess for cells in likeness["lines"].values() for guess in cells.values()]
    named = sum(bool(guess.names) for guess in guesses)
    tolerance = median(likeness["ranks"].values())
    words = f"named at {named} of {len(guesses)} points, with a tolerance of {_per_cent(tolerance)}"
    is_sure = tolerance <= LARGE and 2 * named >= len(guesses)
    return Folding(is_sure, words if is_sure else f"{words}: too uncertain to rely on, so folded")


def of_guidelines(guidelines: dict[str, Any], level: str) -> Folding:
    """Folded where nothing was compared or violated, or where the times are not reliable."""
    if not guidelines["compared"]:
        return Folding(False, "none could be checked")
    lines = len(guidelines["lines"])
    return _of_lines(lines, f"{lines or 'none'} of the guidelines violated", level)


def of_rivals(rivals: dict[str, Any], level: str) -> Folding:
    """Folded where nothing was compared, where native is nowhere slower, or where the times are not reliable."""
    if not rivals["compared"]:
        return Folding(False, "none could be compared")
    lines = len(rivals["lines"])
    faster = len({line["against"] for line in rivals["lines"]})
    return _of_lines(lines, f"{faster or 'none'} of the rivals faster than native somewhere", level)


def _of_lines(lines: int, words: str, level: str) -> Folding:
    if level == NOT_RELIABLE:
        return Folding(False, f"{words}; the times are not reliable, so folded")
    return Folding(bool(lines), words)


def _per_cent(share: float) -> str:
    return f"{100 * share:.0f} %"
