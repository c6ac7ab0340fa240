"""The request for a run, and the run that it leads to: a new one with its plan, or one that is resumed.

A `Request` becomes a folder and a plan in two phases: `planned_run`, which writes nothing, and `begin_run`.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from ..algorithms import FILES, by_default, digest_of, find, find_planned
from ..launching.layout import ranks_of_job
from ..machine.node import NOT_STORED, cores, drop_values, host
from ..runs.cell import FORCED_DEFAULT, FORCED_PREFIX, FORCED_WAY, GLOO, GUIDELINES, MOCKUPS, NATIVE
from ..runs.control import Control
from ..runs.dtypes import DTYPES, teach_numpy
from ..runs.folder import RunFolder
from ..runs.injected import digest_of_trace, longest_delay_s, longest_phase_s, refuse_traces, traces_of
from ..runs.launch_choice import chosen_launches
from ..runs.library_algorithms import NAMES, launches_of, refuse_unknown
from ..runs.option import options_of
from ..runs.plan import OPS, UNTIL, Plan, PlanError, geometric_sizes
from ..runs.recorder import create_run, is_taken
from ..runs.rows import RunError
from ..runs.schema import FORMER_SYNCS
from ..runs.start import Start, read_hostfile
from ..watching.lifeline import LAB_VARIABLE
from ..wings import load_offers
from .options import OPTIONS
from .own_algorithms import with_executors
from .types import kept_command, talk, tell_damages

TEXTS = ("launcher", "launcher_args", "remote_shell")  # passed on unchanged
SHORTEST_TIMEOUT_S = 1.0  # with more ranks than cores a rank may wait this long for a core


@dataclass(frozen=True)
class Request:
    """A request for a run.

    `make_plan` is called late, since it looks at cores, hosts and algorithms; its keyword arguments are options that
    are decided meanwhile. It raises PlanError, StartError and AlgorithmError.
    """

    make_plan: Callable[..., Plan]
    control: Control
    asked: frozenset[str] = frozenset()  # options that the user gave: a resumed run must agree with them
    library: Callable[[], str] | None = None  # says what ranks will load; None: they are started already, once

    def loading(self, library: Callable[[], str]) -> "Request":
        """Return the same request, of ranks that will load a library."""
        return replace(self, library=library, make_plan=partial(self.make_plan, library=library))


def request_of(options: Mapping[str, Any], asked: set[str]) -> Request:
    """Return the request of `options` of the command line, of which the user gave `asked`."""
    given = (options[name] for name in ("min_busbw", "max_time", "min_efficiency"))
    limits = tuple(chain.from_iterable(chain.from_iterable(given)))
    control = Control(**_said(Control, options), limits=limits)
    return Request(partial(_plan_of, options), control, frozenset(asked))


def _said(kind: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a class that the options decide; the others keep the defaults of the class."""
    return {name: options[name] for name in options_of(kind) if options.get(name) is not None}


def on_hosts_around(start: Start) -> Start:
    """Return `start` on the virtual hosts around this process; unchanged if there are none. Raises LabError."""
    if LAB_VARIABLE not in os.environ:
        return start
    for place in load_offers("hosts"):
        start = place(start, os.environ)
    return start


def _plan_of(options: Mapping[str, Any], **decided_meanwhile: Any) -> Plan:
    options = {**options, **decided_meanwhile}
    start = replace(Start(**_said(Start, {**options, "virtual_rates_bytes_per_s": None})), hosts=_hosts(options))
    start = on_hosts_around(start)
    decided = {
        **algorithm_fields(options["algorithms"], options.get("library")),
        "sizes": tuple(sorted({*(options["sizes"] or _sizes(options))})),
        "ranks": tuple(options["ranks"] or default_ranks(start)),
        "start": start,
        "link_rate_bytes_per_s": _link_rate(options["link_rate_bytes_per_s"] or (), start),
        "arrival_digests": _arrival_digests(options["arrival"] or ()),
    }
    executing = ("executors", "window", "cut_prices")
    plan = Plan(**{**_said(Plan, {**options, **dict.fromkeys(executing)}), **decided})
    if not any(options[name] for name in executing):
        return plan
    return with_executors(plan, options)


def _with_own_launches(plan: Plan, library: str) -> Plan:
    """Return a plan in which algorithms that the library is told to use have launches of their own. Raises ValueError.

    With its own choice in these, where all take turns in one.
    """
    forced = [name for name in plan.algorithms if name in NAMES]
    launches, at = launches_of(forced, library), plan.algorithms.index(forced[0])
    default = [FORCED_DEFAULT] * (FORCED_WAY in launches)
    algorithms = *plan.algorithms[:at], *default, *plan.algorithms[at:]
    return replace(plan, algorithms=algorithms, forced_launches=launches)


def _sizes(options: Mapping[str, Any]) -> tuple[int, ...]:
    itemsize = DTYPES.get(options["dtype"], 1)
    return geometric_sizes(options["minbytes"], options["maxbytes"], options["stepfactor"], itemsize)


