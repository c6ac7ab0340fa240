"""A comparison as one JSON object."""

import json
from typing import Any

from .judgement import ERROR_SHARE, MATCHED, VERDICTS, ComparedCell, Comparison


def json_text(found: Comparison) -> str:
    """An object with the runs of both sides, threshold, confidence, counts, sentence, notes, cells and one_sided.

    Times are seconds, ratios new / baseline, variances those of a unit's natural logarithm; an unknown value is null.
    """
    content = {
        "baseline": [run.name for run in found.baseline],
        "new": [run.name for run in found.new],
        "threshold": found.threshold,
        "confidence": 1 - ERROR_SHARE,
        "correction": "Bonferroni",
        "counts": {kind: len(found.of(kind)) for kind in (*VERDICTS, "failed")},
        "failed": bool(found.failure),
        "sentence": found.sentence,
        "notes": list(found.notes),
        "cells": [_cell(cell) for cell in found.cells],
        "one_sided": list(found.one_sided),
    }
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _cell(cell: ComparedCell) -> dict[str, Any]:
    found = cell.estimate
    return {
        **dict(zip(MATCHED, cell.key)),
        "name": cell.name,
        "verdict": cell.verdict,
        "reason": cell.reason or None,
        "baseline_s": cell.baseline_s,
        "new_s": cell.new_s,
        "baseline_launches": cell.launches[0],
        "new_launches": cell.launches[1],
        "ratio": cell.ratio,
        "low": found and found.low,
        "high": found and found.high,
        "hedges_g": found and found.hedges_g,
        "unit": found and found.unit,
        "units": found and list(found.units),
        "variances": found and list(found.variances),
        "more_units": cell.more,
    }
