"""Schemas of rows: the columns of the program's own tables, their kinds and words."""

import csv

import pytest
from made_runs import build_run
from strict_schemas import FORMATS, KEPT_RUNS, strict

from allreduce_bench.evaluation.summary import record_summary
from allreduce_bench.runs import schema
from allreduce_bench.runs.json_schema import folder
from allreduce_bench.runs.json_schema.check import document_violations, folder_violations

TABLES = {"calls": schema.REPETITIONS, "cells": schema.CELLS, "summary": schema.SUMMARY}


@pytest.mark.parametrize("name", TABLES)
def test_every_column_is_described_with_its_unit(name):
    properties = FORMATS[name].schema["properties"]
    assert set(properties) == {column.name for column in TABLES[name]}
    for column in TABLES[name]:
        unit = f"; unit: {column.unit}" if column.unit else ""
        assert properties[column.name]["description"] == column.meaning + unit


@pytest.mark.parametrize("folder", KEPT_RUNS, ids=lambda path: path.name)
def test_kept_runs_obey(folder):
    checked = dict(folder_violations(tuple(FORMATS.values()), folder))
    assert len(checked) >= 8 and not [violation for found in checked.values() for violation in found]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    def wrong(launch, cell):
        states = {"ring": {"state": "wrong", "wrong": 3}, "two_tree": None}
        return states.get(cell.algorithm, {}) if launch.number > 1 and cell.count < 1000 else {}

    folder = build_run(tmp_path_factory.mktemp("runs") / "run", outcome=wrong, floors=True, cache="cold")
    record_summary(folder)
    return folder


def refusals(name: str, path, old: str, new: str) -> list[str]:
    """What is said of the last row of a file with `old` for `new`."""
    head, *_, last = path.read_text().splitlines()
    assert old in last
    content = f"{head}\n{last.replace(old, new, 1)}\n".encode()
    return [str(violation) for violation in document_violations(FORMATS[name], content, "file")]


def test_runs_of_today_have_no_column_that_is_not_described(made):
    for name, path in [("summary", made.summary_csv), *(("calls", p) for p in made.launches.glob("*r-?.1.csv"))]:
        assert not list(document_violations(strict(name), path.read_bytes(), str(path)))
        with open(path, newline="") as file:
            assert next(csv.reader(file)) == [column.name for column in TABLES[name]]


def test_a_changed_type_or_word_is_refused(made):
    calls, cells = made.launches / "2r-1.1.csv", made.launches / "2r-1.1.cells.csv"
    assert refusals("calls", calls, "2r-1,1,", "2r-1,one,") == [
        'file, line 2, attempt: expected a whole number or null, found "one"'
    ]
    assert refusals("summary", made.summary_csv, ",not reliable,", ",splendid,") == [
        'file, line 2, grade: expected one of "good", "provisional", "not reliable", null, found "splendid"'
    ]
    assert refusals("cells", cells, ",done,", ",,") == [
        'file, line 2, state: expected one of "done", "wrong", "refused", "hung", "skipped", "left out", found null',
        "file, line 2, state: expected text, found null",
    ]
    assert refusals("summary", made.summary_csv, ",float32,", ",float32,extra,") == [
        f"file, line 2: expected {len(schema.SUMMARY)} fields, found {len(schema.SUMMARY) + 1}"
    ]


def test_times_are_below_zero_only_where_a_clock_ran_backwards(made):
    text = (made.launches / "2r-1.1.csv").read_text().splitlines()
    place = text[0].split(",").index("time_s")
    valid = text[0].split(",").index("valid")
    fields = text[-1].split(",")
    for flag, refused in (("1", True), ("0", False)):
        fields[place], fields[valid] = "-1e-6", flag
        content = f"{text[0]}\n{','.join(fields)}\n".encode()
        found = list(document_violations(FORMATS["calls"], content, "file"))
        assert [violation.place for violation in found] == ["line 2, time_s"] * refused


def test_fields_are_typed_by_their_columns():
    row = {"ranks": "4", "time_s": "1e-6", "dtype": "", "same_bits": "1", "nbytes": "many", "new": "3"}
    typed = {"ranks": 4, "time_s": 1e-6, "dtype": None, "same_bits": 1, "nbytes": "many", "new": "3"}
    assert folder.typed_row(row) == typed
