"""What is printed and judged at the end of a run, of what was chosen of it."""

import pytest
from made_runs import build_run

from allreduce_bench.cli.end_of_run import end_of_run, finish
from allreduce_bench.runs.control import Control
from allreduce_bench.runs.rows import RunError
from allreduce_bench.watching.lifeline import WarningFlag


def test_the_table_is_of_the_chosen_launches_and_the_summary_of_all(tmp_path, capsys):
    folder = build_run(tmp_path / "run", sizes=(8,))
    assert finish(Control(only="2r"), folder, folder.plan()) == ""
    printed = capsys.readouterr()
    assert "2 ranks" in printed.out and "4 ranks" not in printed.out
    assert "next: allreduce-bench report" in printed.err
    assert folder.summary_csv.read_text().count("\n") == 1 + 6


def test_a_cell_that_hung_fails_unless_it_was_to_be_skipped(tmp_path):
    def outcome(launch, cell):
        return {"state": "hung", "reason": "nothing moved"} if cell.algorithm == "ring" else {}

    folder = build_run(tmp_path / "run", sizes=(8,), outcome=outcome)
    assert "check failed" in finish(Control(), folder, folder.plan())
    assert finish(Control(skip_hung=True), folder, folder.plan()) == ""


@pytest.mark.parametrize(("state", "failure"), [("skipped", "nothing was measured"), ("done", "")])
def test_a_run_that_measured_nothing_is_no_success(tmp_path, state, failure):
    def outcome(launch, cell):
        return {} if (cell.algorithm, state) == ("ring", "done") else {"state": "skipped", "reason": "no such type"}

    folder = build_run(tmp_path / "run", sizes=(8,), outcome=outcome)
    assert finish(Control(), folder, folder.plan()) == failure


def test_without_a_finished_cell_there_is_nothing_to_say_after_a_warning_alone(tmp_path):
    folder, warning = build_run(tmp_path / "run", sizes=(8,), outcome=lambda launch, cell: None), WarningFlag()
    with pytest.raises(RunError):
        end_of_run(Control(), warning, folder, folder.plan())
    warning.is_set = True
    assert end_of_run(Control(), warning, folder, folder.plan()) == ""
