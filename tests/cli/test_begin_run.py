"""The plan of a run that is new is written once; one that is there is gone on with, or refused in a sentence."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from asked_runs import asked_run
from click.testing import CliRunner

from allreduce_bench.cli import main
from allreduce_bench.cli.request import open_run, planned_run, refuse_short_timeout, refuse_under_launcher
from allreduce_bench.machine.variables import NOT_STORED
from allreduce_bench.runs.plan import Plan, PlanError
from allreduce_bench.runs.rows import RunError
from allreduce_bench.runs.start import Start

WORDS = ("-n", 2, "-a", "ring", "--sizes", 8, "--seed", 1)
PLAN = Plan(("ring",), (8,), (2,), seed=1)


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
    ("words", "why"),
    [
        (("--resume",), "--resume needs"),
        (("--wait-idle", "0s"), "out to start"),
        (("--within", "0s"), "90s or 2m"),
        (("-o", "sum"), "-o sum: -o.*output folder.*--op sum"),
        (("--min-busbw", "1G:1"), r"--min-busbw: the run.*1 GiB \(nearest"),
    ],
)
def test_a_control_that_makes_no_sense_is_refused(words, why):
    with pytest.raises(PlanError, match=why):
        planned_run(asked_run(*WORDS, *words))
    with pytest.raises(PlanError, match="would end"):
        refuse_short_timeout(0.5)


def test_a_run_that_is_not_there_begins_and_says_so(tmp_path, capsys):
    resuming = asked_run(*WORDS, "-o", tmp_path / "run", "--resume")
    for said in (f"{tmp_path / 'run'}: no run to continue; this is a new one\n", ""):
        open_run(resuming)
        assert capsys.readouterr().err == said


def test_a_run_is_made_once_and_then_gone_on_with(tmp_path):
    words = ["-o", tmp_path / "run"]
    folder, plan = open_run(asked_run(*WORDS, *words))
    assert plan == PLAN and folder.run_json.is_file()
    with pytest.raises(RunError, match="already exists"):
        open_run(asked_run(*WORDS, *words))
    assert open_run(asked_run("--resume", *words, sizes=(16,)))[1] == PLAN  # nobody asked for its sizes
    with pytest.raises(PlanError, match="--resume uses"):
        open_run(asked_run("--resume", *words, "--sizes", 16))


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
    value = "-x API_TOKEN=hunter2 -x UCX_TLS=sm"
    secret = replace(PLAN, start=Start(launcher_args=value))
    words = [*WORDS, "-o", tmp_path / "run"]
    folder, plan = open_run(asked_run(*words, "--launcher-args", value))
    assert plan == secret and "hunter2" not in folder.run_json.read_text()
    assert folder.plan().start.launcher_args == f"-x API_TOKEN={NOT_STORED} -x UCX_TLS=sm"
    assert open_run(asked_run(*words, "--resume", "--launcher-args", value))[1] == secret
    with pytest.raises(PlanError, match="sets variables"):
        open_run(asked_run(*words, "--resume"))


def test_of_a_variable_for_the_ranks_the_name_is_kept_and_the_value_if_it_is_on_the_list(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["", "run", "-x", "UCX_TLS=sm", "-xAPI_TOKEN=hunter2"])
    secret = replace(PLAN, start=Start(variables=("UCX_TLS=sm", "API_TOKEN=hunter2")))
    words = [*WORDS, "-o", tmp_path / "run"]
    folder, plan = open_run(asked_run(*words, "-x", "UCX_TLS=sm", "-x", "API_TOKEN=hunter2"))
    assert plan == secret and "hunter2" not in folder.run_json.read_text()
    assert folder.plan().start.variables == ("UCX_TLS=sm", f"API_TOKEN={NOT_STORED}")
    assert "-x API_TOKEN: only the name is stored" in capsys.readouterr().err
    again = asked_run(*words, "--resume", variables=("API_TOKEN=hunter2",))
    assert open_run(again)[1] == secret
    with pytest.raises(PlanError, match="-x API_TOKEN: the value is not stored; add -x API_TOKEN=VALUE again"):
        open_run(asked_run(*words, "--resume"))


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
