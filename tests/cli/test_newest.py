"""Commands without a run take the newest of results/, and say so."""

import re

import pytest
from click.testing import CliRunner, Result
from made_runs import build_run
from rechecked import change_json

from allreduce_bench.cli import main


def bench(*words: str) -> Result:
    """Run the command line; what is no SystemExit is a bug and must not be hidden."""
    result = CliRunner().invoke(main, list(words))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def here(tmp_path):
    return tmp_path


def made(path, day, **words):
    folder = build_run(path, **{"sizes": (8, 1024, 65536), "ranks": (2, 4), "launches": 4, "seed": day, **words})
    change_json(folder.run_json, created=f"2026-11-{day}T10:00:00+00:00")


@pytest.mark.parametrize(
    ("command", "has_results"), [("show", False), ("report", False), ("fit", False), ("fit", True)]
)
def test_where_there_is_none_one_line_says_what_to_do(here, command, has_results):
    if has_results:
        (here / "results" / "broken").mkdir(parents=True)
        (here / "results" / "broken" / "run.json").write_text("{")
    result = bench(command)
    assert result.exit_code == 2 and not result.stdout
    assert re.fullmatch(r"error: [^\n]*found 0[^\n]*allreduce-bench run\n", result.stderr), result.stderr


def test_the_report_is_that_of_the_newest(here, monkeypatch):
    monkeypatch.setattr("allreduce_bench.report.page.write_report", lambda folders, page, *others: page)
    made(here / "results" / "old", 20)
    made(here / "results" / "new", 21)
    result = bench("report")
    assert result.stdout == "results/new/report.html\n" and "newest run: results/new\n" in result.stderr


def test_the_newest_is_taken_and_named(here):
    made(here / "results" / "old", 20)
    made(here / "results" / "new", 21)
    made(here / "elsewhere" / "newer", 22)
    result = bench("fit")
    assert result.exit_code == 0 and "newest run: results/new\n" in result.stderr
    assert result.stdout == bench("fit", "results/new").stdout
