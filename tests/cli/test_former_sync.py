"""A run that was measured with a start of calls that is no longer there can be read, but not gone on with."""

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from interpreters import interpreters
from places import DATA

from allreduce_bench.cli import main
from allreduce_bench.evaluation.summary import summarise
from allreduce_bench.runs.command_of_plan import repeat_command
from allreduce_bench.runs.folder import RunFolder

KEPT = DATA / "run_with_dissemination"


@pytest.fixture
def folder(tmp_path) -> Path:
    return shutil.copytree(KEPT, tmp_path / "run")


def call(*words) -> Result:
    return CliRunner().invoke(main, list(map(str, words)))


def test_its_summary_is_made_anew(folder):
    rows = summarise(RunFolder(folder))
    assert {row["time_definition"] for row in rows} == {"dissemination_max_local"}
    assert {row["competitor"] for row in rows} == {"native", "ring"} and all(row["time_s"] > 0 for row in rows)


def test_report_and_compare_read_it(folder):
    result = call("report", folder)
    assert result.exit_code == 0, result.output
    page = (folder / "report.html").read_text()
    assert "after a dissemination barrier of MPI_Sendrecv" in page
    path = folder / "launches" / "2r-1.1.calls.csv"
    path.write_text(re.sub(r",(\d\.\d+e-06)", r",1\1", path.read_text()))  # a copy would not be compared
    result = call("compare", KEPT, folder, "--undecided", "pass")
    assert result.exit_code == 0, result.output


def test_the_command_that_repeats_it_can_be_called(folder):
    assert "--sync" not in repeat_command(RunFolder(folder).plan())


def test_resume_of_an_unfinished_one_says_what_to_do(folder):
    (folder / "launches" / "2r-2.1.cells.csv").unlink()
    before = sorted(path.name for path in folder.rglob("*"))
    for more in ([], ["--sync", "barrier"]):
        result = call("run", "--resume", "-o", folder, *more)
        assert result.exit_code == 2 and "Traceback" not in result.output
        said = result.stderr.splitlines()[-1]
        assert said.startswith(f"error: {folder}: was measured with --sync dissemination") and "longer exists" in said
    assert sorted(path.name for path in folder.rglob("*")) == before


@pytest.mark.skipif(not interpreters(), reason="no interpreter here has an MPI")
def test_resume_of_a_finished_one_prints_its_table(folder):
    result = call("run", "--resume", "-o", folder)
    assert result.exit_code == 0 and "cells done, 0 wrong elements" in result.output


def test_a_new_run_cannot_choose_it(tmp_path):
    assert call("run", "--sync", "dissemination", "-o", tmp_path / "new").exit_code == 2
    assert not (tmp_path / "new").exists()