def _arrival_digests(arrival: Sequence[str]) -> tuple[str, ...]:
    """Return the digests of the traces that are replayed. Raises TraceError."""
    if not arrival:
        return ()
    return tuple(map(digest_of_trace, traces_of(arrival)))


def algorithm_fields(names: tuple[str, ...] | None = None, of_ranks: Callable[[], str] | None = None) -> dict[str, Any]:
    """Return the fields of a plan for `names`: algorithms, native, paths of own files; None: those by default.

    Mock-ups and forced algorithms imply native. `of_ranks` says which library ranks load. Raises AlgorithmError, or
    ValueError for a forced one of no library, and for the default of forced ones alone.
    """
    requested = names or (NATIVE, *by_default())
    library = (NATIVE, *MOCKUPS, *NAMES, FORCED_DEFAULT, GLOO)
    for name in requested:
        if name.startswith(FORCED_PREFIX) and name not in library:
            refuse_unknown(name, of_ranks() if of_ranks else "", [NATIVE, *MOCKUPS])
    algorithms = find([name for name in requested if name not in (*library, GUIDELINES)], [*library, GUIDELINES])
    files = [str(Path(name).resolve()) for name in requested if name.endswith(FILES)]
    mockups = [name for name in MOCKUPS if name in requested or GUIDELINES in requested]
    forced = [name for name in NAMES if name in requested]
    if FORCED_DEFAULT in requested and not forced:
        raise ValueError(
            "native:default is measured by itself beside algorithms that the library is told to use; name one of "
            "these, such as native:ring; the library's own choice alone is native"
        )
    native = [NATIVE] if NATIVE in requested or mockups or forced else []
    gloo = [str(GLOO)] if GLOO in requested else []
    return {
        "algorithms": (*native, *mockups, *forced, *gloo, *algorithms),
        "files": tuple(files),
        "file_digests": tuple(map(digest_of, files)),
        "segmented": tuple(name for name, algorithm in algorithms.items() if algorithm.segmented),
        "bounded": tuple(name for name, algorithm in algorithms.items() if algorithm.bounded and not names),
    }


def default_ranks(start: Start) -> tuple[int, ...]:
    """Return the ranks of the virtual hosts, or of the Slurm job around, else the number of cores."""
    if hosts := len(start.virtual_rates_bytes_per_s):
        return (hosts * (start.ranks_per_node or 1),)
    return (ranks_of_job(os.environ, start.ranks_per_node) or max(2, cores()),)


def _link_rate(rates: Sequence[float], start: Start) -> float | None:
    """Return the rate of a node's link, bytes/s, the slowest of virtual hosts; None: unknown. Raises PlanError."""
    if start.virtual_rates_bytes_per_s:
        return min(start.virtual_rates_bytes_per_s)
    if len(rates) > 1:
        raise PlanError("--link-rate with several rates belongs to --virtual-hosts; give one rate")
    return rates[0] if rates else None


def _hosts(options: Mapping[str, Any]) -> tuple[str, ...]:
    if not options["hostfile"]:
        return options["hosts"] or ()
    if options["hosts"]:
        raise PlanError("--hosts and --hostfile both name hosts; use only one of them")
    try:
        return read_hostfile(options["hostfile"])
    except OSError as error:
        raise PlanError(f"--hostfile {options['hostfile']}: {error.strerror}; expected a file of hosts") from error


def open_run(request: Request) -> tuple[RunFolder, Plan]:
    """Create the requested run, or open it to resume it.

    Raises RunError, PlanError, DtypeError, StartError and AlgorithmError before anything is written.
    """
    return begin_run(*planned_run(request), request)


def begin_run(folder: RunFolder, plan: Plan, request: Request) -> tuple[RunFolder, Plan]:
    """Write the plan of a new run; an existing run is not changed. Raises as `open_run`.

    Returns the run and its valid plan: that of another job if several jobs create the run at once with --resume.
    """
    if not is_taken(folder.path):
        try:
            create_run(folder, kept_plan(plan), kept_command())
        except RunError:
            if not request.control.resume:
                raise
            return planned_run(request)
        if request.control.resume:
            talk(f"{folder.path}: no run to continue; this is a new one")
    return folder, plan


def planned_run(request: Request) -> tuple[RunFolder, Plan]:
    """Return the folder and the plan of the requested run; nothing is written. Raises as `open_run`."""
    from ..evaluation.acceptance import refuse_unplanned  # late: of the ranks only the first opens the run

    control = request.control
    _refuse_contradictions(control, request.asked)
    is_there = control.output is not None and is_taken(control.output)
    if is_there and not control.resume:
        raise RunError(f"{control.output}: already exists; choose another folder with -o, or continue it with --resume")
    plan = request.make_plan()
    if request.library and not {*NAMES}.isdisjoint(plan.algorithms):
        plan = _with_own_launches(plan, request.library())
    folder = RunFolder(control.output or _default_output(plan))
    if is_there:
        plan = _stored_plan(folder, plan, request.asked)
    if plan.compute_s or plan.arrival:
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


