"""The JSON Schema of `compare --format json`."""

from ..evaluation.single_algorithm import DIRECTIONS
from ..report.formats.json_schema import DIRECTION
from ..runs.json_schema.build import Format, Schema, fields, fields_of, flag, items, number, or_null, text, whole
from .formats import SCHEMA
from .judgement import PLURAL, UNDECIDED, VERDICTS
from .matching import MatchKey

KINDS = (*VERDICTS, "failed")


def _pair(of: Schema, meaning: str) -> Schema:
    return {**items(of, f"{meaning}, of baseline and new"), "minItems": 2, "maxItems": 2}


ESTIMATE = {  # null where too few launches were measured
    "low": number("lower end of the 90 % interval of the ratio", 0),
    "high": number("upper end of the 90 % interval of the ratio", 0),
    "p_holm": number("of a ratio within the threshold, adjusted for all cells: slower or faster at 0.05 or below", 0),
    "hedges_g": number("difference over its pooled standard deviation"),
    "unit": text("what is replicated", *PLURAL),
    "units": _pair(whole(), "number of units"),
    "variances": _pair(number(), "variance of a unit's natural logarithm"),
    "moderated_variance": number("variance of a unit, with what the other cells say", 0),
    "degrees_of_freedom": number("degrees of freedom of that", 0),
    "more_units": whole("further units a side that would decide; null: not known, or decided"),
}
OBSERVED = fields(
    {
        "cells": whole("cells of too few launches for an interval", 1),
        "launches": _pair(whole(), "most launches of such a cell"),
        "directions": items(DIRECTION, "those that have cells"),
        "sentence": text("all of it in words"),
    },
    meaning="what cells of too few launches show by their ratios alone; null: there are none",
)
CELL = fields(
    {
        **fields_of(MatchKey),
        "name": text("the cell in words, such as ring 64 KiB, 4 ranks"),
        "verdict": text("what is decided of the cell", *KINDS),
        "reason": or_null(text("why it failed or is undecided")),
        "baseline_s": or_null(number("median over launches; of several runs the geometric mean of theirs; unit: s", 0)),
        "new_s": or_null(number("the same of the new side; unit: s", 0)),
        "baseline_launches": whole("launches of the baseline"),
        "new_launches": whole("launches of the new side"),
        "ratio": or_null(number("new_s / baseline_s", 0)),
        **{name: or_null(schema) for name, schema in ESTIMATE.items()},
    },
    {
        "observed": or_null(text("what the ratio alone says, of too few launches for an interval", *DIRECTIONS)),
    },
)
COMPARISON = fields(
    {
        "schema": text("name and version of this schema", SCHEMA),
        "baseline": items(text(), "runs of the baseline, as they were named"),
        "new": items(text(), "runs of the new side"),
        "threshold": number("a difference that is smaller is none; a share", 0),
        "confidence": number("of a cell's interval; a share", 0),
        "false_alarms": number("share of comparisons in which a cell is slower or faster by mistake", 0),
        "correction": text("how cells are judged together"),
        "method": text("how cells were judged, in words"),
        "counts": fields({kind: whole() for kind in KINDS}, meaning="cells of each verdict"),
        "undecided": text("what undecided cells do, as asked for", *UNDECIDED),
        "failed": flag("whether the gate fails: exit status 1"),
        "failure": or_null(text("why it fails; null: it does not")),
        "warning": or_null(text("what the gate did not see; null: nothing")),
        "sentence": text("the result in a sentence"),
        "notes": items(text(), "what to know of the two sides, in sentences"),
        "cells": items(CELL, "cells that both sides have, or that failed on the new one"),
        "one_sided": items(text(), "cells that are not judged, in words"),
    },
    {"observed": or_null(OBSERVED)},
)
FORMATS = (Format(SCHEMA, "what compare --format json prints: a verdict for each cell", COMPARISON),)
