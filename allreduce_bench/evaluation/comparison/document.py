"""A comparison as one JSON object."""

import json
from dataclasses import asdict
from typing import Any

from .judgement import ERROR_SHARE, VERDICTS, ComparedCell, Comparison


def json_text(comparison: Comparison) -> str:
    """An object with the runs of both sides, threshold, confidence, counts, sentence, notes, cells and one_sided.

    Times are seconds, ratios new / baseline, variances those of a unit's natural logarithm; an unknown value is null.
    """
    content = {
        "baseline": [run.name for run in comparison.baseline],
        "new": [run.name for run in comparison.new],
        "threshold": comparison.threshold,
        "confidence": 1 - ERROR_SHARE,
        "correction": "Bonferroni",
        "counts": {kind: len(comparison.cells_with(kind)) for kind in (*VERDICTS, "failed")},
        "failed": bool(comparison.failure),
        "sentence": comparison.sentence,
        "notes": list(comparison.notes),
        "cells": [_cell_object(cell) for cell in comparison.cells],
        "one_sided": list(map(str, comparison.one_sided)),
    }
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _cell_object(cell: ComparedCell) -> dict[str, Any]:
    estimate = cell.estimate
    return {
        **asdict(cell.key),
        "name": cell.name,
        "verdict": cell.verdict,
        "reason": cell.reason or None,
        "baseline_s": cell.baseline_s,
        "new_s": cell.new_s,
        "baseline_launches": cell.launches[0],
        "new_launches": cell.launches[1],
        "ratio": cell.ratio,
        "low": estimate and estimate.low,
        "high": estimate and estimate.high,
        "hedges_g": estimate and estimate.hedges_g,
        "unit": estimate and estimate.unit,
        "units": estimate and list(estimate.units),
        "variances": estimate and list(estimate.variances),
        "more_units": cell.more,
    }