def _stored_plan(folder: RunFolder, wanted: Plan, asked: Collection[str]) -> Plan:
    """Return the plan of a resumed run. Raises as `open_run` if it cannot be resumed or differs from the options."""
    if imported := folder.imported():
        raise RunError(f"{folder.path}: imported from {imported['tool']}: it cannot be continued")
    stored = folder.plan()
    tell_damages([folder], missing=False)
    if folder.pending(stored):
        _refuse_former_sync(folder, stored)
    _refuse_other_lab(wanted, stored, folder)
    _refuse_other_plan(folder, stored, kept_plan(wanted), asked)
    stored = _with_values_of(wanted, stored, folder)
    find_planned(stored.algorithms, stored.files, stored.file_digests)
    return stored


def kept_plan(plan: Plan) -> Plan:
    """Return the plan as stored in run.json: without the values of variables in the options of the launcher."""
    texts: dict[str, Any] = {name: " ".join(drop_values([getattr(plan.start, name)])) for name in TEXTS}
    return replace(plan, start=replace(plan.start, **texts))


def _with_values_of(wanted: Plan, stored: Plan, folder: RunFolder) -> Plan:
    """Return the stored plan with the values that are not stored. Raises PlanError if they are not given again."""
    left_out = [name for name in TEXTS if NOT_STORED in getattr(stored.start, name)]
    for name in left_out:
        if getattr(kept_plan(wanted).start, name) != getattr(stored.start, name):
            option = f"--{name.replace('_', '-')}"
            raise PlanError(f"{folder.path}: {option} sets variables whose values are not stored; add {option} again")
    return replace(stored, start=replace(stored.start, **{name: getattr(wanted.start, name) for name in left_out}))


def _refuse_other_lab(wanted: Plan, stored: Plan, folder: RunFolder) -> None:
    """Raise PlanError if the run was measured on other hosts than the virtual ones around this command."""
    if wanted.start.virtual_rates_bytes_per_s != stored.start.virtual_rates_bytes_per_s:
        raise PlanError(
            f"{folder.path}: was not measured on the virtual hosts around this command; leave the lab, and repeat "
            "--resume -o outside: it starts the virtual hosts that the run needs"
        )


def refuse_short_timeout(timeout_s: float) -> None:
    """Raise PlanError for a timeout so short that it would end healthy launches."""
    if timeout_s < SHORTEST_TIMEOUT_S:
        raise PlanError(f"--timeout: {timeout_s:g} s would end healthy launches; use at least 1s")


def _refuse_injected(plan: Plan, timeout_s: float) -> None:
    """Raise TraceError for a trace that cannot be replayed, PlanError if a launch would be mistaken for a hang.

    That is a launch without progress for the whole timeout.
    """
    trace_s = refuse_traces(plan.arrival, plan.arrival_digests, plan.ranks)
    phases = {
        "--compute: a phase of work": longest_phase_s(plan.compute_s, plan.inject_slowdown),
        "--late-by: a delay": longest_delay_s(plan.arrival, plan.late_by),
        "--arrival: a delay of the trace": trace_s,
    }
    for phase, seconds in phases.items():
        if seconds >= timeout_s:
            raise PlanError(
                f"{phase} of {seconds:g} s is not shorter than the --timeout of {timeout_s:g} s, after which a launch "
                "is ended; use a shorter one, or a longer --timeout"
            )


def refuse_under_launcher(asked: Collection[str]) -> None:
    """Raise PlanError for options that are too late, since the ranks are already started."""
    too_late = {name: each for name, each in OPTIONS.items() if each.too_late and name in asked}
    for reason in dict.fromkeys(each.too_late for each in too_late.values()):
        names = ", ".join(each.name for each in too_late.values() if each.too_late == reason)
        raise PlanError(f"{names} under a launcher: {reason}")


def _refuse_other_plan(folder: RunFolder, stored: Plan, wanted: Plan, asked: Collection[str]) -> None:
    """Raise PlanError if an option of the user differs from the plan of the resumed run."""
    asked = {OPTIONS[name].decides or name for name in asked if name in OPTIONS}
    stored_fields, wanted_fields = _fields_of(stored), _fields_of(wanted)
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


def _refuse_former_sync(folder: RunFolder, plan: Plan) -> None:
    """Raise PlanError if the run has a former definition of time: new times would have another one."""
    if plan.sync in FORMER_SYNCS:
        raise PlanError(
            f"{folder.path}: was measured with --sync {plan.sync}, which no longer exists, so it cannot be continued; "
            "start a new run: another folder with -o, and --sync barrier"
        )


def _fields_of(plan: Plan) -> dict:
    """Return the fields of the plan and of its start, by name."""
    fields = plan.to_json()
    named = tuple(name for name in plan.algorithms if name != FORCED_DEFAULT)  # which nobody needs to name
    return fields | fields.pop("start") | {"algorithms": named}


def _default_output(plan: Plan) -> Path:
    ranks = "-".join(map(str, plan.ranks))
    return Path("results") / f"{datetime.now():%Y-%m-%d_%H%M%S}_{host()}_{ranks}r"
