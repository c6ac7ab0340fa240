"""Beginning a run, or going on with one: the plan that follows from the options."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from ..algorithms import find_planned
from ..machine.node import NOT_STORED, hide_secrets, host
from ..runs.dtypes import teach_numpy
from ..runs.folder import RunFolder
from ..runs.launch_choice import chosen_launches
from ..runs.plan import OPS, Plan, PlanError
from ..runs.recorder import create_run, is_taken
from ..runs.rows import RunError
from ..runs.schema import FORMER_SYNCS
from .options import AT_THE_END, STARTED_NAMES
from .request import OPTION_OF, Control, Request
from .types import kept_command, tell_damages

TEXTS = ("launcher", "launcher_args", "remote_shell")  # that are handed on as they are
SHORTEST_TIMEOUT_S = 1.0  # a rank may wait so long for its turn where there are more ranks than cores


def open_run(request: Request) -> tuple[RunFolder, Plan]:
    """Begin the run that is asked for, or go on with it.

    Raises RunError, PlanError, DtypeError, StartError and AlgorithmError before anything is written.
    """
    return begin_run(*planned_run(request), request)


def begin_run(folder: RunFolder, plan: Plan, request: Request) -> tuple[RunFolder, Plan]:
    """Write the plan of a run that is new; one that is there already is left as it is. Raises as `open_run`.

    Returns the run and the plan that counts: that of another job, where --resume lets several begin the run at once.
    """
    if not is_taken(folder.path):
        try:
            create_run(folder, kept_plan(plan), kept_command())
        except RunError:
            if not request.control.resume:
                raise
            return planned_run(request)
    return folder, plan


def planned_run(request: Request) -> tuple[RunFolder, Plan]:
    """The folder and the plan of the run that is asked for; nothing is written. Raises as `open_run`."""
    from ..evaluation.acceptance import refuse_unplanned  # late: a rank that was started by us opens no run
    from .work_limit import refuse_long_run

    control = request.control
    _refuse_contradictions(control)
    is_there = control.output is not None and is_taken(control.output)
    if is_there and not control.resume:
        raise RunError(f"{control.output}: exists already; choose another folder with -o, or go on with it by --resume")
    plan = request.make_plan()
    folder = RunFolder(control.output or _default_output(plan))
    if is_there:
        plan = _stored_plan(folder, plan, request.asked, control.no_limit)
    refuse_long_run(plan, control.no_limit)
    refuse_unplanned(control.limits, plan)
    chosen_launches(plan, control.only)
    teach_numpy(plan.dtype)
    return folder, plan


def _refuse_contradictions(control: Control) -> None:
    if control.resume and not control.output:
        raise PlanError("--resume needs the folder of the run: -o FOLDER")
    if control.within_s is not None and control.within_s <= 0:
        raise PlanError("--within needs some time, such as 90s or 2m")
    if control.wait_idle_s is not None and control.wait_idle_s <= 0:
        raise PlanError("--wait-idle needs some time, such as 10m; leave it out where nobody is to wait")
    if str(control.output) in OPS:
        raise PlanError(f"-o {control.output}: -o is the output folder; the operation is --op {control.output}")


def _stored_plan(folder: RunFolder, wanted: Plan, asked: Collection[str], no_limit: bool) -> Plan:
    """The plan of a run that is resumed. Raises as `open_run` where it cannot be, or was to be another one."""
    if imported := folder.imported():
        raise RunError(f"{folder.path}: imported from {imported['tool']}, so nothing of it is left to be measured")
    from .work_limit import refuse_long_run

    stored = folder.plan()
    tell_damages([folder])
    refuse_long_run(stored, no_limit)
    if folder.pending(stored):
        _refuse_former_sync(folder, stored)
    _refuse_other_plan(folder, stored, kept_plan(wanted), asked)
    stored = _with_secrets_of(wanted, stored, folder)
    find_planned(stored.algorithms, stored.files, stored.file_digests)
    return stored


def kept_plan(plan: Plan) -> Plan:
    """The plan as run.json keeps it: without what looks like a secret in the words for a launcher."""
    texts: dict[str, Any] = {name: " ".join(hide_secrets([getattr(plan.start, name)])) for name in TEXTS}
    return replace(plan, start=replace(plan.start, **texts))


def _with_secrets_of(wanted: Plan, stored: Plan, folder: RunFolder) -> Plan:
    """The stored plan, and what was not stored of it. Raises PlanError where that is not said again."""
    left_out = [name for name in TEXTS if NOT_STORED in getattr(stored.start, name)]
    for name in left_out:
        if getattr(kept_plan(wanted).start, name) != getattr(stored.start, name):
            option = f"--{name.replace('_', '-')}"
            raise PlanError(f"{folder.path}: does not keep what looks like a secret in {option}; say {option} again")
    return replace(stored, start=replace(stored.start, **{name: getattr(wanted.start, name) for name in left_out}))


def refuse_short_timeout(timeout_s: float) -> None:
    """Raises PlanError for a time that launches may stand still which are well."""
    if timeout_s < SHORTEST_TIMEOUT_S:
        raise PlanError(f"--timeout: {timeout_s:g} s would end launches that are well; give it 1s at least")


def refuse_under_launcher(asked: Collection[str]) -> None:
    """Raises PlanError where the user asked for a way to start ranks that are started already."""
    if given := [f"--{name.replace('_', '-')}" for name in STARTED_NAMES if name in asked]:
        raise PlanError(
            f"{', '.join(given)} under a launcher: the ranks are started already; say it to mpirun or srun instead"
        )
    if "wait_idle" in asked:
        raise PlanError(
            "--wait-idle under a launcher: the ranks are started already; wait before mpirun or srun, or leave it out"
        )
    if given := [f"--{name}" for name in AT_THE_END if name in asked]:
        raise PlanError(
            f"{', '.join(given)} under a launcher: these ranks are one launch of a job that goes on after them; "
            "say it to a run that starts its ranks itself"
        )


def _refuse_other_plan(folder: RunFolder, stored: Plan, wanted: Plan, asked: Collection[str]) -> None:
    """Raises PlanError where an option that the user gave differs from the plan of the run that is resumed."""
    asked = {*asked}
    if asked & {"minbytes", "maxbytes", "stepfactor"}:
        asked.add("sizes")
    if "hostfile" in asked:
        asked.add("hosts")
    stored_fields, wanted_fields = _fields_of(stored), _fields_of(wanted)
    for name, value in stored_fields.items():
        other = wanted_fields[name]
        if OPTION_OF.get(name, name) in asked and other != value:
            raise PlanError(
                f"{folder.path}: --resume keeps the run's {name} {value or 'none'}, found {other or 'none'}; "
                "leave that option out"
            )


def _refuse_former_sync(folder: RunFolder, plan: Plan) -> None:
    """Raises PlanError: the times of one run are of one definition, and new ones would be of another."""
    if plan.sync in FORMER_SYNCS:
        raise PlanError(
            f"{folder.path}: --sync {plan.sync}, with which it was measured, is no longer there, so it stays as it is; "
            "begin a new run, in another folder with -o and with --sync barrier"
        )


def _fields_of(plan: Plan) -> dict:
    """The fields of the plan and of its start, by name."""
    fields = plan.to_json()
    return fields | fields.pop("start")


def _default_output(plan: Plan) -> Path:
    ranks = "-".join(map(str, plan.ranks))
    return Path("results") / f"{datetime.now():%Y-%m-%d_%H%M%S}_{host()}_{ranks}r"
