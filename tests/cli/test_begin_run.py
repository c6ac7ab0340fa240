"""The plan of a run that is new is written once; one that is there is gone on with, or refused in a sentence."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from allreduce_bench.cli import main
from allreduce_bench.cli.request import Request, open_run, planned_run, refuse_short_timeout, refuse_under_launcher
from allreduce_bench.evaluation.acceptance import AcceptanceLimit
from allreduce_bench.machine.node import NOT_STORED
from allreduce_bench.runs.control import Control
from allreduce_bench.runs.plan import Plan, PlanError
from allreduce_bench.runs.rows import RunError
from allreduce_bench.runs.start import Start

PLAN = Plan(("ring",), (8,), (2,))


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--late-by 1x", "--late-by.*--arrival"),
        ("--skip-hung", "--skip-hung.*--resume"),
        ("--iters 3 --cell-time 1s", "--iters.*--cell-time"),
        ("--iters 3 --min-time 1s", "--iters.*--min-time"),
        ("-a ring,ring", "'ring'.*twice"),
        ("--executor compiled,compiled", "'compiled'.*twice"),
    ],
)
def test_a_choice_that_would_change_nothing_is_refused(words, why):
    result = CliRunner().invoke(main, ["run", "-n", "2", *words.split()])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1) and re.search(why, result.stderr)
    assert not list(Path().iterdir())


@pytest.mark.parametrize(
    ("control", "why"),
    [
        (Control(resume=True), "--resume needs"),
        (Control(wait_idle_s=0.0), "out to start"),
        (Control(within_s=0.0), "90s or 2m"),
        (Control(output=Path("sum")), "-o sum: -o.*output folder.*--op sum"),
        (
            Control(limits=(AcceptanceLimit("busbw", 1 << 30, 1e9),)),
            r"--min-busbw: the run.*1 GiB \(nearest",
        ),
    ],
)
def test_a_control_that_makes_no_sense_is_refused(control, why):
    with pytest.raises(PlanError, match=why):
        planned_run(Request(lambda: PLAN, control))
    with pytest.raises(PlanError, match="would end"):
        refuse_short_timeout(0.5)


def test_a_run_that_is_not_there_begins_and_says_so(tmp_path, capsys):
    resuming = Request(lambda: PLAN, Control(output=tmp_path / "run", resume=True))
    for said in (f"{tmp_path / 'run'}: no run to continue; this is a new one\n", ""):
        open_run(resuming)
        assert capsys.readouterr().err == said


def test_a_run_is_made_once_and_then_gone_on_with(tmp_path):
    control = Control(output=tmp_path / "run")
    folder, plan = open_run(Request(lambda: PLAN, control))
    assert plan == PLAN and folder.run_json.is_file()
    with pytest.raises(RunError, match="already exists"):
        open_run(Request(lambda: PLAN, control))
    other = replace(PLAN, sizes=(16,))
    resuming = replace(control, resume=True)
    assert open_run(Request(lambda: other, resuming))[1] == PLAN  # nobody asked for its sizes
    with pytest.raises(PlanError, match="--resume uses"):
        open_run(Request(lambda: other, resuming, frozenset({"sizes"})))


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"ranks"}, "--ranks under a launcher: mpirun or srun sets the number of ranks"),
        ({"hosts", "map_by"}, "--hosts, --map-by under a launcher: the ranks are already started"),
        ({"wait_idle_s"}, "--wait-idle under a launcher: the ranks are already started"),
        ({"requeue"}, "--requeue under a launcher: these ranks are only one launch of the job"),
    ],
)
def test_what_is_too_late_under_a_launcher_is_refused(asked, reason):
    refuse_under_launcher({"sizes"})
    with pytest.raises(PlanError, match=reason):
        refuse_under_launcher(asked)


def test_a_value_of_a_variable_for_the_launcher_is_used_and_not_kept(tmp_path):
    secret = replace(PLAN, start=Start(launcher_args="-x API_TOKEN=hunter2 -x UCX_TLS=sm"))
    control = Control(output=tmp_path / "run")
    folder, plan = open_run(Request(lambda: secret, control, frozenset({"launcher_args"})))
    assert plan == secret and "hunter2" not in folder.run_json.read_text()
    assert folder.plan().start.launcher_args == f"-x API_TOKEN={NOT_STORED} -x UCX_TLS=sm"
    resuming = replace(control, resume=True)
    assert open_run(Request(lambda: secret, resuming, frozenset({"launcher_args"})))[1] == secret
    with pytest.raises(PlanError, match="sets variables"):
        open_run(Request(lambda: PLAN, resuming))


def test_of_a_variable_for_the_ranks_the_name_is_kept_and_the_value_if_it_is_on_the_list(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["", "run", "-x", "UCX_TLS=sm", "-xAPI_TOKEN=hunter2"])
    secret = replace(PLAN, start=Start(variables=("UCX_TLS=sm", "API_TOKEN=hunter2")))
    control = Control(output=tmp_path / "run")
    folder, plan = open_run(Request(lambda: secret, control, frozenset({"variables"})))
    assert plan == secret and "hunter2" not in folder.run_json.read_text()
    assert folder.plan().start.variables == ("UCX_TLS=sm", f"API_TOKEN={NOT_STORED}")
    assert "-x API_TOKEN: only the name is stored" in capsys.readouterr().err
    resuming = replace(control, resume=True)
    again = replace(PLAN, start=Start(variables=("API_TOKEN=hunter2",)))
    assert open_run(Request(lambda: again, resuming))[1] == secret
    with pytest.raises(PlanError, match="-x API_TOKEN: the value is not stored; add -x API_TOKEN=VALUE again"):
        open_run(Request(lambda: PLAN, resuming))


def test_a_sweep_whose_jobs_would_need_such_a_value_is_refused(tmp_path):
    words = ["submit", "--nodes", "2", "--ranks-per-node", "1", "-o", str(tmp_path / "sweep"), "--dry-run"]
    for more in (
        ["--launcher-args", "-x TOKEN=hunter2"],
        ["-x", "TOKEN=hunter2"],
        ["--", "--export=ALL,TOKEN=hunter2"],
    ):
        result = CliRunner().invoke(main, [*words, *more])
        assert result.exit_code == 2 and "jobs start" in result.stderr, result.output
        assert "hunter2" not in result.output and not (tmp_path / "sweep").exists()
