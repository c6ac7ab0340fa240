"""A sample of the study: what is promised of slow ranks holds, and the kept table has the promised figures."""

import csv

import pytest
from operating_curve import ALARM, FOUND, REPORT, Cell, alarm_cell, alarm_day, draw, kept, report_cell, write_csv
from places import ROOT


@pytest.mark.parametrize("ranks", [8, 32])
def test_12_per_cent_is_found_under_5_per_cent_of_noise(ranks):
    assert report_cell(ranks, 0.05, 0.12, 15)[5:7] == (1.0, 0.0)
    found = alarm_cell(ranks, 0.05, 0.12, 5)
    assert found.found == 1.0 and found.false == 0.0 and 10 <= found.steps_median <= 100


def test_nobody_is_found_in_clean_jobs():
    assert report_cell(32, 0.05, 0.0, 15).false == 0.0
    assert alarm_day(8, 0.05, 1, hours=1).false == 0.0


def made(false_a_day):
    for watcher in (REPORT, ALARM):
        yield Cell(watcher, 8, 0.05, 0.0, 1, None, false_a_day, None, None)
        yield Cell(watcher, 8, 0.05, 0.12, 100, FOUND, 0.0, 20.0 if watcher == ALARM else None, None)
        yield Cell(watcher, 8, 0.2, 0.12, 100, 0.5, 0.0, None, None)


def test_a_promise_that_is_not_kept_is_seen(capsys):
    assert kept(list(made(0.0))) and "99.0%" in capsys.readouterr().out
    assert not kept(list(made(0.02)))
    assert not kept([each._replace(found=0.98) if each.found == FOUND else each for each in made(0.0)])


def test_table_and_figure_are_written(tmp_path):
    write_csv(list(made(0.0)), tmp_path / "a.csv")
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 7
    draw(list(made(0.0)), tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 10_000


def test_the_kept_table_keeps_the_promises(capsys):
    with (ROOT / "docs" / "stragglers" / "operating_curve.csv").open(encoding="utf-8") as file:
        rows = [
            Cell(*[text if name == "watcher" else float(text) if text else None for name, text in row.items()])
            for row in csv.DictReader(file)
        ]
    assert kept([row._replace(ranks=int(row.ranks), jobs=int(row.jobs)) for row in rows])
    assert len(capsys.readouterr().out.splitlines()) == 6
