"""Files held against schemas: every violation in one line with its place, also in what is no JSON at all."""

import json
import sys

import pytest
from strict_schemas import EXAMPLE, FORMATS

from allreduce_bench.runs.json_schema import check
from allreduce_bench.runs.json_schema.build import Format, fields, items, number, text, whole

POINT = fields({"name": text(), "sizes": items(whole())}, {"time_s": number()})
FORMAT = Format("urn:allreduce-bench:point:1", "a point", POINT)


def said(content: str | bytes, format_: Format = FORMAT) -> list[str]:
    content = content.encode() if isinstance(content, str) else content
    return list(map(str, check.document_violations(format_, content, "f.json")))


def test_what_obeys_has_no_violation():
    assert said('{"name": "a", "sizes": [8, 0], "more": {}}') == []


def test_violations_name_the_place_what_was_expected_and_what_was_found():
    assert said('{"sizes": [8, -1, "x"], "time_s": null}') == [
        "f.json: expected the field name, found none",
        "f.json, sizes[1]: expected 0 or more, found -1",
        'f.json, sizes[2]: expected a whole number, found "x"',
        "f.json, time_s: expected a number, found null",
    ]
    (line,) = said(json.dumps({"name": list(range(1000)), "sizes": []}))
    assert len(line) < 130


@pytest.mark.parametrize("content", ["", "{", "[" * 100_000, b"\xff", '{"name": NaN}', "\x1b[2J"])
def test_what_is_no_json_is_one_violation(content):
    (line,) = said(content)
    assert "f.json: expected a JSON document" in line and line.isprintable()


def test_of_many_violations_the_first_are_named():
    assert len(said(json.dumps({"name": "a", "sizes": ["x"] * 500}))) == check.MOST


def test_rows_are_checked_as_one_by_one():
    path = EXAMPLE / "launches" / "2r-1.1.calls.csv"
    lines = path.read_text().splitlines(keepends=True)
    assert said("".join(lines), FORMATS["calls"]) == []
    lines[7] = lines[7].replace("2r-1,1,", "2r-1,-1,", 1)
    lines[-1] = lines[-1].rstrip("\n")[:-5]  # cut off: no reader takes it
    assert said("".join(lines), FORMATS["calls"]) == ["f.json, line 8, attempt: expected 0 or more, found -1"]
    told = said("a,b\n1,2\n", FORMATS["calls"])[0]
    assert "f.json, line" in told and "expected the columns" in told


def test_a_time_that_is_no_number_is_found():
    head, first, *_ = (EXAMPLE / "launches" / "2r-1.1.calls.csv").read_text().splitlines(keepends=True)
    time_s = first.split(",")[head.split(",").index("time_s")]
    (line,) = said(head + first.replace(time_s, "nan", 1), FORMATS["calls"])
    assert line.startswith("f.json, line 2, time_s: expected")


def test_formats_are_told_by_content_and_by_place(tmp_path):
    formats = tuple(FORMATS.values())
    content = {"schema": "urn:allreduce-bench:compare:2"}
    assert check.format_of(formats, tmp_path / "x", json.dumps(content).encode()) == FORMATS["compare"]
    assert check.format_of(formats, tmp_path / "x", b'{"kind": "allreduce-bench machine"}') == FORMATS["machine"]
    for unknown in (b"[]", b"{", b'{"schema": ["a"]}', b'{"schema": "urn:allreduce-bench:compare:9"}'):
        assert check.format_of(formats, tmp_path / "x", unknown) is None
    for name, file in {"run": "run.json", "cells": "launches/2r-1.1.cells.csv", "calls": "launches/2r-1.1.calls.csv"}.items():
        assert check.format_of(formats, EXAMPLE / file, b"") == FORMATS[name]


def test_without_jsonschema_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(check.CheckError, match="--check needs"):
        said("{}")
