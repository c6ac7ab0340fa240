"""A comparison as JUnit XML, as the test reports of Jenkins, GitLab and others read it: one test case a cell.

slower and failed are failures, with that word as their type; undecided and cells of one side only are skipped, with the
reason, since neither is a success. The time of a case is the new side's in seconds, so that a server's trend shows it.
"""

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from .judgement import ComparedCell, Comparison
from .text import method

NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML 1.0 cannot say


def junit(found: Comparison) -> str:
    """The XML document, UTF-8."""
    failures = len(found.of("slower")) + len(found.of("failed"))
    skipped = len(found.of("undecided")) + len(found.one_sided)
    counts = {"tests": len(found.cells) + len(found.one_sided), "failures": failures, "errors": 0, "skipped": skipped}
    suites = _element(None, "testsuites", name="allreduce-bench compare", **counts)
    suite = _element(suites, "testsuite", name="allreduce-bench compare", **counts, time=_time(found.cells))
    properties = _element(suite, "properties")
    for side, runs in (("baseline", found.baseline), ("new", found.new)):
        _element(properties, "property", name=side, value=" ".join(run.name for run in runs))
    for cell in found.cells:
        _case(suite, cell)
    for line in found.one_sided:
        why, _, name = line.partition(": ")
        _element(_element(suite, "testcase", classname="allreduce", name=name, time="0"), "skipped", message=why)
    _element(suite, "system-out").text = _clean("\n".join([method(found), *found.notes, found.sentence]))
    ElementTree.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suites, encoding="unicode")}\n'


def _case(suite: ElementTree.Element, cell: ComparedCell) -> None:
    case = _element(suite, "testcase", classname=f"allreduce.{cell.algorithm}", name=cell.name, time=_time([cell]))
    told = f"{cell.verdict}: {cell.words}"
    if cell.verdict in ("slower", "failed"):
        _element(case, "failure", type=cell.verdict, message=told).text = _clean(told)
    elif cell.verdict == "undecided":
        _element(case, "skipped", message=told)
    else:
        _element(case, "system-out").text = _clean(told)


def _time(cells: Sequence[ComparedCell]) -> str:
    return f"{sum(cell.new_s or 0.0 for cell in cells):.9f}"


def _element(parent: ElementTree.Element | None, tag: str, **attributes: object) -> ElementTree.Element:
    words = {name: _clean(str(value)) for name, value in attributes.items()}
    return ElementTree.Element(tag, words) if parent is None else ElementTree.SubElement(parent, tag, words)


def _clean(text: str) -> str:
    return NO_XML.sub("\ufffd", text)
