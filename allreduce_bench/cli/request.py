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
from ..machine.node import NOT_STORED, cores, drop_values, host, is_stored, stored_setting
from ..runs.cell import ALL_FORCED
from ..runs.competitor import (
    FORCED_ALL,
    FORCED_DEFAULT,
    FORCED_PREFIX,
    GLOO,
    GUIDELINES,
    MOCKUPS,
    NATIVE,
    NATIVES,
    WAYS,
    Competitor,
    competitor,
    split_way,
)
from ..runs.control import Control
from ..runs.dtypes import DTYPES, teach_numpy
from ..runs.folder import RunFolder
from ..runs.injected import TRACE, digest_of_trace, longest_delay_s, longest_phase_s, refuse_trace
from ..runs.launch_choice import chosen_launches
from ..runs.library_algorithms import NAMES, launches_of, names_of, refuse_unknown
from ..runs.option import options_of
from ..runs.plan import OPS, UNTIL, Plan, PlanError, geometric_sizes
from ..runs.recorder import create_run, is_taken
from ..runs.rows import RunError
from ..runs.start import Start, read_hostfile, split_variables
from ..watching.lifeline import LAB_VARIABLE
from ..wings import load_offers
from .options import OPTIONS
from .own_algorithms import decide_cuts, decide_ways
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
        **algorithm_fields(options["competitors"], decide_ways(options["executors"] or ()), options.get("library")),
        "sizes": tuple(sorted({*(options["sizes"] or _sizes(options))})),
        "ranks": tuple(options["ranks"] or default_ranks(start)),
        "start": start,
        "link_rate_bytes_per_s": _link_rate(options["link_rate_bytes_per_s"] or (), start),
        "arrival_digest": _arrival_digest(options["arrival"] or ""),
    }
    plan = Plan(**{**_said(Plan, {**options, "window": None, "cut_prices": None}), **decided})
    return decide_cuts(plan, options)


def _with_own_launches(plan: Plan, library: str) -> Plan:
    """Return a plan in which algorithms that the library is told to use have launches of their own. Raises ValueError.

    With its own choice in these, where all take turns in one.
    """
    forced = [name for name in plan.competitors if name in NAMES]
    launches, at = launches_of(forced, library), plan.competitors.index(forced[0])
    default = [FORCED_DEFAULT] * (ALL_FORCED in launches)
    competitors = *plan.competitors[:at], *default, *plan.competitors[at:]
    return replace(plan, competitors=competitors, forced_launches=launches)


def _sizes(options: Mapping[str, Any]) -> tuple[int, ...]:
    itemsize = DTYPES.get(options["dtype"], 1)
    return geometric_sizes(options["minbytes"], options["maxbytes"], options["stepfactor"], itemsize)


def _arrival_digest(arrival: str) -> str:
    """Return the digest of the trace that is replayed; empty: none is. Raises TraceError."""
    return digest_of_trace(arrival) if arrival.endswith(TRACE) else ""


