"""A comparison as one JSON object."""

import json
from dataclasses import asdict
from typing import Any

from .compared_cell import VERDICTS, ComparedCell
from .decision import ERROR_SHARE
from .judgement import Comparison
from .observed import Observed
from .ratio import MISSED
from .text import method

SCHEMA = "urn:allreduce-bench:compare:2"  # of `json_text`, described in `json_schema`


def json_text(comparison: Comparison) -> str:
    """An object with the runs of both sides, the settings, the result of the gate, notes, cells and one_sided.

    Times are seconds, ratios new / baseline, variances those of a unit's natural logarithm; an unknown value is null.
    `confidence` is that of a cell's interval, `false_alarms` the share of comparisons in which a cell is slower or
    faster by mistake: cells are where `p_holm` is not above it.
    """
    content = {
        "schema": SCHEMA,
        "baseline": [run.name for run in comparison.baseline],
        "new": [run.name for run in comparison.new],
        "threshold": comparison.threshold,
        "confidence": 1 - MISSED,
        "false_alarms": ERROR_SHARE,
        "correction": "Holm",
        "method": method(comparison),
        "counts": {kind: len(comparison.cells_with(kind)) for kind in (*VERDICTS, "failed")},
        "undecided": comparison.undecided,
        "failed": bool(comparison.failure),
        "failure": comparison.failure or None,
        "warning": comparison.warning or None,
        "sentence": comparison.sentence,
        "observed": _observed_object(comparison.observed),
        "notes": list(comparison.notes),
        "cells": [_cell_object(cell) for cell in comparison.cells],
        "one_sided": list(map(str, comparison.one_sided)),
    }
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _observed_object(found: Observed | None) -> dict[str, Any] | None:
    if found is None:
        return None
    directions = [direction._asdict() for direction in found.directions]
    return {"cells": found.cells, "launches": list(found.launches), "directions": directions, "sentence": str(found)}


def _cell_object(cell: ComparedCell) -> dict[str, Any]:
    estimate = cell.estimate
    return {
        **asdict(cell.key),
        "name": cell.name,
        "verdict": cell.verdict,
        "reason": cell.reason or None,
        "observed": cell.observed or None,
        "baseline_s": cell.baseline_s,
        "new_s": cell.new_s,
        "baseline_launches": cell.launches[0],
        "new_launches": cell.launches[1],
        "ratio": cell.ratio,
        "low": estimate and estimate.low,
        "high": estimate and estimate.high,
        "p_holm": cell.p_holm,
        "hedges_g": estimate and estimate.own.hedges_g,
        "unit": estimate and estimate.own.unit,
        "units": estimate and list(estimate.own.units),
        "variances": estimate and list(estimate.own.variances),
        "moderated_variance": estimate and estimate.variance,
        "degrees_of_freedom": estimate and estimate.degrees,
        "more_units": cell.more,
    }
