"""A comparison as text: a table for the terminal, GitHub-flavoured Markdown, JUnit XML, JSON."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any
from xml.etree import ElementTree

from ..runs.competitor import Competitor
from ..tables import UNBOUNDED, Screen, columns_of, fitted, wrapped
from ..units import printable, three_digits
from .conditions import ComparedRun
from .judgement import VERDICTS, ComparedCell, Comparison, Observed, format_names
from .replicates import LAUNCH, ROUND

# The table, also in Markdown
COLUMNS = ("cell", "baseline us", "new us", "ratio", "verdict", "")
LEFT_ALIGNED = (0, 4, 5)  # columns, by their places
REASON = 5  # the column that wraps
STYLES = {"slower": "bad", "failed": "bad", "faster": "best", "undecided": "faint"}  # of a verdict
MARKDOWN_SPECIAL = re.compile(r"[\\`*<>|\[\]~]|(?<!\w)_|_(?!\w)")  # an underscore within a word is plain in Markdown

# JUnit XML and JSON
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # not allowed in XML 1.0
SCHEMA = "urn:allreduce-bench:compare:3"  # of `json_text`


def table(comparison: Comparison, screen: Screen = UNBOUNDED) -> str:
    """Return aligned columns, one row per cell, with caveats above and the count of verdicts below."""
    rows = [COLUMNS, *(_cell_fields(cell) for cell in comparison.cells)]
    columns = columns_of(rows, left=LEFT_ALIGNED, text=REASON, styles=STYLES)
    below = [*_unjudged_lines(comparison), *sentences(comparison)]
    above, below = (wrapped(map(printable, lines), screen) for lines in (_lines_above(comparison), below))
    return "\n".join([*above, "", *fitted(columns, screen), "", *below]) + "\n"


def markdown(comparison: Comparison) -> str:
    """Return a table of GitHub-flavoured Markdown; the sentence comes first."""
    rule = [":--" if i in LEFT_ALIGNED else "--:" for i in range(len(COLUMNS))]
    rows = [
        _markdown_row(COLUMNS),
        f"| {' | '.join(rule)} |",
        *(_markdown_row(_cell_fields(cell)) for cell in comparison.cells),
    ]
    points = [f"- {_escape_markdown(line)}" for line in (*_lines_above(comparison), *_unjudged_lines(comparison))]
    first, *others = map(_escape_markdown, sentences(comparison))
    failure = [f"Fails: {_escape_markdown(comparison.failure)}"] if comparison.failure else []
    return "\n\n".join([f"**{first}**", *others, *failure, "\n".join(rows), "\n".join(points)]) + "\n"


def method(comparison: Comparison) -> str:
    """Define the numbers and verdicts, in one line."""
    threshold, twice = (f"{factor * comparison.threshold * 100:g} %" for factor in (1, 2))
    replicates = {cell.replicate: None for cell in comparison.cells if cell.replicate}
    counted = " or ".join(dict.fromkeys(replicate.plural for replicate in replicates)) or LAUNCH.plural
    parts = [f"times: median over {counted}", "ratio: new / baseline", f"threshold {threshold}"]
    judged = {cell.replicate for cell in comparison.cells if cell.counts}
    if judged - {ROUND}:
        parts.append(f"slower or faster: in nine of ten pairs of an old and a new time, and medians {threshold} apart")
        parts.append(f"same: medians within {threshold}, and nine of ten pairs within {twice}")
    if ROUND in judged:
        rounds = "nearly all rounds, launch k of one run beside launch k of the other (sign test, 5 %)"
        parts.append(f"slower or faster: in {rounds}, and medians {threshold} apart")
        parts.append(f"same: medians within {threshold}, and each round within {twice}")
    if comparison.observed:
        parts.append("verdicts in brackets: the ratio alone")
    return "; ".join(parts)


def _lines_above(comparison: Comparison) -> list[str]:
    sides = [f"baseline: {_describe_side(comparison.baseline)}", f"new: {_describe_side(comparison.new)}"]
    return [comparison.heading, *sides, method(comparison), *comparison.notes]


def _unjudged_lines(comparison: Comparison) -> list[str]:
    """Return each reason not to judge cells once, with their names."""
    doubted = [(f"undecided, {cell.reason}", cell.name) for cell in comparison.cells if cell.is_doubted]
    names: dict[str, list[str]] = {}
    for reason, name in (*comparison.one_sided, *doubted):
        names.setdefault(reason, []).append(name)
    return [f"{reason}: {format_names(of_reason)}" for reason, of_reason in names.items()]


def sentences(comparison: Comparison) -> list[str]:
    """Return the result; the observation on cells of too few launches, if there are others; and the warning, if any."""
    beside = f"by the ratio alone: {comparison.observed}" if comparison.observed else ""
    return list(filter(None, [comparison.sentence, "" if comparison.is_only_observed else beside, comparison.warning]))


def _describe_side(side: Sequence[ComparedRun]) -> str:
    return side[0].name if len(side) == 1 else f"{len(side)} runs, {side[0].name} to {side[-1].name}"


def _cell_fields(cell: ComparedCell) -> list[str]:
    ratio = three_digits(cell.printed_ratio) if cell.printed_ratio else "-"
    reason = "" if cell.observed or cell.is_doubted else cell.reason  # a sentence gives it for all of them
    return [printable(cell.name), *cell.times, ratio, cell.shown_verdict, printable(reason)]


def _markdown_row(fields: Sequence[str]) -> str:
    return f"| {' | '.join(map(_escape_markdown, fields))} |"


def _escape_markdown(text: str) -> str:
    """Escape text so that Markdown shows it as it is, on one line."""
    return MARKDOWN_SPECIAL.sub(lambda match: "\\" + match[0], " ".join(printable(text).split()))


def junit(comparison: Comparison) -> str:
    """Return JUnit XML in UTF-8, as the test reports of Jenkins, GitLab and others read it: one test case per cell.

    A cell that fails the gate is a failure, with the verdict as its type: slower and failed cells, and undecided cells
    if requested. Other undecided cells and cells of one side are skipped, with the reason, since neither is a success.
    The time of a case is the new side's in seconds, so that a server can plot its trend.
    """
    failing = comparison.failing
    failures = sum(len(comparison.cells_with(kind)) for kind in failing)
    is_empty = bool(comparison.failure) and not failures  # no cell carries the failure
    skipped = sum(cell.verdict == "undecided" and cell.verdict not in failing for cell in comparison.cells)
    skipped += len(comparison.one_sided)
    tests = len(comparison.cells) + len(comparison.one_sided) + is_empty
    counts = {"tests": tests, "failures": failures + is_empty, "errors": 0, "skipped": skipped}
    suites = _add_element(None, "testsuites", name="allreduce-bench compare", **counts)
    suite = _add_element(
        suites, "testsuite", name="allreduce-bench compare", **counts, time=_format_time(comparison.cells)
    )
    properties = _add_element(suite, "properties")
    for side, runs in (("baseline", comparison.baseline), ("new", comparison.new)):
        _add_element(properties, "property", name=side, value=" ".join(run.name for run in runs))
    if comparison.observed:
        _add_element(properties, "property", name="observed", value=str(comparison.observed))
    for cell in comparison.cells:
        _add_case(suite, cell, failing)
    for unjudged in comparison.one_sided:
        case = _add_element(suite, "testcase", classname="allreduce", name=unjudged.cell, time="0")
        _add_element(case, "skipped", message=unjudged.reason)
    if is_empty:
        case = _add_element(suite, "testcase", classname="allreduce", name="comparison", time="0")
        _add_element(case, "failure", type="undecided", message=comparison.failure)
    notes = [comparison.heading, method(comparison), *comparison.notes, *sentences(comparison)]
    _add_element(suite, "system-out").text = _escape_xml("\n".join(notes))
    ElementTree.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suites, encoding="unicode")}\n'


def _add_case(suite: ElementTree.Element, cell: ComparedCell, failing: Sequence[str]) -> None:
    case = _add_element(
        suite,
        "testcase",
        classname=f"allreduce.{Competitor(cell.key.competitor).algorithm}",
        name=cell.name,
        time=_format_time([cell]),
    )
    message = f"{f'{cell.observed} by the ratio alone' if cell.observed else cell.verdict}: {cell.outcome}"
    if cell.verdict in failing:
        _add_element(case, "failure", type=cell.verdict, message=message).text = _escape_xml(message)
    elif cell.verdict == "undecided":
        _add_element(case, "skipped", message=message)
    else:
        _add_element(case, "system-out").text = _escape_xml(message)


def _format_time(cells: Sequence[ComparedCell]) -> str:
    return f"{sum(cell.new_s or 0.0 for cell in cells):.9f}"


def _add_element(parent: ElementTree.Element | None, tag: str, **attributes: object) -> ElementTree.Element:
    texts = {name: _escape_xml(str(value)) for name, value in attributes.items()}
    return ElementTree.Element(tag, texts) if parent is None else ElementTree.SubElement(parent, tag, texts)


def _escape_xml(text: str) -> str:
    return NOT_IN_XML.sub("\ufffd", text)


def json_text(comparison: Comparison) -> str:
    """Return an object with the runs of both sides, the settings, the result of the gate, notes, cells and one_sided.

    Times are seconds, ratios new / baseline; an unknown value is null. `unit` is what counted once: a launch, a job, or
    a round; of `pairs` of an old and a new one the new one was slower in `slower_pairs`.
    """
    content = {
        "schema": SCHEMA,
        "baseline": [run.name for run in comparison.baseline],
        "new": [run.name for run in comparison.new],
        "threshold": comparison.threshold,
        "method": method(comparison),
        "counts": {kind: len(comparison.cells_with(kind)) for kind in (*VERDICTS, "failed")},
        "undecided": comparison.undecided,
        "failed": bool(comparison.failure),
        "failure": comparison.failure or None,
        "warning": comparison.warning or None,
        "sentence": comparison.sentence,
        "observed": _observed_object(comparison.observed),
        "differences": [difference._asdict() for difference in comparison.differences],
        "notes": list(comparison.notes),
        "cells": [_cell_object(cell) for cell in comparison.cells],
        "one_sided": list(map(str, comparison.one_sided)),
    }
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


FORMATS = {"table": table, "markdown": markdown, "junit": junit, "json": json_text}


def _observed_object(found: Observed | None) -> dict[str, Any] | None:
    if found is None:
        return None
    directions = [direction._asdict() for direction in found.directions]
    return {"cells": found.cells, "directions": directions, "sentence": str(found)}


def _cell_object(cell: ComparedCell) -> dict[str, Any]:
    counts = cell.counts
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
        "unit": cell.replicate and cell.replicate.name,
        "units": list(cell.counted),
        "pairs": counts and counts.pairs,
        "slower_pairs": counts and counts.slower,
        "faster_pairs": counts and counts.faster,
    }