def algorithm_fields(
    names: tuple[str, ...] | None = None, ways: Sequence[str] = (), of_ranks: Callable[[], str] | None = None
) -> dict[str, Any]:
    """Return the fields of a plan for `names`: competitors as users write them; None: those by default.

    `ways` are those of ours that name none. The library's algorithms imply native, and a compiled way
    native@compiled where native is measured. `of_ranks` says which library ranks load. Raises AlgorithmError, or
    ValueError for a forced one of no library, and for the default of forced ones alone.
    """
    requested = _known_words(names or (NATIVE, *by_default()), of_ranks)
    own = {word: way for word, way in requested if not _is_of_library(word)}
    algorithms = find([*dict.fromkeys(own)], [NATIVE, *MOCKUPS, *NAMES, FORCED_DEFAULT, GLOO, GUIDELINES])
    ours = [
        competitor(algorithm.name, each)
        for word, way in requested
        if not _is_of_library(word)
        for algorithm in algorithms.values()
        if algorithm.name == word or algorithm.file and word.endswith(FILES) and algorithm.file == str(Path(word))
        for each in ((way,) if way else ways or WAYS[:1])
    ]
    words = [word for word, _ in requested]
    mockups = [name for name in MOCKUPS if name in words or GUIDELINES in words]
    forced = [name for name in NAMES if name in words]
    if FORCED_DEFAULT in words and not forced:
        raise ValueError(
            "native:default is measured by itself beside algorithms that the library is told to use; name one of "
            "these, such as native:ring; the library's own choice alone is native"
        )
    natives = [competitor(NATIVE, way or WAYS[0]) for word, way in requested if word == NATIVE]
    natives += [Competitor(NATIVE)] * bool(mockups or forced)
    natives += [Competitor(NATIVES[1])] * (bool(natives) and any(each.is_compiled for each in ours))
    files = [str(Path(word).resolve()) for word in own if word.endswith(FILES)]
    return {
        "competitors": tuple(
            dict.fromkeys([*sorted(natives), *mockups, *forced, *(word for word in words if word == GLOO), *ours])
        ),
        "files": tuple(files),
        "file_digests": tuple(map(digest_of, files)),
        "segmented": tuple(name for name, algorithm in algorithms.items() if algorithm.segmented),
        "bounded": tuple(name for name, algorithm in algorithms.items() if algorithm.bounded and not names),
    }


def _known_words(names: Sequence[str], of_ranks: Callable[[], str] | None) -> list[tuple[str, str]]:
    """Return algorithm and way of each name, native:all in full. Raises ValueError for what no library has."""
    words = [split_way(name) for name in names]
    forced = [word for word, _ in words if word.startswith(FORCED_PREFIX)]
    odd = [word for word in forced if word not in (*MOCKUPS, *NAMES, FORCED_DEFAULT)]
    if not odd:
        return words
    library = of_ranks() if of_ranks else ""
    if unknown := [word for word in odd if word != FORCED_ALL]:
        refuse_unknown(unknown[0], library, [NATIVE, *MOCKUPS])
    every = [(name, "") for name in names_of(library)]
    return [one for word in words for one in (every if word[0] == FORCED_ALL else [word])]


def _is_of_library(word: str) -> bool:
    """Return whether it is no algorithm of ours or of a user."""
    return word in (NATIVE, GUIDELINES, GLOO) or word.startswith(FORCED_PREFIX)


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
            tell_unstored(plan)
        except RunError:
            if not request.control.resume:
                raise
            return planned_run(request)
        if request.control.resume:
            talk(f"{folder.path}: no run to continue; this is a new one")
    return folder, plan


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
    plan = request.make_plan()
    if request.library and not {*NAMES}.isdisjoint(plan.competitors):
        plan = _with_own_launches(plan, request.library())
    folder = RunFolder(control.output or default_output(plan))
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
    _refuse_other_lab(wanted, stored, folder)
    _refuse_other_plan(folder, stored, kept_plan(wanted), asked)
    stored = _with_values_of(wanted, stored, folder)
    find_planned(stored.algorithms, stored.files, stored.file_digests)
    return stored


def kept_plan(plan: Plan) -> Plan:
    """Return the plan as stored in run.json: without values of variables that are not on the allow-list."""
    texts: dict[str, Any] = {name: " ".join(drop_values([getattr(plan.start, name)])) for name in TEXTS}
    variables = tuple(map(stored_setting, plan.start.variables))
    return replace(plan, start=replace(plan.start, **texts, variables=variables))


def _with_values_of(wanted: Plan, stored: Plan, folder: RunFolder) -> Plan:
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


def default_output(plan: Plan) -> Path:
    ranks = "-".join(map(str, plan.ranks))
    return Path("results") / f"{datetime.now():%Y-%m-%d_%H%M%S}_{host()}_{ranks}r"
