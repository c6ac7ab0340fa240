"""The plan that options of the command line ask for."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from ..algorithms import FILES, by_default, digest_of, find
from ..launching.layout import ranks_of_job
from ..machine.compiler import why_not_compiled
from ..machine.node import cores
from ..runs.cell import ALL_FORCED
from ..runs.competitor import (
    COMPILED,
    FORCED_ALL,
    FORCED_DEFAULT,
    FORCED_PREFIX,
    GLOO,
    GUIDELINES,
    MOCKUPS,
    NATIVE,
    NATIVES,
    PIPELINED,
    WAYS,
    Competitor,
    competitor,
    split_way,
)
from ..runs.cuts import NOMINAL, OVER_A_LINK_NBYTES, chosen_cuts, given_cuts
from ..runs.dtypes import DTYPES
from ..runs.injected import TRACE, digest_of_trace
from ..runs.library_algorithms import NAMES, launches_of, names_of, refuse_unknown
from ..runs.option import options_of
from ..runs.option_values import AUTO
from ..runs.plan import DEFAULT_WINDOW, Plan, PlanError
from ..runs.sizes import geometric_sizes
from ..runs.start import Start
from ..watching.lifeline import LAB_VARIABLE
from ..wings import load_offers
from .types import talk


def asked_fields(kind: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a class that the options decide; the others keep the defaults of the class."""
    return {name: options[name] for name in options_of(kind) if options.get(name) is not None}


def place_on_hosts(start: Start) -> Start:
    """Return `start` on the virtual hosts around this process; unchanged if there are none. Raises LabError."""
    if LAB_VARIABLE not in os.environ:
        return start
    for place in load_offers("hosts"):
        start = place(start, os.environ)
    return start


def plan_of(options: Mapping[str, Any], library: Callable[[], str] | None = None) -> Plan:
    """Return the plan of `options` of the command line, by the cores, hosts and algorithms that are found now.

    `library` says which library ranks load. Raises PlanError, StartError, AlgorithmError, ValueError.
    """
    start = place_on_hosts(Start(**asked_fields(Start, {**options, "virtual_rates_bytes_per_s": None})))
    decided = {
        **algorithm_fields(options["competitors"], decide_ways(options["executors"] or ()), library),
        "sizes": tuple(sorted({*(options["sizes"] or _sizes(options))})),
        "ranks": tuple(options["ranks"] or default_ranks(start)),
        "start": start,
        "link_rate_bytes_per_s": _link_rate(options["link_rate_bytes_per_s"] or (), start),
        "arrival_digest": _arrival_digest(options["arrival"] or ""),
    }
    plan = Plan(**{**asked_fields(Plan, {**options, "window": None}), **decided})
    return decide_cuts(plan, options)


def separate_forced_launches(plan: Plan, library: str) -> Plan:
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

    `ways` are the ways of our algorithms that name none. The library's algorithms imply native, and a compiled way
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


def decide_ways(names: Sequence[str]) -> tuple[str, ...]:
    """Return the ways of these names, each once; `auto` is resolved."""
    return tuple(dict.fromkeys(_resolve_auto() if name == AUTO else name for name in names))


def decide_cuts(plan: Plan, options: Mapping[str, Any]) -> Plan:
    """Return the plan with the window and cuts of `options`. Raises PlanError."""
    competitors = [Competitor(name) for name in plan.competitors]
    compiled = [name for name in competitors if name.is_compiled]
    if compiled and (reason := why_not_compiled()):
        raise PlanError(f"{compiled[0]} {reason}")
    if not any(name.is_pipelined for name in competitors):
        if options["window"] is not None:
            resumed = "leave it out, --resume takes it from the run"
            advice = resumed if options.get("resume") else "name one, such as ring@pipelined"
            raise PlanError(f"--window is for {' and '.join(PIPELINED)}; {advice}")
        return plan
    plan = replace(plan, window=options["window"] or DEFAULT_WINDOW)
    if segment_nbytes := options["segment_nbytes"] or (OVER_A_LINK_NBYTES if plan.link_rate_bytes_per_s else None):
        return replace(plan, segment_nbytes=segment_nbytes, cuts=given_cuts(plan, segment_nbytes))
    return replace(plan, cuts=chosen_cuts(plan, NOMINAL), cut_prices=NOMINAL)


@cache
def _resolve_auto() -> str:
    """Resolve `auto`: compiled if possible; print the decision once."""
    reason = why_not_compiled()
    talk(f"--executor {AUTO}: {f'{WAYS[0]}; {COMPILED[0]} {reason}' if reason else COMPILED[0]}")
    return WAYS[0] if reason else COMPILED[0]
