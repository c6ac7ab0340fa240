"""A sample of the study of false causes: what it promises holds, and the kept table has the promised figures."""

import csv

import pytest
from false_causes import CLEAN, FALSE, Cell, cell, draw, kept, limit_words, upper_limit, write_csv
from places import ROOT


@pytest.mark.parametrize("kind", CLEAN)
def test_clean_jobs_have_no_cause(kind):
    assert [cell(kind, lag1, 8, 6).cause for lag1 in (0.3, 0.95)] == [0.0, 0.0]


@pytest.mark.parametrize("kind", ["12 % slower", "slow in a third", "half slower", "checkpoint of one"])
def test_what_is_slow_is_found(kind):
    assert cell(kind, 0.6, 8, 6).found == 1.0


def made(cause=0.0, found=1.0):
    for ranks in (8, 64):
        for lag1 in (0.3, 0.9):
            yield Cell("normal", True, lag1, ranks, 300, None, cause, 0.0, 0.0, 100.0)
            yield Cell("half slower", False, lag1, ranks, 100, found, 1.0, 1.0, 0.0, 100.0)


def test_a_promise_that_is_not_kept_is_seen(capsys):
    assert kept(list(made())) and "0 of 300 (below 1.0 % at 95 %)" in capsys.readouterr().out
    assert not kept(list(made(cause=2 * FALSE))) and not kept(list(made(found=0.5)))


def test_the_limit_is_that_of_clopper_and_pearson():
    assert upper_limit(0.0, 300) == pytest.approx(1 - 0.05 ** (1 / 300)) and upper_limit(1.0, 5) == 1.0
    assert limit_words(0.01, 300) == "3 of 300 (below 2.6 % at 95 %)"


def test_table_and_figure_are_written(tmp_path):
    write_csv(list(made()), tmp_path / "a.csv")
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 9
    draw(list(made()), tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 10_000


def test_the_kept_table_keeps_the_promises():
    with (ROOT / "docs" / "stragglers" / "false_causes.csv").open(encoding="utf-8") as file:
        rows = [
            Cell(
                row["kind"],
                row["is_clean"] == "True",
                float(row["lag1"]),
                int(row["ranks"]),
                int(row["jobs"]),
                float(row["found"]) if row["found"] else None,
                *(float(row[name]) for name in Cell._fields[6:]),
            )
            for row in csv.DictReader(file)
        ]
    assert kept(rows)
    assert {row.jobs for row in rows if row.is_clean} == {300}
