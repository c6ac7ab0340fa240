"""What `fit` writes for programs, as JSON Schemas: machine files (-o), and --format json."""

from ..runs.json_schema.build import Format, Schema, by_name, fields, fields_of, items, of_type, schema_id, text
from .forms import LINKS
from .joint import Joint, LocalGamma
from .listing import SCHEMA
from .machine import KIND, MACHINE_VERSION, Machine
from .model import LEVELS, Errors, Model, ModelPart
from .scores import KINDS
from .series import UnfittedSeries

MEANINGS = {
    "Machine.models": "the fitted models",
    "Machine.program": "program and version that made the file; empty: not known",
    "Machine.created": "when it was made, ISO 8601; empty: not known",
    "Machine.runs": "what was fitted",
    "Machine.bare": "true: nothing was measured, prices were given",
    "Machine.notes": "what could not be fitted, and gamma, in sentences",
    "Model.algorithm": "name of the algorithm",
    "Model.parts": "the time is that of the fastest part: a library that switches has several",
    "Model.run": "name of the run; empty: of no run",
    "Model.executor": "how the steps were run; empty: of no run",
    "Model.cache": "state of the cache: warm or cold",
    "Model.dtype": "type of an element; empty: not known",
    "Model.op": "reduction; empty: not known",
    "Model.itemsize": "length of an element; unit: bytes",
    "Model.segment": "length of a segment; null: messages go whole, or each size has its own; unit: elements",
    "Model.window": "messages posted ahead; null: the executor has no window",
    "Model.ranks": "numbers of ranks that were measured",
    "Model.ranks_per_node": "ranks of a node; null: not the same throughout, or not known",
    "Model.nbytes": "smallest and largest measured size; unit: bytes",
    "Model.launches": "launches that were measured",
    "Model.reach_log": "half width of the 90 % prediction interval of the logarithm of a time at measured ranks",
    "Model.reach_log_per_doubling": "what is added to that for each doubling of the ranks beyond them",
    "Model.errors": f"relative errors of the model, by {', '.join(KINDS)}",
    "Model.plain_errors": "the same of the plain alpha-beta fit",
    "Model.notes": "what to know of the fit, in sentences",
    "Model.grade": f"grade of the times that were fitted, the worst of their ranks: {', '.join(LEVELS)}",
    "Model.placement": "where vectors lay in memory: page, numpy, differences in bytes, or unknown",
    "ModelPart.priced_as": "algorithm whose messages and bytes are priced",
    "ModelPart.form": "which terms the model has",
    "ModelPart.parameters": "the fitted parameters",
    "ModelPart.contention": "exponent of the number of ranks that all but the call grows with",
    "Form.call": "whether a call costs seconds by itself",
    "Form.reduced": "whether gamma is apart from beta",
    "Form.levels": "2: links within nodes and between them are apart",
    "Form.knots": "lengths of a message at which its cost changes; unit: bytes",
    "Form.contention": "whether there is an exponent of the number of ranks",
    "Parameter.name": "alpha_s (s per message), beta_s_per_byte, gamma_s_per_byte (s/byte) or call_s (s)",
    "Parameter.link": f"{' or '.join(LINKS)} nodes; empty: links are alike",
    "Parameter.above": "length of a message from which on it counts; unit: bytes",
    "Parameter.value": "in the unit that the name says",
    "Parameter.low": "lower end of the 95 % interval; null: not known",
    "Parameter.high": "upper end of the 95 % interval; null: not known",
    "Parameter.identified": "false: the data only say that it is at most `high`, or cannot tell it from others",
    "Errors.median": "median of |model / measured - 1|",
    "Errors.p90": "90 % of them are not above this",
    "Errors.points": "cells",
    "Errors.covered": "share of the cells within their prediction interval; null: no interval",
    "Joint.run": "name of the run; empty: one without a name",
    "Joint.executor": "how the steps were run",
    "Joint.algorithms": "algorithms that share the parameters",
    "Joint.parameters": "the parameters, gamma last",
    "Joint.condition": "condition number of the fit",
    "Joint.median_error": "median of |model / measured - 1|, in sample",
    "LocalGamma.run": "name of the run",
    "LocalGamma.ranks": "ranks that reduced at the same time",
    "LocalGamma.gamma": "price of a byte of a local reduction",
    "UnfittedSeries.run": "name of the run",
    "UnfittedSeries.algorithm": "name of the algorithm",
    "UnfittedSeries.executor": "how the steps were run",
    "UnfittedSeries.reason": "why it was not fitted, in a sentence",
}
FITTED_RUN = fields(
    {"run": text("name of the run")},
    {
        "ranks": items({"type": "integer"}, "numbers of ranks"),
        "nodes": items({"type": "integer"}, "numbers of nodes; empty: not known"),
        "grade": text("the worst grade of the times that were fitted", *LEVELS),
    },
)


def machine_schema() -> Schema:
    """The schema of a machine file. Named tuples are lists in it: of a part, a form, a parameter, errors."""
    machine = of_type(Machine, MEANINGS, as_lists=True)
    head = {"kind": text("what the file is", KIND), "schema_version": {"type": "integer", "enum": [MACHINE_VERSION]}}
    machine["properties"]["runs"]["items"] = FITTED_RUN
    return fields({**head, **machine["properties"]})


def fit_schema() -> Schema:
    """The schema of what `fit --format json` prints. A form is in words there."""
    model = of_type(Model, MEANINGS)
    part = fields_of(ModelPart, [name for name in ModelPart._fields if name != "form"], MEANINGS)
    model["properties"]["parts"]["items"] = fields({**part, "form": text(MEANINGS["ModelPart.form"] + ", in words")})
    errors = of_type(Errors, MEANINGS)
    return fields(
        {
            "schema": text("name and version of this schema", SCHEMA),
            "models": items(model, "a model of each series: run, algorithm, way to run it, cache"),
            "pooled": by_name(errors, f"relative errors over all series, by {', '.join(KINDS)}"),
            "pooled_plain": by_name(errors, "the same of the plain alpha-beta fits"),
            "joint": items(of_type(Joint, MEANINGS), "parameters of several algorithms of a run together"),
            "no_gamma": items(text(), "why there is no gamma, in sentences"),
            "local_gamma": items(of_type(LocalGamma, MEANINGS), "gamma of local reductions, of the floors"),
            "unfit": items(of_type(UnfittedSeries, MEANINGS), "series that were not fitted"),
        }
    )


FORMATS = (
    Format(schema_id("machine", MACHINE_VERSION), "a machine file, as fit -o writes it", machine_schema()),
    Format(SCHEMA, "what fit --format json prints: parameters, intervals, errors", fit_schema()),
)
