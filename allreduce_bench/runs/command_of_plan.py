"""The command lines that measure a plan, and the rest of it."""

import shlex
from collections.abc import Iterator
from dataclasses import fields
from itertools import chain
from typing import Any

from ..algorithms import by_default, is_builtin, is_of_library
from ..units import shell_word
from .competitor import FORCED_DEFAULT, NATIVE, WAYS, Competitor, competitor
from .folder import RunFolder
from .option import Option, Words, comma_separated, in_help_order, options_of
from .plan import UNTIL, Plan
from .start import Start


def repeat_command(plan: Plan) -> list[str]:
    """Return the command that measures this plan again, with all its choices; it starts mpirun itself."""
    return ["allreduce-bench", "run", *chain.from_iterable(_words(plan))]


def to_continue(folder: RunFolder, only: str = "") -> str:
    """Return `to continue: ...`, the command that measures the missing cells, with or without mpirun or srun.

    `only`: restricts it to the launches that --only chose.
    """
    chosen = f" --only {shlex.quote(only)}" if only else ""
    return f"to continue: allreduce-bench run --resume -o {shell_word(folder.resumed_path)}{chosen}"


def _words(plan: Plan) -> Iterator[list[str]]:
    """Yield the words of each option; omit defaults, except those with `Option.always`."""
    values = {**vars(plan), **vars(plan.start), **said_otherwise(plan)}
    defaults = {each.name: each.default for kind in (Plan, Start) for each in fields(kind)}
    for name, option in in_help_order(options_of(Plan, Start)).items():
        value = values[name]
        if value not in (None, (), "") and (option.always or value != defaults[name]):
            yield from _words_of(option, value)
    if (ways := _ways_of_default(plan)) and ways != [WAYS[0]]:
        yield ["--executor", ",".join(ways)]


def _ways_of_default(plan: Plan) -> list[str] | None:
    """Return the ways of the algorithms that a run measures if none is named; None: they were named."""
    competitors = [Competitor(name) for name in plan.competitors]
    ways = [*dict.fromkeys(name.way for name in competitors if name.is_ours)]
    default = {competitor(name, way) for name in by_default() for way in ways}
    natives = {NATIVE, *(name.native_beside for name in default)}
    return ways if plan.bounded and {*competitors} == natives | default else None


def _words_of(option: Option, value: Any) -> Iterator[list[str]]:
    """Yield the option with its value, once per item of a repeatable tuple;
    nothing if the option no longer takes it.
    """
    exact = option.of.exact if isinstance(option.of, Words) else comma_separated
    if isinstance(value, bool):
        yield [option.name.split("/")[not value]]
    elif not isinstance(option.of, tuple) or value in option.of:
        yield from ([option.name, words] for each in (value if option.repeated else (value,)) if (words := exact(each)))


def said_otherwise(plan: Plan) -> dict[str, Any]:
    """Return the fields whose option takes other words than the plan's value; None: not on the command line."""
    virtual = plan.start.virtual_rates_bytes_per_s
    competitors = [name for name in map(Competitor, plan.competitors) if name != FORCED_DEFAULT]
    of_files = [name for name in competitors if not is_of_library(name.algorithm) and not is_builtin(name.algorithm)]
    names = [name for name in competitors if name not in of_files]
    ways = dict.fromkeys(name.removeprefix(name.algorithm) for name in of_files)  # each file's algorithms have them all
    is_default = _ways_of_default(plan) is not None  # to name them would lift their bound
    link_rates = virtual if len(set(virtual)) > 1 else (plan.link_rate_bytes_per_s,)
    of_hosts = {"hosts": None, "remote_shell": None, "interface": None, "virtual_rates_bytes_per_s": len(virtual)}
    return {
        "competitors": None if is_default else (*names, *(path + way for path in plan.files for way in ways)),
        "segment_nbytes": None if plan.cut_prices else plan.segment_nbytes,  # chosen again
        "link_rate_bytes_per_s": link_rates if all(link_rates) else None,
        **(dict.fromkeys(UNTIL) if plan.iters else {}),
        **(of_hosts if virtual else {}),  # virtual hosts have their own names, shell and interface
    }
