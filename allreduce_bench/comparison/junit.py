"""A comparison as JUnit XML, as the test reports of Jenkins, GitLab and others read it: one test case a cell.

A cell that fails the gate is a failure, with the verdict as its type: slower and failed cells, and undecided cells if
requested. Other undecided cells and cells of one side are skipped, with the reason, since neither is a success. The
time of a case is the new side's in seconds, so that a server can plot its trend.
"""

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from .compared_cell import ComparedCell
from .judgement import Comparison
from .text import method, sentences

NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # not allowed in XML 1.0


def junit(comparison: Comparison) -> str:
    """The XML document, UTF-8."""
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
    notes = [method(comparison), *comparison.notes, *sentences(comparison)]
    _add_element(suite, "system-out").text = _clean("\n".join(notes))
    ElementTree.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suites, encoding="unicode")}\n'


def _add_case(suite: ElementTree.Element, cell: ComparedCell, failing: Sequence[str]) -> None:
    case = _add_element(
        suite, "testcase", classname=f"allreduce.{cell.key.algorithm}", name=cell.name, time=_format_time([cell])
    )
    message = f"{f'{cell.observed}, no interval' if cell.observed else cell.verdict}: {cell.outcome}"
    if cell.verdict in failing:
        _add_element(case, "failure", type=cell.verdict, message=message).text = _clean(message)
    elif cell.verdict == "undecided":
        _add_element(case, "skipped", message=message)
    else:
        _add_element(case, "system-out").text = _clean(message)


def _format_time(cells: Sequence[ComparedCell]) -> str:
    return f"{sum(cell.new_s or 0.0 for cell in cells):.9f}"


def _add_element(parent: ElementTree.Element | None, tag: str, **attributes: object) -> ElementTree.Element:
    texts = {name: _clean(str(value)) for name, value in attributes.items()}
    return ElementTree.Element(tag, texts) if parent is None else ElementTree.SubElement(parent, tag, texts)


def _clean(text: str) -> str:
    return NO_XML.sub("\ufffd", text)
