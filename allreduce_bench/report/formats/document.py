"""`json`: the whole result as one object; of the environment only the MPI and hosts' names."""

import json
from typing import Any

from ...evaluation.summary_row import SummaryRow
from ...evaluation.verdict import verdicts
from ...runs.schema import KINDS, SUMMARY, names
from ..caveats import limit_findings
from ..grade_sentence import reason_words
from ..table import libraries_of
from .result import Result

RESULT_SCHEMA = "urn:allreduce-bench:result:4"  # of `json_text`


def json_text(result: Result) -> str:
    """Return an object with schema, layout, program, command, grades, plan, mpi, hosts, findings and results.

    Of a single algorithm also single_algorithm, which is empty otherwise. Each of `results` has the
    columns of SUMMARY; numbers are numbers, flags 1 and 0, a missing value is null.
    """
    content = {
        "schema": RESULT_SCHEMA,
        **{key: result.run[key] for key in ("layout", "program", "command")},
        "grades": _grades(result),
        "plan": result.plan.to_json(),
        "mpi": _mpi_facts(result),
        "hosts": result.hosts,
        "findings": _findings(result),
        "results": [{name: _json_value(name, row) for name in names(SUMMARY)} for row in result.rows],
        "single_algorithm": [verdict.alone._asdict() for verdict in verdicts(result.rows) if verdict.alone],
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
        }
        for ranks, grade in grading.items()
    ]


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
