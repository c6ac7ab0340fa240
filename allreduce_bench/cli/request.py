"""What `run`, and whatever else starts one, is asked for, as typed objects: its plan, and what is not its plan."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from ..algorithms import builtin, digest_of, find
from ..launching.layout import ranks_of_job
from ..machine.node import cores
from ..runs.cell import GUIDELINES, MOCKUPS, NATIVE
from ..runs.dtypes import DTYPES
from ..runs.option import options_of
from ..runs.plan import Plan, PlanError, geometric_sizes
from ..runs.start import Start, read_hostfile
from ..watching.lifeline import LAB_VARIABLE
from .options import Control


@dataclass(frozen=True)
class Request:
    """A run that is asked for.

    Its plan is made late, since that looks at cores, hosts and algorithms. Keyword arguments of `make_plan` are options
    that are decided meanwhile. It raises PlanError, StartError and AlgorithmError.
    """

    make_plan: Callable[..., Plan]
    control: Control
    asked: frozenset[str] = frozenset()  # options that the user gave: a run that is resumed must agree with them


def request_of(options: Mapping[str, Any], asked: set[str]) -> Request:
    """The run that `options` of the command line ask for, of which the user gave `asked`."""
    limits = tuple(chain.from_iterable((*options["min_busbw"], *options["max_time"])))
    control = Control(**_said(Control, options), limits=limits, no_limit=options["no_limit"])
    return Request(partial(_plan_of, options), control, frozenset(asked))


def _said(kind: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a class that the options decide; those of which nobody says anything are left to the class."""
    return {name: options[name] for name in options_of(kind) if options.get(name) is not None}


def on_hosts_around(start: Start) -> Start:
    """Return `start` on the virtual hosts around this process; as it is, where there are none. Raises LabError."""
    if LAB_VARIABLE not in os.environ:
        return start
    from ..wings import offered  # late: few runs are on virtual hosts

    for place in offered("hosts"):
        start = place(start, os.environ)
    return start


def _plan_of(options: Mapping[str, Any], **decided_meanwhile: Any) -> Plan:
    options = {**options, **decided_meanwhile}
    start = replace(Start(**_said(Start, {**options, "virtual_rates_bytes_per_s": None})), hosts=_hosts(options))
    start = on_hosts_around(start)
    decided = {
        **algorithm_fields(options["algorithms"]),
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
    from .own_algorithms import with_executors  # late: few runs ask

    return with_executors(plan, options)


def _sizes(options: Mapping[str, Any]) -> tuple[int, ...]:
    itemsize = DTYPES.get(options["dtype"], 1)
    return geometric_sizes(options["minbytes"], options["maxbytes"], options["stepfactor"], itemsize)


def _arrival_digests(arrival: Sequence[str]) -> tuple[str, ...]:
    """Of the traces that are replayed. Raises TraceError."""
    if not arrival:
        return ()
    from ..runs.injected import digest_of_trace, traces_of  # late: few runs delay ranks

    return tuple(map(digest_of_trace, traces_of(arrival)))


def algorithm_fields(names: tuple[str, ...] | None = None) -> dict[str, Any]:
    """The fields of a plan for `names`: of algorithms, native, paths of own files; None: native and all built-in.

    Mock-ups bring native with them. Raises AlgorithmError.
    """
    requested = names or (NATIVE, *builtin())
    library = (NATIVE, *MOCKUPS)
    algorithms = find([name for name in requested if name not in (*library, GUIDELINES)], [*library, GUIDELINES])
    files = [str(Path(name).resolve()) for name in requested if name.endswith(".py")]
    mockups = [name for name in MOCKUPS if name in requested or GUIDELINES in requested]
    native = [NATIVE] if NATIVE in requested or mockups else []
    return {
        "algorithms": (*native, *mockups, *algorithms),
        "files": tuple(files),
        "file_digests": tuple(map(digest_of, files)),
        "segmented": tuple(name for name, algorithm in algorithms.items() if algorithm.segmented),
        "bounded": tuple(name for name, algorithm in algorithms.items() if algorithm.bounded and not names),
    }


def default_ranks(start: Start) -> tuple[int, ...]:
    """The ranks of the virtual hosts, or of the Slurm job around, else as many as there are cores."""
    if hosts := len(start.virtual_rates_bytes_per_s):
        return (hosts * (start.ranks_per_node or 1),)
    return (ranks_of_job(os.environ, start.ranks_per_node) or max(2, cores()),)


def _link_rate(rates: Sequence[float], start: Start) -> float | None:
    """The rate of a node's link, bytes/s, of virtual hosts the slowest; None: not known. Raises PlanError."""
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
