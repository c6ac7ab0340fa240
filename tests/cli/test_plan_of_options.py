"""The plan of a run that is new is written once; one that is there is gone on with, or refused in a sentence."""

from dataclasses import replace
from pathlib import Path

import pytest

from allreduce_bench.cli.plan_of_options import open_run, planned_run, refuse_short_timeout, refuse_under_launcher
from allreduce_bench.cli.request import Control, Request
from allreduce_bench.runs.plan import Plan, PlanError
from allreduce_bench.runs.rows import RunError

PLAN = Plan(("ring",), (8,), (2,))


@pytest.mark.parametrize(
    ("control", "why"),
    [
        (Control(resume=True), "--resume needs the folder of the run"),
        (Control(within_s=0.0), "--within needs some time"),
        (Control(output=Path("sum")), "-o sum: -o is the output folder; the operation is --op sum"),
    ],
)
def test_a_control_that_makes_no_sense_is_refused(control, why):
    with pytest.raises(PlanError, match=why):
        planned_run(Request(lambda: PLAN, control))
    with pytest.raises(PlanError, match="--timeout: 0.5 s would end launches that are well"):
        refuse_short_timeout(0.5)


def test_a_run_is_made_once_and_then_gone_on_with(tmp_path):
    control = Control(output=tmp_path / "run")
    folder, plan = open_run(Request(lambda: PLAN, control))
    assert plan == PLAN and folder.run_json.is_file()
    with pytest.raises(RunError, match="exists already"):
        open_run(Request(lambda: PLAN, control))
    other = replace(PLAN, sizes=(16,))
    resuming = replace(control, resume=True)
    assert open_run(Request(lambda: other, resuming))[1] == PLAN  # nobody asked for its sizes
    with pytest.raises(PlanError, match="--resume keeps the run's sizes"):
        open_run(Request(lambda: other, resuming, frozenset({"sizes"})))


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"hosts", "map_by"}, "--hosts, --map-by under a launcher: the ranks are started already"),
        ({"wait_idle"}, "--wait-idle under a launcher: the ranks are started already"),
        ({"requeue"}, "--requeue under a launcher: these ranks are one launch of a job"),
    ],
)
def test_what_is_too_late_under_a_launcher_is_refused(asked, reason):
    refuse_under_launcher({"sizes"})
    with pytest.raises(PlanError, match=reason):
        refuse_under_launcher(asked)
