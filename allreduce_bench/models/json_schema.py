"""JSON Schemas of what `fit` writes for programs: machine files (-o), and --format json."""

from ..runs.json_schema.build import Format, Schema, by_name, fields, fields_of, items, of_type, schema_id, text
from .joint import Joint, LocalGamma
from .listing import SCHEMA
from .machine import KIND, MACHINE_VERSION, Machine
from .model import LEVELS, Errors, Model, ModelPart
from .scores import KINDS
from .series import UnfittedSeries

FITTED_RUN = fields(
    {"run": text("name of the run")},
    {
        "ranks": items({"type": "integer"}, "numbers of ranks"),
        "nodes": items({"type": "integer"}, "numbers of nodes; empty: not known"),
        "grade": text("the worst grade of the times that were fitted", *LEVELS),
    },
)


def machine_schema() -> Schema:
    """Return the schema of a machine file. Named tuples are lists in it: a part, a form, a parameter, errors."""
    machine = of_type(Machine, as_lists=True)
    head = {"kind": text("what the file is", KIND), "schema_version": {"type": "integer", "enum": [MACHINE_VERSION]}}
    machine["properties"]["runs"]["items"] = FITTED_RUN
    return fields({**head, **machine["properties"]})


def fit_schema() -> Schema:
    """Return the schema of `fit --format json`. A form is in words there."""
    model = of_type(Model)
    part = fields_of(ModelPart, without=["form"])
    model["properties"]["parts"]["items"] = fields({**part, "form": text("which terms the model has, in words")})
    errors = of_type(Errors)
    return fields(
        {
            "schema": text("name and version of this schema", SCHEMA),
            "models": items(model, "a model of each series: run, algorithm, way to run it, cache"),
            "pooled": by_name(errors, f"relative errors over all series, by {', '.join(KINDS)}"),
            "pooled_plain": by_name(errors, "the same of the plain alpha-beta fits"),
            "joint": items(of_type(Joint), "parameters of several algorithms of a run together"),
            "no_gamma": items(text(), "why there is no gamma, in sentences"),
            "local_gamma": items(of_type(LocalGamma), "gamma of local reductions, of the floors"),
            "unfit": items(of_type(UnfittedSeries), "series that were not fitted"),
        }
    )


FORMATS = (
    Format(schema_id("machine", MACHINE_VERSION), "a machine file, as fit -o writes it", machine_schema()),
    Format(SCHEMA, "what fit --format json prints: parameters, intervals, errors", fit_schema()),
)
