"""`json`: the whole result as one object, and its JSON Schema; of the environment only the MPI and hosts' names."""

import json
from typing import Any

from ...evaluation.cell_times import competing
from ...evaluation.grade import CRITERIA, GRADES
from ...evaluation.single_algorithm import Contrast, Direction, Performance, contrasts
from ...evaluation.summary_row import Noise, Reason, SummaryRow
from ...evaluation.verdict import verdicts
from ...models.crossings import Crossing, Stretch
from ...models.model import LEVELS
from ...models.prediction import LIMITS, PORT
from ...runs.json_schema.build import (
    Format,
    by_name,
    fields,
    fields_of,
    flag,
    items,
    number,
    of_type,
    or_null,
    text,
    whole,
)
from ...runs.json_schema.folder import FINDING, PLAN, RUN, row_schema
from ...runs.schema import KINDS, SUMMARY, names
from ..caveats import limit_findings
from ..forecast import PREDICT_SCHEMA
from ..table import libraries_of
from ..verdict_sentence import reason_words, sources_of
from .result import Result

RESULT_SCHEMA = "urn:allreduce-bench:result:2"  # of `json_text`, described in `json_schema`


def json_text(result: Result) -> str:
    """Return an object with schema, schema_version, program, command, grades, plan, mpi, hosts, findings and results.

    Of a single algorithm also single_algorithm and contrasts, which are empty otherwise. Each of `results` has the
    columns of SUMMARY; numbers are numbers, flags 1 and 0, a missing value is null.
    """
    content = {
        "schema": RESULT_SCHEMA,
        **{key: result.run[key] for key in ("schema_version", "program", "command")},
        "grades": _grades(result),
        "plan": result.plan.to_json(),
        "mpi": _mpi_facts(result),
        "hosts": result.hosts,
        "findings": _findings(result),
        "results": [{name: _json_value(name, row) for name in names(SUMMARY)} for row in result.rows],
        "single_algorithm": [verdict.alone._asdict() for verdict in verdicts(result.rows) if verdict.alone],
        "contrasts": _contrasts(result),
    }
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _grades(result: Result) -> list[dict[str, Any]]:
    """Return the grade of each rank count, its reasons with the finding and advice, and what is not known."""
    grading = {row["ranks"]: row["grading"] for row in result.rows}
    return [
        {
            "ranks": ranks,
            "grade": grade.level,
            "reasons": [
                {**reason._asdict(), **dict(zip(("text", "advice"), reason_words(reason)))} for reason in grade.reasons
            ],
            "unknown": list(grade.unknown),
            "noise": grade.noise and grade.noise._asdict(),
        }
        for ranks, grade in grading.items()
    ]


def _contrasts(result: Result) -> list[dict[str, Any]]:
    """Return where the times of rank counts, or of two logs, of a single algorithm differ."""
    found = contrasts(competing(result.rows), sources_of(result.launches))
    return [{**one._asdict(), "directions": [each._asdict() for each in one.directions]} for one in found]


def _mpi_facts(result: Result) -> dict[str, Any]:
    """Return the library, and the thread level of each rank count: `auto` may choose another one for more ranks."""
    first = result.launches[0]["mpi"]
    levels = {str(launch["ranks"]): launch["mpi"].get("thread_level") for launch in result.launches}
    library = libraries_of(result.launches) or None
    return {"library": library, "mpi_standard": first.get("mpi_standard"), "thread_level_of_ranks": levels}


def _findings(result: Result) -> list[dict[str, Any]]:
    """Return the findings of each rank count without duplicates; and times that the links should not allow."""
    findings = limit_findings(result.rows)
    for launch in result.launches:
        findings += [{"ranks": launch["ranks"], **finding} for finding in launch["findings"]]
    return [finding for i, finding in enumerate(findings) if finding not in findings[:i]]


def _json_value(name: str, row: SummaryRow) -> Any:
    value = row.get(name)
    if value is None or value == "":
        return None
    if isinstance(value, bool) or (KINDS[name] == "whole" and isinstance(value, str)):  # read from a file: text
        return int(value)
    return value


# JSON Schemas of the output of `--format json`, of a run and of `predict`


