"""A run that `--resume` continues: its stored plan, which must agree with the options given again."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from ..algorithms import find_planned
from ..machine.variables import NOT_STORED, drop_values, stored_setting
from ..runs.competitor import FORCED_DEFAULT, Competitor
from ..runs.folder import RunFolder
from ..runs.plan import Plan, PlanError
from ..runs.rows import RunError
from ..runs.start import split_variables
from .options import OPTIONS
from .types import tell_damages

TEXTS = ("launcher", "launcher_args", "remote_shell")  # passed on unchanged


def stored_plan(folder: RunFolder, wanted: Plan, asked: Collection[str]) -> Plan:
    """Return the plan of a resumed run. Raises RunError if it cannot be resumed, PlanError if the options differ."""
    if imported := folder.imported():
        raise RunError(f"{folder.path}: imported from {imported['tool']}: it cannot be continued")
    stored = folder.plan()
    tell_damages([folder], missing=False)
    _refuse_other_lab(wanted, stored, folder)
    _refuse_other_plan(folder, stored, kept_plan(wanted), asked)
    stored = _restore_values(wanted, stored, folder)
    find_planned(stored.algorithms, stored.files, stored.file_digests)
    return stored


def kept_plan(plan: Plan) -> Plan:
    """Return the plan as stored in run.json: without values of variables that are not on the allow-list."""
    texts: dict[str, Any] = {name: " ".join(drop_values([getattr(plan.start, name)])) for name in TEXTS}
    variables = tuple(map(stored_setting, plan.start.variables))
    return replace(plan, start=replace(plan.start, **texts, variables=variables))


def _restore_values(wanted: Plan, stored: Plan, folder: RunFolder) -> Plan:
    """Return the stored plan with the values that are not stored. Raises PlanError if they are not given again."""
    left_out = [name for name in TEXTS if NOT_STORED in getattr(stored.start, name)]
    for name in left_out:
        if getattr(kept_plan(wanted).start, name) != getattr(stored.start, name):
            option = f"--{name.replace('_', '-')}"
            raise PlanError(f"{folder.path}: {option} sets variables whose values are not stored; add {option} again")
    given = dict(split_variables(wanted.start.variables))
    for name, value in split_variables(stored.start.variables):
        if value == NOT_STORED and name not in given:
            raise PlanError(f"{folder.path}: -x {name}: the value is not stored; add -x {name}=VALUE again")
    texts: dict[str, Any] = {name: getattr(wanted.start, name) for name in left_out}
    variables = tuple(
        f"{name}={given[name] if value == NOT_STORED else value}"
        for name, value in split_variables(stored.start.variables)
    )
    return replace(stored, start=replace(stored.start, **texts, variables=variables))


def _refuse_other_lab(wanted: Plan, stored: Plan, folder: RunFolder) -> None:
    """Raise PlanError if the run was measured on other hosts than the virtual ones around this command."""
    if wanted.start.virtual_rates_bytes_per_s != stored.start.virtual_rates_bytes_per_s:
        raise PlanError(
            f"{folder.path}: was not measured on the virtual hosts around this command; leave the lab, and repeat "
            "--resume -o outside: it starts the virtual hosts that the run needs"
        )


def _refuse_other_plan(folder: RunFolder, stored: Plan, wanted: Plan, asked: Collection[str]) -> None:
    """Raise PlanError if an option of the user differs from the plan of the resumed run."""
    stored_fields, wanted_fields = _fields_of(stored), _fields_of(wanted)
    if "executors" in asked and "competitors" not in asked:  # the others are those of the run
        for plan, plan_fields in ((stored, stored_fields), (wanted, wanted_fields)):
            ours = [name for name in map(Competitor, plan.competitors) if name.is_ours]
            plan_fields["executors"] = tuple(sorted({name.way for name in ours}))
    decided = {name: OPTIONS[name].decides or name for name in asked if name in OPTIONS}
    asked = {name if name in stored_fields else decides for name, decides in decided.items()}
    for name, value in stored_fields.items():
        other = wanted_fields[name]
        if name in asked and other != value:
            raise PlanError(
                f"{folder.path}: --resume uses the run's {name} {_words(value)}, found {_words(other)}; leave out "
                "that option"
            )


def _words(value: object) -> str:
    """Format a field of a plan as options have it."""
    if isinstance(value, tuple) and value:
        return ",".join(str(one) or "unknown" for one in value)
    return str(value or "none")


def _fields_of(plan: Plan) -> dict:
    """Return the fields of the plan and of its start, by name."""
    fields = plan.to_json()
    named = tuple(name for name in plan.competitors if name != FORCED_DEFAULT)  # which nobody needs to name
    return fields | fields.pop("start") | {"competitors": named}
