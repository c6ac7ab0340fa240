"""The command lines that measure a plan, and the rest of it."""

import shlex
from collections.abc import Iterator
from dataclasses import fields
from itertools import chain
from typing import Any

from ..algorithms import by_default, is_builtin
from ..units import shell_word
from .cell import FORCED_DEFAULT, FORCED_PREFIX, GLOO, NATIVE
from .folder import RunFolder
from .option import Option, Words, comma_separated, in_help_order, options_of
from .plan import NOMINAL, UNTIL, Plan
from .start import Start


def repeat_command(plan: Plan) -> list[str]:
    """Return the command that measures this plan again, with all its choices; it starts mpirun itself."""
    return ["allreduce-bench", "run", *chain.from_iterable(_words(plan))]


def to_continue(folder: RunFolder, only: str = "") -> str:
    """Return `to continue: ...`, the command that measures the missing cells, with or without mpirun or srun.

    `only`: restricts it to the launches that --only chose.
    """
    chosen = f" --only {shlex.quote(only)}" if only else ""
    return f"to continue: allreduce-bench run --resume -o {shell_word(folder.path)}{chosen}"


def _words(plan: Plan) -> Iterator[list[str]]:
    """Yield the words of each option; omit defaults, except those with `Option.always`."""
    values = {**vars(plan), **vars(plan.start), **_said_otherwise(plan)}
    defaults = {each.name: each.default for kind in (Plan, Start) for each in fields(kind)}
    for name, option in in_help_order(options_of(Plan, Start)).items():
        value = values[name]
        if value not in (None, (), "") and (option.always or value != defaults[name]):
            yield from _words_of(option, value)


def _words_of(option: Option, value: Any) -> Iterator[list[str]]:
    """Yield the option with its value, once per item of a repeatable tuple;
    nothing if the option no longer takes it.
    """
    exact = option.of.exact if isinstance(option.of, Words) else comma_separated
    if isinstance(value, bool):
        yield [option.name.split("/")[not value]]
    elif not isinstance(option.of, tuple) or value in option.of:
        yield from ([option.name, words] for each in (value if option.repeated else (value,)) if (words := exact(each)))


def _said_otherwise(plan: Plan) -> dict[str, Any]:
    """Return the fields whose option takes other words than the plan's value; None: not on the command line."""
    prices, virtual = plan.cut_prices, plan.start.virtual_rates_bytes_per_s
    names = [
        name
        for name in plan.algorithms
        if name in (NATIVE, GLOO) or is_builtin(name) or name.startswith(FORCED_PREFIX) and name != FORCED_DEFAULT
    ]
    is_default = plan.bounded and set(names) == {NATIVE, *by_default()}  # to name them would lift their bound
    link_rates = virtual if len(set(virtual)) > 1 else (plan.link_rate_bytes_per_s,)
    of_hosts = {"hosts": None, "remote_shell": None, "interface": None, "virtual_rates_bytes_per_s": len(virtual)}
    return {
        "algorithms": None if is_default else (*names, *plan.files),
        "segment_nbytes": None if prices else plan.segment_nbytes,  # chosen again
        "cut_prices": prices.source if prices and prices != NOMINAL else None,
        "link_rate_bytes_per_s": link_rates if all(link_rates) else None,
        **(dict.fromkeys(UNTIL) if plan.iters else {}),
        **(of_hosts if virtual else {}),  # virtual hosts have their own names, shell and interface
    }
