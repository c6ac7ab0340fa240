"""What `run`, and whatever else starts one, is asked for, as typed objects: its plan, and what is not its plan."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..algorithms import builtin, digest_of, find
from ..launching.layout import ranks_of_job
from ..machine.node import cores
from ..runs.cell import GUIDELINES, MOCKUPS, NATIVE
from ..runs.dtypes import DTYPES
from ..runs.plan import Plan, PlanError
from ..runs.start import Start, read_hostfile
from ..watching.lifeline import LAB_VARIABLE

if TYPE_CHECKING:
    from ..evaluation.acceptance import AcceptanceLimit

OPTION_OF = {  # where a field of the plan has another name
    "cell_time_s": "cell_time",
    "min_time_s": "min_time",
    "compute_s": "compute",
    "segment_nbytes": "segment",
    "link_rate_bytes_per_s": "link_rate",
    "executors": "executor",
    "cut_prices": "machine",
    "virtual_rates_bytes_per_s": "virtual_hosts",
}
IN_PLAN = (
    *("dtype", "op", "launches", "iters", "precision", "warmups", "cell_time_s", "min_time_s", "seed"),
    *(
        "segment_nbytes",
        "pretend_ranks_per_node",
        "sync",
        "record",
        "back_to_back",
        "cache",
        "inputs",
        "floors",
        "check",
    ),
    *("placement", "groups", "thread_level", "compute_s", "work", "inject_slowdown", "arrival", "late_by"),
)
IN_START = ("launcher", "launcher_args", "remote_shell", "ranks_per_node", "map_by", "bind_to", "interface")


@dataclass(frozen=True, kw_only=True)
class Control:
    """How far a run goes and what comes of it: what is asked for beside its plan."""

    output: Path | None = None  # None: a new folder below results
    resume: bool = False
    skip_hung: bool = False
    within_s: float | None = None  # None: until all is measured
    wait_idle_s: float | None = None  # at most, for a quiet machine before the launches; None: nobody waits
    timeout_s: float = 60.0  # without any move, until a launch is ended
    stage: str = ""  # folder of each node for the Python environment; empty: it is not staged
    only: str = ""  # see `chosen_launches`
    no_limit: bool = False  # of its work, see `work_limit`
    requeue: bool = False
    report: bool = False
    format: str = "table"
    limits: "tuple[AcceptanceLimit, ...]" = ()


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
    limits = chain.from_iterable((*options["min_busbw"], *options["max_time"]))
    control = Control(
        output=options["output"],
        resume=options["resume"],
        skip_hung=options["skip_hung"],
        within_s=options["within"],
        wait_idle_s=options["wait_idle"],
        timeout_s=Control.timeout_s if options["timeout"] is None else options["timeout"],
        stage=options["stage"],
        only=options.get("only", ""),  # this and the next three not of every command
        no_limit=options.get("no_limit", False),
        requeue=options.get("requeue", False),
        report=options.get("report", False),
        format=options["format"],
        limits=tuple(limits),
    )
    return Request(partial(_plan_of, options), control, frozenset(asked))


def on_hosts_around(start: Start) -> Start:
    """Return `start` on the virtual hosts around this process; as it is, where there are none. Raises LabError."""
    if LAB_VARIABLE not in os.environ:
        return start
    from ..wings import offered  # late: few runs are on virtual hosts

    for place in offered("hosts"):
        start = place(start, os.environ)
    return start


def _plan_of(options: Mapping[str, Any], **decided: Any) -> Plan:
    options = {**options, **decided}
    from ..runs.plan import geometric_sizes  # late: a rank that was started by us is given a plan

    itemsize = DTYPES.get(options["dtype"], 1)
    sizes = options["sizes"] or geometric_sizes(
        options["minbytes"], options["maxbytes"], options["stepfactor"], itemsize
    )
    values: dict[str, Any] = {name: options[OPTION_OF.get(name, name)] for name in IN_PLAN}
    start = Start(hosts=_hosts(options), **{name: options[name] for name in IN_START})
    start = on_hosts_around(start)
    plan = Plan(
        sizes=tuple(sorted(set(sizes))),
        ranks=tuple(options["ranks"] or default_ranks(start)),
        start=start,
        link_rate_bytes_per_s=_link_rate(options["link_rate"] or (), start),
        **algorithm_fields(options["algorithms"]),
        arrival_digests=_arrival_digests(options["arrival"] or ()),
        **{name: value for name, value in values.items() if value is not None},  # None: the plan's default
    )
    if not any(options[name] for name in ("executor", "window", "machine")):
        return plan
    from .own_algorithms import with_executors  # late: few runs ask

    return with_executors(plan, options)


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
