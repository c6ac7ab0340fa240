"""The request for a run, and the run that it leads to: a new one with its plan, or one that is resumed.

A `Request` becomes a folder and a plan in two phases: `planned_run`, which writes nothing, and `begin_run`.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

from ..machine.node import host
from ..machine.variables import is_stored
from ..runs.control import Control
from ..runs.dtypes import teach_numpy
from ..runs.folder import RunFolder
from ..runs.injected import longest_delay_s, longest_phase_s, refuse_trace
from ..runs.launch_choice import chosen_launches
from ..runs.library_algorithms import NAMES
from ..runs.option import options_of
from ..runs.plan import IDLE_S, OPS, UNTIL, Plan, PlanError
from ..runs.recorder import create_run, is_taken
from ..runs.rows import RunError
from ..runs.start import split_variables
from .options import OPTIONS
from .plan_of_options import asked_fields, plan_of, separate_forced_launches
from .resumed import kept_plan, stored_plan
from .types import kept_command, talk

SHORTEST_TIMEOUT_S = 1.0  # with more ranks than cores a rank may wait this long for a core


@dataclass(frozen=True)
class Request:
    """What a user asks of a run: options of the command line by name, and which of them were given.

    `library` says which library the ranks load; `starts_ranks`: they are started in launches of their own.
    """

    options: Mapping[str, Any]
    asked: frozenset[str] = frozenset()  # a resumed run must agree with them
    library: Callable[[], str] | None = None
    starts_ranks: bool = False

    @property
    def control(self) -> Control:
        """Return what the options say beside the plan."""
        given = (self.options[name] for name in ("min_busbw", "max_time"))
        limits = tuple(chain.from_iterable(chain.from_iterable(given)))
        return Control(**asked_fields(Control, self.options), limits=limits)

    def deciding(self, **options: Any) -> "Request":
        """Return this request with other values of some options, which the user did not give."""
        return replace(self, options={**self.options, **options})

    def starting(self, library: Callable[[], str]) -> "Request":
        """Return this request, for ranks that will be started and load `library`."""
        return replace(self, library=library, starts_ranks=True)

    def plan(self) -> Plan:
        """Return the plan of a new run. Raises as `plan_of`."""
        return plan_of(self.options, self.library)


def open_run(request: Request) -> tuple[RunFolder, Plan]:
    """Create the requested run, or open it to resume it.

    Raises RunError, PlanError, DtypeError, StartError and AlgorithmError before anything is written.
    """
    folder, plan = planned_run(request)
    return folder, begin_run(folder, plan, request)


def begin_run(folder: RunFolder, plan: Plan, request: Request) -> Plan:
    """Write the plan of a new run; an existing run is not changed. Raises as `open_run`.

    Returns its valid plan, made by another job if several jobs create the run at once with --resume.
    """
    if not is_taken(folder.path):
        try:
            create_run(folder, kept_plan(plan), kept_command())
        except RunError:
            if not request.control.resume:
                raise
        else:
            tell_unstored(plan)
            if request.control.resume:
                talk(f"{folder.path}: no run to continue; this is a new one")
            return plan
    return existing_plan(folder, plan, request)


def existing_plan(folder: RunFolder, plan: Plan, request: Request) -> Plan:
    """Return the plan of an existing run: `plan`, unless another process made the run since that was planned.

    Raises as `open_run`, without --resume always.
    """
    if not request.control.resume:
        raise RunError(f"{folder.path}: already exists; choose another folder with -o, or continue it with --resume")
    return plan if folder.plan() == kept_plan(plan) else planned_run(request)[1]


def tell_unstored(plan: Plan) -> None:
    """Print the variables of -x whose values are not stored."""
    if names := [name for name, _ in split_variables(plan.start.variables) if not is_stored(name)]:
        talk(f"-x {', '.join(names)}: only the name is stored, not the value; --resume needs it again")


def planned_run(request: Request) -> tuple[RunFolder, Plan]:
    """Return the folder and the plan of the requested run; nothing is written. Raises as `open_run`."""
    from ..evaluation.acceptance import refuse_unplanned  # late: of the ranks only the first opens the run

    control = request.control
    _refuse_contradictions(control, request.asked)
    is_there = control.output is not None and is_taken(control.output)
    if is_there and not control.resume:
        raise RunError(f"{control.output}: already exists; choose another folder with -o, or continue it with --resume")
    if control.resume and not is_there and request.starts_ranks and not request.asked - options_of(Control).keys():
        raise RunError(f"{control.output}: no run to continue; to begin one leave out --resume")
    plan = request.plan()
    if request.library and request.starts_ranks and not {*NAMES}.isdisjoint(plan.competitors):
        plan = separate_forced_launches(plan, request.library())
    folder = RunFolder(control.output or default_output(plan))
    if is_there:
        plan = stored_plan(folder, plan, request.asked)
    if plan.compute_s or plan.arrival or plan.energy:
        _refuse_injected(plan, control.timeout_s)
    refuse_unplanned(control.limits, plan)
    chosen_launches(plan, control.only)
    teach_numpy(plan.dtype)
    return folder, plan


def _refuse_contradictions(control: Control, asked: Collection[str]) -> None:
    if control.resume and not control.output:
        raise PlanError("--resume needs the folder of the run: -o FOLDER")
    if control.skip_hung and not control.resume:
        raise PlanError("--skip-hung skips what hung in a run that --resume continues; add --resume -o FOLDER")
    if "late_by" in asked and "arrival" not in asked and not control.resume:
        raise PlanError("--late-by is how late the patterns of --arrival are; name one, such as one-late")
    if "iters" in asked and (others := [OPTIONS[name].name for name in UNTIL if name in asked]):
        raise PlanError(f"--iters ends a cell after so many calls, whatever {others[0]} says; leave out one of them")
    if control.within_s is not None and control.within_s <= 0:
        raise PlanError("--within: expected a time above 0, such as 90s or 2m")
    if control.wait_idle_s is not None and control.wait_idle_s <= 0:
        raise PlanError("--wait-idle: expected a time above 0, such as 10m; leave it out to start at once")
    if str(control.output) in OPS:
        raise PlanError(f"-o {control.output}: -o is the output folder; the operation is --op {control.output}")


def refuse_short_timeout(timeout_s: float) -> None:
    """Raise PlanError for a timeout so short that it would end healthy launches."""
    if timeout_s < SHORTEST_TIMEOUT_S:
        raise PlanError(f"--timeout: {timeout_s:g} s would end healthy launches; use at least 1s")


def _refuse_injected(plan: Plan, timeout_s: float) -> None:
    """Raise TraceError for a trace that cannot be replayed, PlanError if a launch would be mistaken for a hang.

    That is a launch without progress for the whole timeout.
    """
    trace_s = refuse_trace(plan.arrival, plan.arrival_digest, plan.ranks)
    phases = {
        "--compute: a phase of work": longest_phase_s(plan.compute_s, plan.inject_slowdown),
        "--late-by: a delay": longest_delay_s(plan.arrival, plan.late_by),
        "--arrival: a delay of the trace": trace_s,
        "--energy: a pause": IDLE_S if plan.energy else 0.0,
    }
    for phase, seconds in phases.items():
        if seconds >= timeout_s:
            raise PlanError(
                f"{phase} of {seconds:g} s is not shorter than the --timeout of {timeout_s:g} s, after which a launch "
                "is ended; use a longer --timeout, or a shorter phase or delay"
            )


def refuse_under_launcher(asked: Collection[str]) -> None:
    """Raise PlanError for options that are too late, since the ranks are already started."""
    too_late = {name: each for name, each in OPTIONS.items() if each.too_late and name in asked}
    for reason in dict.fromkeys(each.too_late for each in too_late.values()):
        names = ", ".join(each.name for each in too_late.values() if each.too_late == reason)
        raise PlanError(f"{names} under a launcher: {reason}")


def default_output(plan: Plan) -> Path:
    ranks = "-".join(map(str, plan.ranks))
    return Path("results") / f"{datetime.now():%Y-%m-%d_%H%M%S}_{host()}_{ranks}r"
