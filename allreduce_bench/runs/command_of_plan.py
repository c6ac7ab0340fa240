"""The command line that measures a plan."""

from dataclasses import fields
from decimal import Decimal
from itertools import chain, starmap

from ..algorithms import builtin
from .cell import EXECUTORS, MOCKUPS, NATIVE
from .plan import NOMINAL, Plan
from .schema import FORMER_SYNCS, PAGE, UNKNOWN_PLACEMENT
from .start import Start


def repeat_command(plan: Plan) -> list[str]:
    """The command that measures this plan again, with all options; it starts mpirun itself."""
    names = [name for name in plan.algorithms if name in (NATIVE, *MOCKUPS) or name in builtin()]
    by_default = plan.bounded and set(names) == {NATIVE, *builtin()}  # to name them would lift their bound
    options: dict[str, object] = {
        "--ranks": ",".join(map(str, plan.ranks)),
        "--algorithms": None if by_default else ",".join([*names, *plan.files]),
        "--sizes": ",".join(map(str, plan.sizes)),
        "--dtype": plan.dtype,
        "--op": plan.op,
        "--launches": plan.launches,
        "--iters": plan.iters,
        "--warmups": plan.warmups,
        "--precision": _exact_digits(plan.precision),
        "--cell-time": f"{_exact_digits(plan.cell_time_s)}s",
        "--min-time": f"{_exact_digits(plan.min_time_s)}s" if plan.min_time_s else None,
        **_executor_options(plan),
        "--pretend-ranks-per-node": plan.pretend_ranks_per_node,
        "--thread-level": plan.thread_level,
        **_definition_options(plan),
        "--placement": ",".join(plan.placement) if plan.placement not in ((PAGE,), (UNKNOWN_PLACEMENT,)) else None,
        **_options_before_a_call(plan),
        "--link-rate": _link_rates(plan),
        **_start_options(plan.start),
        "--seed": plan.seed,
    }
    return ["allreduce-bench", "run", *chain.from_iterable(starmap(_words_of, options.items()))]


def _words_of(name: str, value: object) -> list[str]:
    """The option, once for each value of a tuple; nothing where it is not said."""
    values = value if isinstance(value, tuple) else () if value is None else (value,)
    return list(chain.from_iterable([name] if each is True else [name, str(each)] for each in values))


def _executor_options(plan: Plan) -> dict[str, object]:
    """How steps are run; a segment that was chosen by prices is chosen again."""
    prices = plan.cut_prices
    return {
        "--segment": None if prices else plan.segment_nbytes,
        "--executor": ",".join(plan.executors) if plan.executors != EXECUTORS[:1] else None,
        "--window": plan.window,
        "--machine": prices.source if prices and prices != NOMINAL else None,
    }


def _definition_options(plan: Plan) -> dict[str, object]:
    """The options that define a time, where they differ from the defaults and are still accepted."""
    names = ("sync", "record", "back_to_back", "cache", "inputs", "check", "groups")
    defaults = {field.name: field.default for field in fields(Plan)}
    unusual = {name: value for name in names if (value := getattr(plan, name)) not in (defaults[name], *FORMER_SYNCS)}
    unusual = {f"--{name.replace('_', '-')}": value for name, value in unusual.items()}
    return unusual if plan.floors else {**unusual, "--no-reference-times": True}


def _options_before_a_call(plan: Plan) -> dict[str, object]:
    """What ranks do before they enter a call."""
    return {
        "--compute": f"{_exact_digits(plan.compute_s)}s" if plan.compute_s else None,
        "--work": plan.work if plan.work != Plan.work else None,
        "--inject-slowdown": plan.inject_slowdown,
        "--arrival": ",".join(plan.arrival) or None,
        "--late-by": plan.late_by if plan.late_by != Plan.late_by else None,
    }


def _link_rates(plan: Plan) -> str | None:
    """The rate of all links, or of each virtual host's where they differ; None: not said."""
    rates = sorted(set(virtual := plan.start.virtual_rates_bytes_per_s))
    shown = virtual if len(rates) > 1 else [rate for rate in (plan.link_rate_bytes_per_s,) if rate]
    return ",".join(f"{_exact_digits(rate * 8 / 1e6)}Mbit" for rate in shown) or None


def _start_options(start: Start) -> dict[str, object]:
    where: tuple[str, ...] = ("remote_shell", "interface")
    options: dict[str, object] = {"--hosts": ",".join(start.hosts)}
    if hosts := len(start.virtual_rates_bytes_per_s):  # which have their own names, shell and interface
        where, options = (), {"--virtual-hosts": hosts}
    names = ("launcher", "launcher_args", *where, "ranks_per_node", "map_by", "bind_to")
    options |= {f"--{name.replace('_', '-')}": getattr(start, name) for name in names}
    defaults = {"--launcher": "auto", "--remote-shell": "ssh"}
    return {name: value for name, value in options.items() if value and value != defaults.get(name)}


def _exact_digits(number: float) -> str:
    """All digits of a number, without an exponent."""
    return format(Decimal(repr(number)), "f")