_REASON = fields_of(Reason)
REASON = fields(
    {
        **_REASON,
        "code": _REASON["code"] | {"enum": [*CRITERIA]},
        "text": text("the reason in words"),
        "advice": text("what to do"),
    }
)
NOISE = of_type(Noise)
GRADE = fields(
    {
        "ranks": whole("number of ranks", 1),
        "grade": text("how far times of that many ranks can be relied on", *GRADES),
        "reasons": items(REASON, "why, the weightiest first"),
        "unknown": items(text("", "load", "ports"), "what launches do not say of their nodes"),
    },
    {"noise": or_null(NOISE) | {"description": "noise of the machine; null: not measured"}},
)
DIRECTION = of_type(Direction)
CONTRAST = of_type(Contrast)
RESULT = fields(
    {
        "schema": text("name and version of this schema", RESULT_SCHEMA),
        **{name: RUN["properties"][name] for name in ("schema_version", "program", "command")},
        "grades": items(GRADE, "a grade of each number of ranks"),
        "plan": PLAN,
        "mpi": fields(
            {
                "library": or_null(text("library and version, such as Open MPI 5.0.11; null: a log does not say")),
                "mpi_standard": or_null(text("version of the MPI standard")),
                "thread_level_of_ranks": by_name(or_null(text()), "of each number of ranks its thread level"),
            },
            meaning="the MPI that was measured with",
        ),
        "hosts": items(text(), "all hosts, each once"),
        "findings": items(
            fields({"ranks": whole("number of ranks", 1), **FINDING["properties"]}),
            "what to know before trusting the times",
        ),
        "results": items(
            row_schema(SUMMARY, later_needed=True), "a row of each cell; a value that is not known is null"
        ),
    },
    {
        "single_algorithm": items(
            of_type(Performance),
            "where there is but one algorithm: its latency and peak bus bandwidth on each number of ranks",
        ),
        "contrasts": items(
            CONTRAST, "of a single algorithm: the most ranks beside the fewest, two logs beside each other"
        ),
    },
)
SAID = {"group": text("run, type, reduction and cache"), "sentence": text("it in words")}
ROW = fields(
    {
        "group": text("what competes: run, type, reduction and cache; empty: nothing was measured"),
        "competitor": text("name of the competitor"),
        "ranks": whole("number of ranks", 1),
        "nodes": or_null(whole("number of nodes; null: not known", 1)),
        "nbytes": whole("length of the vector; unit: bytes"),
        "segment_nbytes": or_null(whole("length of a segment; null: the algorithm has none; unit: bytes")),
        "time_s": or_null(number("predicted time; null: see cannot; unit: s", 0)),
        "low_s": or_null(number("lower end of the 90 % interval; unit: s", 0)),
        "high_s": or_null(number("upper end of the 90 % interval; unit: s", 0)),
        "speculative": or_null(flag("whether it is far beyond the measured ranks, or beyond the measured sizes")),
        "size_factor": or_null(number("times larger or smaller than the measured sizes; 1: within them", 1)),
        "fastest": flag("whether it is the fastest at these ranks and this size; none is where the models do not tell"),
        "kept_from_ranks": or_null(
            number("ranks whose measured winner is kept as the fastest; null: by the times, and none beyond", 2)
        ),
        "equal": flag("whether it has the least time, or equals it within their intervals: then none is the fastest"),
        "latency_bound_s": or_null(number("least time of messages in a row; unit: s", 0)),
        "bandwidth_bound_s": or_null(number("least time of the bytes through a port; unit: s", 0)),
        "cannot": text("why there is no time: the algorithm cannot run so, or nothing tells it; empty: there is one"),
        "limit": text(
            "what makes the time longer than the model alone: the bound of latency or bandwidth, or the port of a node "
            "for the bytes of this algorithm; empty: nothing",
            *("", *LIMITS, PORT),
        ),
        "unidentified": or_null(
            text("alpha, beta or both, on which the time depends and which the measured times do not tell; empty: none")
        ),
        "grade": or_null(text("grade of the times that were fitted; null: nothing was measured", *LEVELS)),
        "placement": or_null(text("where vectors lay when it was measured; null: nothing was measured")),
    }
)
FORECAST = fields(
    {
        "schema": text("name and version of this schema", PREDICT_SCHEMA),
        "measured": flag("false: the times are modelled"),
        "source": text("where the prices are from, in words"),
        "fit": items(text(), "what fit noted of the models, in sentences"),
        "rows": items(ROW, "each algorithm at each number of ranks and each size"),
        "crossings": items(
            {
                "type": "object",
                "anyOf": [
                    fields({**SAID, **fields_of(Crossing)}),
                    fields({**SAID, **fields_of(Stretch)}),
                ],
            },
            "where another algorithm becomes the fastest",
        ),
    }
)
SCHEMAS = (
    Format(RESULT_SCHEMA, "the result of a run, as --format json prints it", RESULT),
    Format(PREDICT_SCHEMA, "what predict --format json prints: modelled times", FORECAST),
)
